import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BikeShare } from "../src/client.ts";
import type { List } from "../src/core/list.ts";
import { PLATFORM, type Platform } from "../src/core/platform.ts";
import type { RateLimitDetails } from "../src/hooks.ts";
import type { EventRecord, Reservation, Scope } from "../src/json-types.generated.ts";
import type { ClientOptions } from "../src/options.ts";
import { validateResponse } from "../src/validate.ts";

/** The server side of the client's tests: the service itself, or the fake. */
export interface ClientHarness {
  readonly baseUrl: string;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: ClientOptions["fetch"];
  /** Makes a key of the one partner. By default it has every scope, and a rate limit that no test reaches. */
  key(options?: { readonly scopes?: readonly Scope[]; readonly rateLimit?: number }): Promise<string>;
  /** Adds stations of these ids, online and in region `centre`. */
  addStations(ids: readonly string[]): Promise<void>;
  /** Adds completed rides of these ids. Each starts a second after the previous one. */
  addRides(ids: readonly string[]): Promise<void>;
  /** Adds bikes that can be reserved at a station. */
  addBikes(station: string, ids: readonly string[]): Promise<void>;
  /** Resolves when all events so far can be read in the list of events. */
  flushEvents(): Promise<void>;
  /** Returns the milliseconds of the harness's clock, which only `advance` moves. */
  now(): number;
  /** Moves the harness's clock. */
  advance(ms: number): void;
  /** Stops the service, does `work`, and starts the service again; undefined for a harness that cannot do that. */
  readonly restart?: (work: () => Promise<void>) => Promise<void>;
  close(): Promise<void>;
}

const numbered = (name: string, n: number) =>
  Array.from({ length: n }, (_, i) => `${name}-${String(i).padStart(4, "0")}`);
const stations = numbered("station", 230);
const rides = numbered("ride", 450);

/** The longest timer that Node supports: a timeout that must never fire. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Tests everything that a client can do, on an empty harness. */
export function describeClient(name: string, open: () => Promise<ClientHarness>): void {
  describe(`the client on ${name}`, () => {
    let harness: ClientHarness;
    let client: BikeShare;
    const clientOf = async (
      options: Partial<ClientOptions> = {},
      key: Parameters<ClientHarness["key"]>[0] = {},
    ): Promise<BikeShare> => {
      const { baseUrl, fetch } = harness;
      // `validate` checks every answer of these tests against the contract.
      return new BikeShare({ baseUrl, fetch, apiKey: await harness.key(key), validate: validateResponse, ...options });
    };
    /** The ids of all rides, newest first. A test that adds rides puts them at the front. */
    const newestFirst = rides.toReversed();
    beforeAll(async () => {
      harness = await open();
      await harness.addStations(stations);
      await harness.addRides(rides);
      client = await clientOf();
    });
    afterAll(() => harness.close());

    describeReading(() => client);
    describeWalking(() => ({ harness, client, clientOf, newestFirst }));
    describeReserving(() => ({ harness, client, clientOf, newestFirst }));
    describeFollowing(() => ({ harness, client, clientOf, newestFirst }));
    describeChanges(() => ({ harness, client, clientOf, newestFirst }));
    describeErrors(() => ({ harness, client, clientOf, newestFirst }));
    describePace(() => ({ harness, client, clientOf, newestFirst }));
    describeDay(() => ({ harness, client, clientOf, newestFirst }));
  });
}

interface Suite {
  readonly harness: ClientHarness;
  readonly newestFirst: string[];
  readonly client: BikeShare;
  readonly clientOf: (
    options?: Partial<ClientOptions>,
    key?: Parameters<ClientHarness["key"]>[0],
  ) => Promise<BikeShare>;
}

function describeReading(on: () => BikeShare): void {
  it("reads a page as the service answers it, by cursor and by number", async () => {
    const page = await on().stations.list();
    expect(page.data.map(({ id }) => id)).toEqual(stations.slice(0, 50));
    expect([page.page, page.total_pages, typeof page.next_cursor]).toEqual([1, 5, "string"]);
    const third = await on().stations.list({ page: 3, limit: 20 });
    expect(third.data.map(({ id }) => id)).toEqual(stations.slice(40, 60));
    expect([third.page, third.total_pages, third.next_cursor]).toEqual([3, 12, undefined]);
  });

  it("reads one resource with its response", async () => {
    const { data, response, requestId, attempts } = await on().stations.get(stations[0]!).withResponse();
    expect([data.id, data.status, response.status, attempts]).toEqual([stations[0], "online", 200, 1]);
    expect(requestId).toBe(response.headers.get("request-id"));
    expect(requestId).toBeTruthy();
    expect((await on().rides.get(rides[0]!)).status).toBe("completed");
  });

  it("filters, and returns nothing where there is nothing", async () => {
    expect((await on().rides.list({ status: "completed", limit: 3 })).data).toHaveLength(3);
    expect((await on().rides.list({ status: "cancelled" })).data).toEqual([]);
    expect(await on().rides.list({ status: "cancelled" }).toArray({ limit: 10 })).toEqual([]);
  });

  it("reads its key's scopes and the service's health", async () => {
    const { scopes, rate_limit: rate } = await on().me.get();
    expect(scopes).toContain("rides:read");
    expect(rate.remaining).toBeLessThan(rate.limit);
    expect(await on().health.live()).toEqual({ status: "ok" });
    expect(await on().health.ready()).toEqual({ status: "ok" });
  });
}

function describeWalking(on: () => Suite): void {
  it("iterates over all rides once, newest first, by item, by page and by number", async () => {
    const { client, newestFirst } = on();
    const idsOf = async (list: AsyncIterable<{ readonly id: string }>) => {
      const ids: string[] = [];
      for await (const { id } of list) ids.push(id);
      return ids;
    };
    expect(await idsOf(client.rides.list())).toEqual(newestFirst);
    expect(await idsOf(client.rides.list({ limit: 77 }))).toEqual(newestFirst);
    expect(await idsOf(client.rides.list({ page: 1, limit: 100 }))).toEqual(newestFirst);
    const sizes: number[] = [];
    for await (const { data } of client.rides.list().pages()) sizes.push(data.length);
    expect(sizes).toEqual([200, 200, 50]);
  });

  it("continues from a checkpoint with another client, while rides are added", async () => {
    const { client, clientOf, harness, newestFirst } = on();
    const list = client.rides.list({ limit: 100 });
    const first = await list.toArray({ limit: 130 });
    const added = numbered("later", 5);
    await harness.addRides(added);
    const other = await clientOf();
    const rest = await other.rides.list().resumeFrom(list.checkpoint()!).toArray({ limit: Infinity });
    expect([...first, ...rest].map(({ id }) => id)).toEqual(newestFirst);
    newestFirst.unshift(...added.toReversed());
  });
}

function describeReserving(on: () => Suite): void {
  it("reserves a bike and cancels; cancelling twice changes nothing", async () => {
    const { client, harness } = on();
    const [station] = stations as [string];
    await harness.addBikes(station, ["bike-1"]);
    const made = await client.reservations.create({ station_id: station, hold_minutes: 5, rider_ref: "r-1" });
    expect(made).toMatchObject({ status: "active", bike_id: "bike-1", rider_ref: "r-1" });
    expect(await client.reservations.get(made.id)).toEqual(made);
    expect((await client.bikes.get("bike-1")).vehicle_state).toBe("reserved");
    await expect(client.reservations.create({ station_id: station })).rejects.toMatchObject({
      name: "ConflictError",
      code: "no_bike_available",
      attempts: 1,
    });
    const extended = await client.reservations.extend(made.id, { hold_minutes: 10 });
    expect(Date.parse(extended.expires_at) - Date.parse(made.expires_at)).toBe(600_000);
    const cancelled = await client.reservations.cancel(made.id);
    expect(cancelled).toMatchObject({ id: made.id, status: "cancelled", cancel_reason: "partner" });
    expect(await client.reservations.cancel(made.id)).toEqual(cancelled);
    expect((await client.reservations.list({ rider_ref: "r-1" })).data).toEqual([cancelled]);
  });

  it("makes one reservation for two calls with one idempotency key, and rejects the key for another request", async () => {
    const { client, harness } = on();
    await harness.addBikes(stations[1]!, ["bike-2", "bike-3"]);
    const request = { station_id: stations[1]!, rider_ref: "r-2" };
    const options = { idempotencyKey: "creation-1" };
    const first = await client.reservations.create(request, options);
    const again = await client.reservations.create(request, options).withResponse();
    expect(again.data).toEqual(first);
    expect(again.response.headers.get("idempotent-replayed")).toBe("true");
    await expect(client.reservations.create({ ...request, rider_ref: "r-3" }, options)).rejects.toMatchObject({
      name: "InvalidRequestError",
      code: "idempotency_key_reused",
      idempotencyKey: "creation-1",
    });
    await client.reservations.cancel(first.id);
  });

  it("makes one reservation though the first response is lost", async () => {
    const { clientOf, harness } = on();
    await harness.addBikes(stations[2]!, ["bike-4", "bike-5"]);
    const send = harness.fetch ?? fetch;
    let sent = 0;
    const client = await clientOf({
      fetch: async (url, init) => {
        const response = await send(url, init);
        if (init.method === "POST" && sent++ === 0) throw new TypeError("the connection broke");
        return response;
      },
    });
    const { data, attempts } = await client.reservations
      .create({ station_id: stations[2]!, rider_ref: "r-4" })
      .withResponse();
    expect(attempts).toBe(2);
    expect((await client.reservations.list({ rider_ref: "r-4" })).data).toEqual([data]);
    await client.reservations.cancel(data.id);
  });
}

function describeFollowing(on: () => Suite): void {
  it("returns the events since a checkpoint, each once, and the next checkpoint", async () => {
    const { client, harness } = on();
    await harness.addBikes(stations[3]!, ["bike-6"]);
    await harness.flushEvents();
    const before = client.events.since(undefined);
    await before.toArray({ limit: Infinity });
    const made = await client.reservations.create({ station_id: stations[3]!, rider_ref: "r-5" });
    await client.reservations.cancel(made.id);
    await harness.flushEvents();
    const since = client.events.since(before.checkpoint());
    const events = await since.toArray({ limit: Infinity });
    const ofMade = (event: EventRecord): event is Extract<EventRecord, { data: Reservation }> =>
      event.event === "reservation.created" || event.event === "reservation.cancelled";
    expect(events.filter(ofMade).map(({ event, data }) => [event, data.id, data.status])).toEqual([
      ["reservation.created", made.id, "active"],
      ["reservation.cancelled", made.id, "cancelled"],
    ]);
    expect(await client.events.get(events[0]!.id)).toEqual(events[0]);
    expect(await client.events.since(since.checkpoint()).toArray({ limit: 1 })).toEqual([]);
    const [cancelled] = await client.events
      .since(events[0]!.id, { event: "reservation.cancelled" })
      .toArray({ limit: 1 });
    expect(cancelled).toEqual(events[1]);
  });

  it("follows events from now on", async () => {
    const { client, harness } = on();
    await harness.addBikes("station-0005", ["followed"]);
    await harness.flushEvents();
    const begun = client.events.since("now");
    expect(await begun.toArray({ limit: Infinity })).toEqual([]);
    const made = await client.reservations.create({ bike_id: "followed" });
    await harness.flushEvents();
    const since = client.events.since(begun.checkpoint());
    const events = await since.toArray({ limit: Infinity });
    expect(events).toMatchObject([{ event: "reservation.created", data: { id: made.id } }]);
    await client.reservations.cancel(made.id);
  });

  it("throws when a checkpoint is lost, rather than start over or return nothing", async () => {
    const { client } = on();
    await expect(client.events.since("event_of_long_ago").toArray({ limit: 1 })).rejects.toMatchObject({
      name: "CheckpointLostError",
      code: "checkpoint_lost",
      status: 410,
    });
    // A text that cannot be an event's id is an invalid parameter, not a lost checkpoint.
    await expect(client.events.since("garbage").toArray({ limit: 1 })).rejects.toMatchObject({
      name: "InvalidRequestError",
      code: "invalid_parameter",
    });
  });
}

function describeChanges(on: () => Suite): void {
  const stored = <Item>(list: List<Item>): string => {
    const checkpoint = list.checkpoint();
    if (checkpoint === undefined) throw new Error("there is no checkpoint");
    return checkpoint;
  };

  it("follows a list from everything on, and each time gets what has changed since", async () => {
    const { client, harness } = on();
    const everything = client.stations.changesSince(undefined);
    const begun = new Map((await everything.toArray({ limit: Infinity })).map((station) => [station.id, station]));
    const all = await client.stations.list().toArray({ limit: Infinity });
    expect([...begun.values()]).toEqual(all);
    await harness.addBikes("station-0007", ["moving-1", "moving-2"]);
    const changes = client.stations.changesSince(stored(everything));
    for await (const station of changes) begun.set(station.id, station);
    expect(begun.get("station-0007")).toEqual(await client.stations.get("station-0007"));
    expect(stored(changes)).not.toBe("");
    expect(await client.bikes.changesSince(null).toArray({ limit: Infinity })).toEqual(
      await client.bikes.list().toArray({ limit: Infinity }),
    );
  });

  it("finishes a walk that was interrupted, and leaves nothing out", async () => {
    const { client, newestFirst } = on();
    const seen: string[] = [];
    let checkpoint: string | undefined;
    for (let step = 0; step < 20; step++) {
      const list = client.rides.changesSince(checkpoint, { limit: 70 });
      let taken = 0;
      for await (const { id } of list) {
        seen.push(id);
        if (++taken === 71) break;
      }
      checkpoint = stored(list);
      if (taken < 71) break;
    }
    expect([...new Set(seen)]).toEqual(newestFirst);
  });

  it("refuses anything but a checkpoint of the list", async () => {
    const { client } = on();
    const wrong = { name: "InvalidRequestError", code: "invalid_cursor", status: 400 };
    await expect(client.bikes.changesSince("made-up").toArray({ limit: 1 })).rejects.toMatchObject(wrong);
    const ofStations = client.stations.changesSince(undefined);
    await ofStations.toArray({ limit: Infinity });
    const other = client.bikes.changesSince(ofStations.checkpoint()).toArray({ limit: 1 });
    await expect(other).rejects.toMatchObject(wrong);
  });
}

function describeErrors(on: () => Suite): void {
  it("throws the class of each error, with the service's code", async () => {
    const { client } = on();
    const refused = async (call: PromiseLike<unknown>) => {
      const error: unknown = await Promise.resolve(call).catch((reason: unknown) => reason);
      const { name, code, status, attempts } = error as Record<string, unknown>;
      return [name, code, status, attempts];
    };
    const invalid = "InvalidRequestError";
    expect(await refused(client.rides.get("nobody's"))).toEqual(["NotFoundError", "not_found", 404, 1]);
    expect(await refused(client.rides.list({ limit: 0 }))).toEqual([invalid, "invalid_parameter", 400, 1]);
    expect(await refused(client.rides.list({ page: 9999 }))).toEqual([invalid, "page_out_of_range", 400, 1]);
    expect(await refused(client.rides.list({ cursor: "made-up" }))).toEqual([invalid, "invalid_cursor", 400, 1]);
    expect(await refused(client.rides.list({ page: 1, cursor: "x" }))).toEqual([invalid, "invalid_parameter", 400, 1]);
    expect(await refused(client.reservations.create({}))).toEqual([invalid, "invalid_parameter", 400, 1]);
  });

  it("throws for a key that is unknown or lacks the scope, and does not retry", async () => {
    const { clientOf } = on();
    const stranger = await clientOf({ apiKey: "bss_live_nobody" });
    await expect(stranger.rides.list()).rejects.toMatchObject({
      name: "UnauthorizedError",
      code: "unauthorized",
      attempts: 1,
    });
    const reader = await clientOf({}, { scopes: ["stations:read"] });
    await expect(reader.rides.list()).rejects.toMatchObject({ name: "ForbiddenError", code: "forbidden", attempts: 1 });
    expect((await reader.stations.list({ limit: 1 })).data).toHaveLength(1);
  });
}

/** Returns a platform with the harness's clock. Waiting moves the clock. */
function platformOf(harness: ClientHarness): Platform {
  return {
    performance: { now: () => harness.now() },
    setTimeout: (run, ms) =>
      ms >= LONGEST_TIMER_MS
        ? undefined
        : setImmediate(() => {
            harness.advance(ms);
            run();
          }),
    clearTimeout: (id: NodeJS.Immediate | undefined) => clearImmediate(id),
    Math: { random: () => 0 },
    crypto,
    fetch: harness.fetch ?? ((url, init) => fetch(url, init)),
  };
}

function describePace(on: () => Suite): void {
  const endless = { totalTimeoutMs: Infinity, timeoutMs: Infinity };

  it("waits before a key's limit, shared by two lists, so that nothing is rejected", async () => {
    const { clientOf, harness } = on();
    const notes: RateLimitDetails[] = [];
    const onRateLimit = (note: RateLimitDetails) => void notes.push(note);
    const options = { ...endless, onRateLimit, [PLATFORM]: platformOf(harness) };
    const client = await clientOf(options, { rateLimit: 5 });
    await client.me.get();
    const walks = [client.stations.list({ limit: 20 }), client.stations.list({ limit: 30 })];
    const found = await Promise.all(walks.map((walk) => walk.toArray({ limit: Infinity })));
    expect(found.map((items) => items.length)).toEqual([stations.length, stations.length]);
    expect(new Set(notes.map(({ reason }) => reason))).toEqual(new Set(["throttled"]));
  });

  it("waits as long as the service asks when others have used up the key", async () => {
    const { clientOf, harness } = on();
    const notes: RateLimitDetails[] = [];
    const onRateLimit = (note: RateLimitDetails) => void notes.push(note);
    const apiKey = await harness.key({ rateLimit: 3 });
    const other = await clientOf({ apiKey });
    for (let request = 0; request < 3; request++) await other.me.get();
    const client = await clientOf({
      ...endless,
      apiKey,
      onRateLimit,
      [PLATFORM]: platformOf(harness),
    } as Partial<ClientOptions>);
    const started = harness.now();
    const { attempts } = await client.me.get().withResponse();
    expect(attempts).toBe(2);
    expect(notes).toEqual([{ operation: "GET /v1/me", reason: "rejected", waitMs: 60_000 }]);
    expect(harness.now() - started).toBeGreaterThanOrEqual(60_000);
  });
}

function describeDay(on: () => Suite): void {
  it("works through a day: list, reserve, cancel, catch up, a restart and a series of 429s", async () => {
    const { clientOf, harness, newestFirst } = on();
    await harness.addBikes(stations[4]!, ["bike-7"]);
    let storm = 0;
    const send = harness.fetch ?? fetch;
    const client = await clientOf({
      // A proxy in front of the service rejects requests for a while.
      fetch: async (url, init) =>
        storm-- > 0 ? new Response("slow down", { status: 429, headers: { "retry-after": "0" } }) : send(url, init),
    });
    expect(await client.stations.list().toArray({ limit: Infinity })).toHaveLength(stations.length);
    const held = await client.reservations.create({ station_id: stations[4]!, rider_ref: "r-6" });
    await harness.flushEvents();
    const seen = client.events.since(undefined);
    const before = await seen.toArray({ limit: Infinity });
    expect(before.at(-1)).toMatchObject({ event: "reservation.created", data: { id: held.id } });

    const rideIds: string[] = [];
    const walk = client.rides.list({ limit: 100 })[Symbol.asyncIterator]();
    for (let step = 0; step < 150; step++) rideIds.push(((await walk.next()).value as { id: string }).id);
    storm = 3;
    const work = async () => {
      for await (const { id } of walk) rideIds.push(id);
      await client.reservations.cancel(held.id);
    };
    await (harness.restart ? harness.restart(work) : work());
    expect(rideIds).toEqual(newestFirst);

    await harness.flushEvents();
    const missed = await client.events.since(seen.checkpoint()).toArray({ limit: Infinity });
    expect(missed).toMatchObject([{ event: "reservation.cancelled", data: { id: held.id, status: "cancelled" } }]);
  });
}

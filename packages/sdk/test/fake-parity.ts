import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoints } from "../src/testing/contract.generated.ts";
import { KEY_RANDOM_LENGTH, keyOf } from "../src/testing/rules.ts";
import {
  type ExportFacts,
  openFakeHarness,
  type OperatorItem,
  type OperatorVerb,
  type ParityHarness,
  START,
} from "./fake.harness.ts";

/** A request that is sent to both sides. In its texts, `{reservation:1}` stands for the id of the second reservation. */
interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The headers that must be the same in the answers of both sides. */
const COMPARED = [
  "allow",
  "cache-control",
  "content-type",
  "idempotent-replayed",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "vary",
  "www-authenticate",
];

/** The fake or the service. The ids and cursors of each are replaced by names, in the order in which they first appear. */
interface Side {
  readonly harness: ParityHarness;
  send(sent: Sent, key?: string): Promise<unknown>;
}

function sideOf(harness: ParityHarness): Side {
  const met = new Map<string, string[]>();
  const nameOf = (kind: string, text: string) => {
    const known = met.get(kind) ?? [];
    met.set(kind, known);
    if (!known.includes(text)) known.push(text);
    return `{${kind}:${known.indexOf(text)}}`;
  };
  const hide = (text: string) =>
    text
      .replaceAll(/(?<="next_cursor":")[^"]+/g, (cursor) => nameOf("cursor", cursor))
      .replaceAll(/(?<="checkpoint":")(?!event_)[^"]+/g, "{checkpoint}")
      .replaceAll(/(?<="download_(?:url|expires_at)":")[^"]+/g, "{link}")
      .replaceAll(/\b(reservation|event|partner|key)_\w{6,}/g, (id, kind: string) => nameOf(kind, id));
  const fill = (text: string) =>
    text.replaceAll(/\{(\w+):(\d+)\}/g, (whole, kind: string, n: string) => met.get(kind)?.[Number(n)] ?? whole);
  return {
    harness,
    async send({ path, method = "GET", headers = {}, body }, key) {
      const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const response = await harness.fetch(harness.baseUrl + fill(path), {
        method,
        headers: { ...authorization, ...headers },
        ...(body !== undefined && { body: fill(body) }),
      });
      const text = await response.text();
      const shown: unknown = text === "" ? "" : JSON.parse(hide(text));
      const compared = COMPARED.map((name): [string, string | null] => {
        const value = response.headers.get(name);
        return [name, value && hide(value)];
      });
      return {
        status: response.status,
        headers: Object.fromEntries(compared.filter(([, value]) => value !== null)),
        hasTag: response.headers.has("etag"),
        hasRequestId: response.headers.has("request-id"),
        body: shown,
      };
    },
  };
}

const json = { "content-type": "application/json" };
const reserve = (body: object, headers: Readonly<Record<string, string>> = {}): Sent => ({
  path: "/v1/reservations",
  method: "POST",
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
});
const cancel = (id: string): Sent => ({ path: `/v1/reservations/${id}`, method: "DELETE" });

/** Compares the fake with another harness: the same requests must get the same answers. */
export function describeParity(name: string, open: () => Promise<ParityHarness>): void {
  describe(`the fake and ${name}`, () => {
    let sides: readonly [Side, Side];
    let keys: readonly [string, string];
    const both = <Result>(work: (side: Side, n: 0 | 1) => Promise<Result>): Promise<[Result, Result]> =>
      Promise.all([work(sides[0], 0), work(sides[1], 1)]);
    const operate = (verb: OperatorVerb, item: OperatorItem) => both(({ harness }) => harness.operate(verb, item));
    let now = START;
    const advance = (ms: number) => {
      now += ms;
      for (const { harness } of sides) harness.advance(ms);
    };
    /** Sends a request to both sides, expects equal answers, and returns the answer. */
    const ask = async (sent: Sent, given: readonly (string | undefined)[] = keys) => {
      const [fake, service] = await both((side, n) => side.send(sent, given[n]));
      expect(fake, `${sent.method ?? "GET"} ${sent.path} ${sent.body ?? ""}`).toEqual(service);
      return service as { readonly status: number; readonly body: never };
    };
    const askAll = async (paths: readonly string[], given?: readonly (string | undefined)[]) => {
      for (const path of paths) await ask({ path }, given);
    };
    const compareLists = async () => {
      await both(({ harness }) => harness.processDueWork());
      await askAll(["/v1/stations", "/v1/bikes", "/v1/rides", "/v1/reservations", "/v1/events"]);
    };

    beforeAll(async () => {
      sides = [sideOf(await openFakeHarness()), sideOf(await open())];
      keys = await both(({ harness }) => harness.key());
      await fillCity(operate);
    });
    afterAll(() => both(({ harness }) => harness.close()));

    it("show the same city", compareLists);

    it("hold, refuse, give back and expire alike", async () => {
      for (const sent of reservationStory) {
        await ask(sent);
        await compareLists();
      }
      advance(31 * 60_000);
      // The reservations show as expired at once, although the service writes the expiry a little later.
      await askAll([
        "/v1/reservations/{reservation:0}",
        "/v1/reservations?status=expired",
        "/v1/reservations?status=active",
      ]);
      await compareLists();
      await ask({ path: "/v1/bikes?vehicle_state=reserved" });
    });

    it("extend holds alike, once under one key, to the most there is and not beyond", async () => {
      const met = (await ask(reserve({ bike_id: "b1" }, { "idempotency-key": "held" }))).body as {
        readonly id: string;
      };
      const extend = (minutes: unknown, headers: Readonly<Record<string, string>> = {}): Sent => ({
        path: `/v1/reservations/${met.id}`,
        method: "PATCH",
        headers: { ...json, ...headers },
        body: JSON.stringify({ hold_minutes: minutes }),
      });
      for (const sent of [
        extend(30, { "idempotency-key": "more" }),
        extend(30, { "idempotency-key": "more" }),
        extend(20, { "idempotency-key": "more" }),
        extend(16),
        extend(15),
        extend(1),
        extend(0),
        extend(31),
        extend("5"),
        extend(undefined),
        extend(null),
        extend(0.5),
        { ...extend(5), body: `{"hold_minutes":[],"colour":"blue"}` },
        { ...extend(5), body: `{"colour":"blue"}` },
      ]) {
        await ask(sent);
      }
      await ask({ ...extend(5), path: "/v1/reservations/nobody" });
      advance(60 * 60_000);
      await ask(extend(5));
      await compareLists();
    });

    it("hold as many bikes for a partner, and not one more, alike", async () => {
      const bikes = Array.from({ length: 51 }, (_, n) => `held-${n}`);
      for (const id of bikes) await operate("bikes.upsert", { id, lat: 47, lon: 8 });
      for (const bike_id of bikes) {
        await ask(reserve({ bike_id, rider_ref: bike_id }));
        // They must expire one after the other: the order of reservations that expire at the same time is not defined.
        advance(1_000);
      }
      const { body } = (await ask({ path: "/v1/reservations?rider_ref=held-7" })) as {
        readonly body: { readonly data: readonly { readonly id: string }[] };
      };
      for (const sent of [
        { path: "/v1/me" },
        // Other errors are reported before or after that of the limit, on both sides alike.
        reserve({}),
        reserve({ bike_id: "nobody" }),
        reserve({ bike_id: "held-50", rider_ref: "held-7" }),
        cancel(String(body.data[0]?.id)),
        { path: "/v1/me" },
        reserve({ bike_id: "held-50" }),
        reserve({ bike_id: "held-7" }),
      ]) {
        await ask(sent);
      }
      advance(31 * 60_000);
      await both(({ harness }) => harness.processDueWork());
      await ask({ path: "/v1/me" });
      for (const id of bikes) await operate("bikes.upsert", { id, vehicle_state: "removed" });
      await compareLists();
    });

    it("start, end and cancel rides alike, on a held bike too", async () => {
      await ask(reserve({ bike_id: "b1", rider_ref: "rider" }));
      await operate("rides.start", { id: "live-1", bike_id: "b1", rider_category: "member" });
      await compareLists();
      await ask(reserve({ bike_id: "b1" }));
      advance(120_000);
      await operate("rides.end", { id: "live-1", end_station_id: "s2", distance_meters: 900 });
      await compareLists();
      await operate("rides.start", { id: "live-2", bike_id: "b2" });
      advance(5_000);
      await operate("rides.cancel", { id: "live-2" });
      await operate("rides.start", { id: "live-3", bike_id: "b1" });
      advance(60_000);
      await operate("rides.end", { id: "live-3" });
      await compareLists();
    });

    it("correct rides that have ended alike", async () => {
      await operate("rides.start", { id: "live-4", bike_id: "b1" });
      advance(120_000);
      await operate("rides.end", { id: "live-4", end_station_id: "s2", distance_meters: 900 });
      advance(1_000);
      await operate("rides.correct", { id: "live-4", end_station_id: "s1", distance_meters: 950 });
      await compareLists();
      const { body } = (await ask({ path: "/v1/rides/live-4" })) as { readonly body: { readonly started_at: string } };
      const sooner = new Date(Date.parse(body.started_at) + 10_000).toISOString();
      await operate("rides.correct", { id: "live-4", ended_at: sooner });
      await operate("rides.start", { id: "live-5", bike_id: "b1" });
      advance(60_000);
      await operate("rides.end", { id: "live-5", end_station_id: "s2" });
      await operate("rides.correct", { id: "live-4", end_station_id: null });
      await compareLists();
    });

    it("release reservations of unavailable bikes, and ignore expired ones, alike", async () => {
      await ask(reserve({ bike_id: "b3", hold_minutes: 2 }));
      await operate("bikes.upsert", { id: "b3", vehicle_state: "non_operational" });
      await compareLists();
      await ask(reserve({ bike_id: "b3" }));
      await operate("bikes.upsert", { id: "b3", vehicle_state: "available", station_id: "s2" });
      await ask(reserve({ bike_id: "b3", hold_minutes: 2 }));
      advance(120_000);
      await operate("rides.start", { id: "live-0", bike_id: "b3" });
      await operate("rides.end", { id: "live-0", end_station_id: "s1" });
      await compareLists();
    });

    it("take stations offline and bring them back alike", async () => {
      await operate("stations.offline", { id: "s3" });
      await compareLists();
      await operate("stations.online", { id: "s3" });
      // Events of two stations within one millisecond have no defined order. Events of one station have.
      advance(1_000);
      await operate("stations.offline", { id: "s1" });
      await ask(reserve({ station_id: "s1" }));
      await ask(reserve({ bike_id: "b3" }));
      await compareLists();
      await operate("stations.online", { id: "s1" });
      advance(1_000);
      await operate("stations.upsert", { id: "s2", is_renting: false, is_returning: false });
      await operate("stations.upsert", { id: "s3", is_installed: true });
      await operate("bikes.upsert", { id: "b7", station_id: "s4" });
      advance(1_000);
      await operate("stations.remove", { id: "s4" });
      await compareLists();
      await ask(reserve({ station_id: "s4" }));
    });

    it("walk lists alike, by cursor and by page, and refuse cursors of other lists", async () => {
      for (const list of ["/v1/rides?limit=3", "/v1/events?limit=4", "/v1/stations?limit=2&region_id=r1"]) {
        let path = list;
        for (let page = 0; page < 20; page++) {
          const { body } = (await ask({ path })) as { readonly body: { readonly next_cursor?: string } };
          if (body.next_cursor === undefined) break;
          await askAll([
            `/v1/bikes?cursor=${body.next_cursor}`,
            `/v1/rides?status=completed&cursor=${body.next_cursor}`,
            `/v1/rides?limit=200&cursor=${body.next_cursor}x`,
          ]);
          path = `${list}&cursor=${body.next_cursor}`;
        }
      }
    });

    it("go on alike behind an event", async () => {
      await askAll([
        "/v1/events?after={event:2}",
        "/v1/events?after={event:2}&limit=2",
        "/v1/events?after={event:2}&event=ride.completed",
        "/v1/events?after={event:2}&page=2&limit=2",
        "/v1/events?after=nobody",
        "/v1/events?after=event_none",
        "/v1/events/{event:1}",
        "/v1/events/nobody",
      ]);
      const readers = await both(({ harness }) => harness.key({ scopes: ["events:read", "rides:read"] }));
      await askAll(["/v1/events", "/v1/events/{event:0}", "/v1/events?after={event:0}"], readers);
      const others = await both(({ harness }) => harness.key({ isOtherPartners: true }));
      await askAll(["/v1/events", "/v1/reservations", "/v1/reservations/{reservation:0}"], others);
      await ask(cancel("{reservation:0}"), others);
    });

    it("let the same in, and refuse the same", async () => {
      const few = await both(({ harness }) => harness.key({ scopes: ["stations:read"], rateLimit: 2 }));
      const paths = ["/v1/rides", "/v1/stations", "/v1/me", "/v1/stations/s1", "/v1/rides", "/v1/nothing", "/nothing"];
      await askAll(paths, few);
      advance(20_000);
      await askAll(paths, few);
      // Now it is exactly one window after the first request.
      advance(40_000);
      await askAll(paths, few);
      await askAll([...paths, "/healthz", "/readyz", "/operator/v1/stations"], [undefined, undefined]);
      const wellFormed = `Bearer ${keyOf("live", "x".repeat(KEY_RANDOM_LENGTH))}`;
      for (const authorization of [
        wellFormed,
        "Basic x",
        "Bearer",
        "Bearer  x",
        "Bearerx",
        "bearer nobody",
        "Bearer a b",
      ]) {
        await ask({ path: "/v1/rides", headers: { authorization } }, [undefined, undefined]);
      }
      expect((await ask({ path: "/v1/me" })).status).toBe(200);
      const answers = await both((side, n) => side.send({ path: `/v1/rides?key=${keys[n]}` }, keys[n]));
      expect(answers[0]).toEqual(answers[1]);
    });

    it("know the same paths, methods, ids and bodies", async () => {
      for (const operation of Object.keys(endpoints)) {
        const path = operation.replace(/^\w+ /, "").replace(":id", "s1");
        const reads = summed.has(path) ? [] : ["GET", "HEAD"];
        for (const method of [...reads, "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) await ask({ path, method });
        await ask({ path: `${path}?colour=blue` });
      }
      await askAll(oddPaths);
      for (const { body, type, coding } of oddBodies) {
        const headers = { ...(type && { "content-type": type }), ...(coding && { "content-encoding": coding }) };
        await ask({ path: "/v1/reservations", method: "POST", headers, ...(body !== undefined && { body }) });
      }
      await ask({ ...cancel("nobody"), headers: { ...json, "content-encoding": "gzip" }, body: "{}" });
    });

    it("answer 304 alike", async () => {
      for (const path of ["/v1/stations/s1", "/v1/rides?limit=1"]) {
        const tags = await both(async ({ harness }, n) => {
          const headers = { authorization: `Bearer ${keys[n]}` };
          return (await harness.fetch(harness.baseUrl + path, { headers })).headers.get("etag");
        });
        const answers = await both((side, n) =>
          side.send({ path, headers: { "if-none-match": String(tags[n]) } }, keys[n]),
        );
        expect(answers[0]).toEqual(answers[1]);
        expect(answers[0]).toMatchObject({ status: 304 });
        await ask({ path, headers: { "if-none-match": `W/"other"` } });
      }
    });

    it("filter alike, at the very instant and on the very border too", async () => {
      await askAll([
        "/v1/rides?started_before=2026-05-01T08:03:00Z",
        "/v1/rides?started_after=2026-05-01T08:03:00Z",
        "/v1/rides?started_after=2026-05-01T10:03:00%2B02:00&started_before=2026-05-01T08:03:00.001Z",
        "/v1/rides?station_id=s2&bike_id=b1&status=completed",
        "/v1/rides?updated_since=2026-06-01T12:00:00Z",
        "/v1/stations?bbox=8,47,8.1,47.1",
        "/v1/stations?bbox=179.5,-90,8,90",
        "/v1/bikes?bbox=8,47,8.1,47.1",
        "/v1/bikes?bbox=179.5,-90,8,90",
        "/v1/bikes?bbox=0,0,1,-1",
        "/v1/vehicle_types",
        "/v1/vehicle_types?limit=1&page=2",
        "/v1/vehicle_types?colour=blue",
        "/v1/regions",
        "/v1/regions?limit=1",
        "/v1/regions?page=99",
        "/v1/alerts",
        "/v1/alerts?limit=1",
        "/v1/alerts?page=99",
        "/v1/alerts/nowhere",
        "/v1/stations?status=removed&region_id=r2",
        "/v1/bikes?station_id=s1&vehicle_state=available",
      ]);
    });

    it("show alike how stations were, at any instant and over time", async () => {
      const iso = (at: number) => new Date(at).toISOString();
      const first = (await ask({ path: "/v1/stations?limit=1" })) as { body: { data: readonly { id: string }[] } };
      const id = String(first.body.data[0]?.id);
      const span = now - START;
      for (let n = 0; n <= 12; n++) {
        const at = iso(START + Math.floor((span * n) / 12));
        await askAll([`/v1/stations?at=${at}`, `/v1/stations/${id}?at=${at}`]);
      }
      const middle = iso(START + Math.floor(span / 2));
      for (let path = `/v1/stations?at=${middle}&limit=2`; ;) {
        const { body } = (await ask({ path })) as { readonly body: { readonly next_cursor?: string } };
        if (body.next_cursor === undefined) break;
        await ask({ path: `/v1/stations?cursor=${body.next_cursor}` });
        path = `/v1/stations?at=${middle}&limit=2&cursor=${body.next_cursor}`;
      }
      await askAll([
        ...[
          "status=online",
          "status=offline&limit=1",
          "region_id=r1&limit=1&page=2",
          "bbox=8,47,8.1,47.1",
          "page=9",
        ].map((filter) => `/v1/stations?at=${middle}&${filter}`),
        `/v1/stations?at=${iso(START - 1)}`,
        `/v1/stations/${id}?at=${iso(START - 1)}`,
        `/v1/stations?at=${iso(now + 60_000)}`,
        `/v1/stations/nowhere?at=${middle}`,
        `/v1/stations?at=${middle}&updated_since=${middle}`,
        `/v1/stations?at=${middle}&changes_since=x`,
        "/v1/stations?at=2026-02-30T08:00:00Z",
      ]);
      for (const step of ["PT5M", "PT15M", "PT1H", "P1D"])
        await ask({ path: `/v1/stations/${id}/history?from=${iso(START - 60_000)}&to=${iso(now)}&step=${step}` });
      await askAll([
        `/v1/stations/${id}/history`,
        `/v1/stations/s1/history?from=${middle}`,
        `/v1/stations/s2/history?to=${middle}&step=PT15M`,
        `/v1/stations/s3/history?from=${middle}&to=${iso(START)}`,
        "/v1/stations/s1/history?from=2020-01-01T00:00:00Z&step=PT5M",
        "/v1/stations/s1/history?from=2099-01-01T00:00:00Z",
        "/v1/stations/s1/history?step=PT2M",
      ]);
    });

    it("list files of open data alike", async () => {
      for (const file of exportedFiles) await both(({ harness }) => harness.putExport(file));
      await askAll([
        "/v1/exports",
        "/v1/exports?kind=rides",
        "/v1/exports?month=2026-04",
        "/v1/exports?format=parquet&kind=rides",
        "/v1/exports?kind=bikes",
        "/v1/exports?month=2026-13",
        "/v1/exports?page=2&limit=2",
        "/v1/exports?page=3&limit=2",
        "/v1/exports/export_2",
        "/v1/exports/nowhere",
      ]);
      const { body } = (await ask({ path: "/v1/exports?limit=2" })) as {
        readonly body: { readonly next_cursor: string };
      };
      await askAll([`/v1/exports?limit=2&cursor=${body.next_cursor}`, `/v1/rides?cursor=${body.next_cursor}`]);
      await both(({ harness }) => harness.key({ scopes: ["rides:read"] })).then((few) => askAll(["/v1/exports"], few));
    });

    it("refuse times, days and steps of sums alike", async () => {
      await askAll([
        "/v1/flows?from=2026-05-02&to=2026-05-01",
        "/v1/flows?from=2026-01-01&to=2026-05-01",
        "/v1/flows?from=2026-02-30",
        "/v1/flows?from=2026-05-01T00:00:00Z&page=1",
        "/v1/flows?cursor=",
        "/v1/flows?cursor=x",
        "/v1/flows?limit=0&station_id=",
        "/v1/system/summary?from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z",
        "/v1/system/summary?from=2026-01-01T00:00:00Z&to=2026-05-01T00:00:00Z&step=PT15M",
        "/v1/system/summary?step=PT5M",
        "/v1/system/summary?from=2099-01-01T00:00:00Z&to=2099-01-02T00:00:00Z",
        "/v1/stations/nowhere/typical",
        "/v1/stations/s1/typical",
        "/v1/stations/s1/typical?colour=blue",
        "/v1/stations/nowhere/forecast",
        "/v1/stations/s1/forecast?horizon=PT2H",
        "/v1/stations/s1/forecast?horizon=PT3H",
      ]);
    });

    it("add up rides of quarters, hours, days and pairs of stations alike", async () => {
      // Lets the service sum up the rides of 2026-05-01 and today's flows, which are summed every 10 minutes.
      for (let n = 0; n < 2; n++) {
        advance(11 * 60_000);
        await both(({ harness }) => harness.processSums());
      }
      const day = "from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z";
      await askAll([
        `/v1/system/summary?${day}`,
        `/v1/system/summary?${day}&step=P1D`,
        "/v1/system/summary?from=2026-05-01T08:00:00Z&to=2026-05-01T08:59:00Z&step=PT15M",
        `/v1/system/summary?from=${new Date(Math.floor(now / 900_000) * 900_000).toISOString()}&step=PT15M`,
        `/v1/flows?from=2026-05-01&to=2026-05-01`,
        `/v1/flows?from=2026-05-01&to=2026-05-01&station_id=s1`,
        `/v1/flows?from=2026-05-01&to=2026-05-01&station_id=s3`,
        "/v1/flows?from=2026-04-30&to=2026-05-20&limit=1",
        "/v1/flows",
      ]);
      const today = new Date(now).toISOString().slice(0, 10);
      await ask({ path: `/v1/flows?from=${today}&to=${today}` });
    });

    it("follow changes alike", async () => {
      for (const list of ["stations", "bikes", "rides", "reservations"]) {
        const path = `/v1/${list}?updated_since=2000-01-01T00:00:00Z`;
        await askAll([
          `${path}&limit=200`,
          `${path}&limit=200&page=1`,
          `${path}&changes_since=x`,
          `/v1/${list}?changes_since=`,
          `/v1/${list}?changes_since=x`,
          `/v1/${list}?changes_since=x&page=1`,
          `/v1/${list}?changes_since=x&cursor=`,
          `/v1/${list}?changes_since=x&cursor=x`,
        ]);
      }
      await askAll(["/v1/events?after=now", "/v1/events?after=now&page=2", "/v1/vehicle_types?changes_since=x"]);
    });

    it("cut large pages alike", async () => {
      for (let n = 0; n < 210; n++) {
        // Each ride has a different bike, because rides of one bike must not overlap.
        const ride = { id: `many-${n}`, bike_id: `many-${n}`, vehicle_type_id: "classic" };
        const times = { started_at: "2026-04-01T08:00:00.000Z", ended_at: "2026-04-01T08:00:59.000Z" };
        await operate("rides.past", { ...ride, ...times });
      }
      await askAll([
        "/v1/rides?limit=1000",
        "/v1/rides?limit=201&page=2",
        "/v1/rides?limit=200&page=2",
        "/v1/rides?page=5",
      ]);
    });

    it("read any query alike", async () => {
      await fc.assert(
        fc.asyncProperty(anyQuery, async (path) => {
          await ask({ path });
        }),
        { numRuns: randomRuns(50), seed: 1 },
      );
    });

    it("read any reservation request alike", async () => {
      await fc.assert(
        fc.asyncProperty(anyRequest, async (request) => {
          const { status } = await ask(reserve(request));
          if (status === 201) advance(31 * 60_000);
          await both(({ harness }) => harness.processDueWork());
        }),
        { numRuns: randomRuns(25), seed: 1 },
      );
    });
  });
}

async function fillCity(operate: (verb: OperatorVerb, item: OperatorItem) => Promise<unknown>): Promise<void> {
  for (const [n, id] of ["s1", "s2", "s3", "s4", "Ä", "\u{1f6b2}", "\uff5e"].entries()) {
    await operate("stations.upsert", {
      id,
      name: `Station ${id}`,
      lat: 47 + n / 10,
      lon: n === 3 ? 179.5 : 8 + n / 10,
      region_id: n % 2 === 0 ? "r1" : "r2",
      capacity: 10,
      is_installed: id !== "s3",
    });
  }
  for (const [n, id] of ["b1", "b2", "b3", "b4", "b5"].entries()) {
    const location = n < 4 ? { station_id: n % 2 === 0 ? "s1" : "s2" } : { lat: 47.5, lon: 8.5 };
    const type = n < 3 ? "classic" : "electric";
    await operate("bikes.upsert", { id, vehicle_type_id: type, current_range_meters: n * 1000, ...location });
  }
  await operate("bikes.upsert", { id: "b6", station_id: "s1", vehicle_state: "non_operational" });
  for (let n = 0; n < 12; n++) {
    await operate("rides.past", {
      id: `past-${n}`,
      // Rides that would overlap have different bikes.
      bike_id: n < 5 ? `b${n + 1}` : `old-${n}`,
      started_at: new Date(Date.parse("2026-05-01T08:00:00.000Z") + Math.floor(n / 2) * 60_000).toISOString(),
      ended_at: new Date(Date.parse("2026-05-01T08:20:00.000Z") + n * 60_000).toISOString(),
      start_station_id: n % 3 === 0 ? null : "s1",
      end_station_id: n % 4 === 0 ? null : "s2",
      vehicle_type_id: "classic",
    });
  }
}

const reservationStory: readonly Sent[] = [
  reserve({ station_id: "s1", rider_ref: "anna" }),
  reserve({ station_id: "s1", rider_ref: "anna" }),
  reserve({ station_id: "s1", vehicle_type_id: "electric" }),
  reserve({ station_id: "s1", hold_minutes: 1 }),
  reserve({ station_id: "s1" }),
  reserve({ station_id: "s3" }),
  reserve({ station_id: "nowhere" }),
  reserve({ bike_id: "b1" }),
  reserve({ bike_id: "b5", vehicle_type_id: "classic" }),
  reserve({ bike_id: "b5" }, { "idempotency-key": "once" }),
  reserve({ bike_id: "b5" }, { "idempotency-key": "once" }),
  reserve({ bike_id: "b4" }, { "idempotency-key": "once" }),
  reserve({ bike_id: "nobody" }, { "idempotency-key": "twice" }),
  reserve({ bike_id: "b4" }, { "idempotency-key": "twice" }),
  reserve({ bike_id: "b4" }, { "idempotency-key": "with blanks" }),
  reserve({ bike_id: "b4" }, { "idempotency-key": "x".repeat(256) }),
  cancel("{reservation:0}"),
  cancel("{reservation:0}"),
  cancel("nobody"),
  reserve({ station_id: "s1", rider_ref: "anna", hold_minutes: 30 }),
];

const exportedFiles: readonly ExportFacts[] = (
  [
    ["rides", "2026-03", "csv"],
    ["rides", "2026-04", "csv"],
    ["rides", "2026-04", "parquet"],
    ["stations", null, "csv"],
  ] as const
).map(([kind, month, format], n) => ({
  ...{ id: `export_${n}`, kind, month, format, privacy: kind === "rides" ? "coarse" : null, licence: null },
  ...{ file_name: `main-${kind}.${format}`, bytes: 1_000 + n, sha256: String(n).repeat(64), rows: 10 * n },
  left_out: kind === "rides" ? { not_completed: 1, short: 2, ended_by_operator: 0, rare: 3 } : null,
  ...{ merged: kind === "rides" ? 2 : null, as_of: "2026-05-04T00:00:00.000Z", time_zone: "UTC" },
}));

/** The paths of sums. The fake computes them at each request, the service beforehand. */
const summed: ReadonlySet<string> = new Set(["/v1/flows", "/v1/system/summary"]);

const oddPaths: readonly string[] = [
  "/",
  "/v1",
  "/v1/",
  "/v1/rides/",
  "/v1/rides/past-1/x",
  "/v1/rides/past%2D1",
  "/v1/rides/%00",
  "/v1/rides/nobody%27s",
  `/v1/rides/${"x".repeat(255)}`,
  `/v1/rides/${"x".repeat(256)}`,
  `/v1/rides/${"x".repeat(1100)}`,
  "/v1/stations/%C3%84",
  "/v1/rides/%zz",
  "/%",
  "/v1//rides",
  "/v1/rides/past-1/",
  "/V1/rides",
  "/v2/rides",
];

const oddBodies: readonly { readonly body?: string; readonly type?: string; readonly coding?: string }[] = [
  {},
  { type: "application/json" },
  { type: "application/json", body: "" },
  { type: "application/json", body: "{" },
  { type: "application/json", body: "[]" },
  { type: "application/json", body: "null" },
  { type: "application/json", body: `"text"` },
  { type: "application/json; charset=utf-8", body: "{}" },
  { type: `application/json; charset="UTF8"`, body: "{}" },
  { type: "application/json; charset=iso-8859-1", body: "{}" },
  { type: "application/json;charset=", body: "{}" },
  { type: "application/json", coding: "gzip", body: "{}" },
  { type: "application/json", coding: "identity", body: "{}" },
  { type: "text/plain", body: `{"station_id":"s1"}` },
  { type: "application/json", body: JSON.stringify({ station_id: "x".repeat(1024 * 1024) }) },
];

const instants = [
  "2026-05-01T08:03:00Z",
  "2026-05-01T10:03:00+02:00",
  "2026-06-01T12:00:00.000Z",
  "2026-02-30T08:00:00Z",
  "2026-05-01",
  "2026-05-01T08:03:00",
  "2026-05-01T24:00:00Z",
  "0000-01-01T00:00:00Z",
  "now",
];
const ids = ["s1", "s2", "b1", "b2", "r1", "rider", "anna", "", "x".repeat(256), "ä", "ä".repeat(300), "\0"];
const valuesOf: Readonly<Record<string, readonly string[]>> = {
  page: ["1", "2", "3", "99999999999999999999", "0", "-1", "1.5", "", "01", "x"],
  limit: ["1", "2", "7", "200", "201", "1000000", "0", "-1", "1e2", " 5"],
  cursor: ["", "x", "AAAA", "{cursor:0}", "{cursor:3}"],
  bbox: [
    "8,47,8.3,47.3",
    "170,-90,-170,90",
    "8,48,9,47",
    "8,47,9",
    "a,b,c,d",
    "-181,0,0,1",
    "0,91,1,92",
    "8.0, 47.0,8.1,47.1",
  ],
  after: ["{event:1}", "event_none", "nobody", "", `event_${"x".repeat(250)}`],
};

/** Random queries of every list: known and unknown parameters, right and wrong values, some of them twice. */
const anyQuery = fc
  .constantFrom(...Object.entries(endpoints).filter(([, { query }]) => Object.hasOwn(query, "page")))
  .chain(([operation, { query }]) => {
    const parameter = fc.constantFrom(...Object.keys(query), "colour").chain((name) => {
      const kind = query[name] ?? "";
      const known = typeof kind === "object" && "length" in kind ? kind : [];
      const values = valuesOf[name] ?? (kind === "instant" ? instants : [...known, ...ids]);
      return fc
        .constantFrom(...values)
        .map((value) => `${name}=${value.startsWith("{") ? value : encodeURIComponent(value)}`);
    });
    return fc
      .array(parameter, { maxLength: 3 })
      .map((parameters) => `${operation.replace("GET ", "")}?${parameters.join("&")}`);
  });

/** Random requests for reservations, valid and invalid. */
const anyRequest = fc.record(
  {
    station_id: fc.constantFrom<unknown>("s1", "s1", "nowhere", "", " s1", "..", "s\0", 1, null),
    bike_id: fc.constantFrom<unknown>("b1", "b5", "nobody", "x".repeat(256), []),
    vehicle_type_id: fc.constantFrom<unknown>("classic", "none", "", {}),
    rider_ref: fc.constantFrom<unknown>("anna", "x".repeat(65), "with blanks", "ä", ""),
    hold_minutes: fc.constantFrom<unknown>(1, 15, 30, 31, 0, 0.5, 1.5, "5", null),
    colour: fc.constant("blue"),
  },
  { requiredKeys: [] },
);

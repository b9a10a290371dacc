import {
  bikeList,
  deliveryNames,
  deliveryOf,
  eventList,
  reservationList,
  rideList,
  stationList,
} from "@bikeshare/contract";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BikeShare } from "../src/client.ts";
import * as testing from "../src/testing.ts";
import { createFakeBikeShare, sampleCity } from "../src/testing.ts";
import { isWebhookVerificationError, verify } from "../src/webhooks.ts";

const oneBike = { stations: [{ id: "s1" }], bikes: [{ id: "b1", station_id: "s1" }] };
const get = (fake: testing.FakeBikeShare, path: string, init: RequestInit = {}, key = fake.apiKey) =>
  fake.fetch(fake.baseUrl + path, { ...init, headers: { authorization: `Bearer ${key}` } });
/** Uses fake timers, which both the client and the fake use. */
const fakeTime = () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  // Without random numbers all delays are whole milliseconds. Fake timers cut off fractions, and a wait would never end.
  vi.spyOn(Math, "random").mockReturnValue(0);
};
const names = ({ events }: testing.FakeBikeShare) => events().map(({ event }) => event);

afterEach(() => {
  vi.useRealTimers();
});

it("the entry exports what is promised, no more and no less", () => {
  expect(Object.keys(testing).sort()).toEqual(["createFakeBikeShare", "sampleCity"]);
});

it("a client is made of a fake as it is, and nothing leaves the process", async () => {
  const fake = createFakeBikeShare(oneBike);
  const client = new BikeShare(fake.options);
  expect((await client.stations.get("s1")).num_bikes_available).toBe(1);
  await expect(fake.fetch("https://elsewhere.example/v1/me")).rejects.toThrow("fetch failed");
});

it("whatever is left out is filled in as the contract has it", async () => {
  const city = sampleCity();
  const fake = createFakeBikeShare({
    ...city,
    rides: [...city.rides, { id: "now", bike_id: "bike_002", status: "started" }],
    reservations: [
      { id: "held", bike_id: "bike_001" },
      { id: "over", bike_id: "bike_001", status: "cancelled" },
    ],
  });
  fake.operator.takeOffline("station_001");
  fake.operator.endRide({ id: "now", end_station_id: "station_002" });
  const page = async (path: string): Promise<unknown> => (await get(fake, path)).json();
  expect(rideList.parse(await page("/v1/rides?limit=200")).data).toHaveLength(121);
  expect(stationList.parse(await page("/v1/stations")).data).toHaveLength(5);
  expect(bikeList.parse(await page("/v1/bikes")).data).toHaveLength(20);
  expect(reservationList.parse(await page("/v1/reservations")).data).toHaveLength(2);
  expect(eventList.parse(await page("/v1/events")).data).toHaveLength(2);
  expect((await new BikeShare(fake.options).bikes.get("bike_001")).vehicle_state).toBe("reserved");
});

it("two fakes know nothing of each other, and the same is the same in each", async () => {
  const [one, other] = [createFakeBikeShare(oneBike), createFakeBikeShare(oneBike)];
  const held = await new BikeShare(one.options).reservations.create({ station_id: "s1" });
  expect((await new BikeShare(other.options).reservations.create({ bike_id: "b1" })).id).toBe(held.id);
});

it("a partner has as many active reservations as the fake is told, 50 if not said, and sees its use of them", async () => {
  const fake = createFakeBikeShare({ ...oneBike, bikes: [{ id: "b1" }, { id: "b2" }], maxReservations: 1 });
  const client = new BikeShare(fake.options);
  const { id } = await client.reservations.create({ bike_id: "b1" });
  await expect(client.reservations.create({ bike_id: "b2" })).rejects.toMatchObject({ code: "too_many_reservations" });
  expect((await client.me.get()).reservations).toEqual({ limit: 1, active: 1 });
  await client.reservations.cancel(id);
  await client.reservations.create({ bike_id: "b2" });
  expect((await new BikeShare(createFakeBikeShare().options).me.get()).reservations).toEqual({ limit: 50, active: 0 });
});

it("what came is kept, without the key", async () => {
  const fake = createFakeBikeShare(oneBike);
  await new BikeShare(fake.options).reservations.create({ bike_id: "b1" }, { idempotencyKey: "k" });
  expect(fake.requests).toMatchObject([
    {
      operation: "POST /v1/reservations",
      method: "POST",
      url: "https://bikeshare.test/v1/reservations",
      headers: { "idempotency-key": "k", "content-type": "application/json" },
      body: `{"bike_id":"b1"}`,
      status: 201,
    },
  ]);
  expect(JSON.stringify(fake.requests)).not.toContain(fake.apiKey);
});

describe("the fake's clock", () => {
  it("expires reservations, each as of its own end, and gives bikes back", async () => {
    const fake = createFakeBikeShare({ ...oneBike, now: () => Date.parse("2026-06-01T12:00:00.000Z") });
    const client = new BikeShare(fake.options);
    const held = await client.reservations.create({ station_id: "s1", hold_minutes: 5 });
    fake.advance(5 * 60_000 - 1);
    expect((await client.reservations.get(held.id)).status).toBe("active");
    fake.advance(60_000);
    expect((await client.bikes.get("b1")).vehicle_state).toBe("available");
    expect(fake.events().at(-1)).toMatchObject({ event: "reservation.expired", occurred_at: held.expires_at });
  });

  it("gives requests back, and forgets events and idempotency keys in their time", async () => {
    const few = createFakeBikeShare({ rateLimit: 2 });
    const ask = async () => (await get(few, "/v1/me")).status;
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
    few.advance(60_000);
    expect(await ask()).toBe(200);
    const fake = createFakeBikeShare(oneBike);
    const client = new BikeShare(fake.options);
    await client.reservations.create({ bike_id: "b1" }, { idempotencyKey: "k" });
    fake.advance(24 * 3_600_000);
    const again = await client.reservations.create({ bike_id: "b1" }, { idempotencyKey: "k" }).withResponse();
    expect(again.response.headers.get("idempotent-replayed")).toBeNull();
    fake.advance(30 * 86_400_000);
    expect((await client.events.list()).data.map(({ event }) => event)).toEqual(["reservation.expired"]);
    expect(() => fake.advance(-1)).toThrow(RangeError);
  });
});

it("a runner's fake timers move the fake and the client alike: a walk waits for the limit and is not refused", async () => {
  fakeTime();
  const fake = createFakeBikeShare({ ...sampleCity({ rides: 300 }), rateLimit: 7 });
  const walked = new BikeShare(fake.options).rides.list({ limit: 10 }).toArray({ limit: Infinity });
  await vi.runAllTimersAsync();
  expect(await walked).toHaveLength(300);
  expect(fake.requests.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 200));
});

describe("keys", () => {
  it("are as good as they are said to be, until they are revoked or have expired", async () => {
    const fake = createFakeBikeShare({ scopes: ["rides:read"] });
    const asks = async (apiKey: string, path: string) => (await get(fake, path, {}, apiKey)).status;
    expect([await asks(fake.apiKey, "/v1/rides"), await asks(fake.apiKey, "/v1/bikes")]).toEqual([200, 403]);
    const short = fake.issueKey({ expiresAt: new Date(fake.now() + 1000).toISOString() });
    expect(await asks(short, "/v1/bikes")).toBe(200);
    fake.advance(1000);
    expect(await asks(short, "/v1/bikes")).toBe(401);
    fake.revokeKey(fake.apiKey);
    expect(await asks(fake.apiKey, "/v1/rides")).toBe(401);
    expect(() => fake.revokeKey("nobody's")).toThrow("not issued");
  });

  it("must not go over plain http", async () => {
    const fake = createFakeBikeShare();
    const response = await fake.fetch("http://bikeshare.test/v1/me", { headers: { authorization: fake.apiKey } });
    expect([response.status, await response.json()]).toMatchObject([403, { error: "https_required" }]);
  });
});

describe("a script", () => {
  it("says what becomes of the next requests, and the client gets through", async () => {
    const fake = createFakeBikeShare(oneBike);
    const client = new BikeShare(fake.options);
    fakeTime();
    const script = fake.script([{ status: 503, retryAfter: 0 }, "reset", { status: 502 }, { status: 429 }]);
    const called = client.stations.get("s1").withResponse();
    await vi.runAllTimersAsync();
    expect(await called).toMatchObject({ attempts: 5, data: { id: "s1" } });
    expect(script.left()).toBe(0);
    expect(fake.requests.map(({ status }) => status)).toEqual([503, undefined, 502, 429, 200]);
  });

  it("loses the answer of what was done: under its idempotency key it is done once", async () => {
    const fake = createFakeBikeShare(oneBike);
    fake.script(["lost"], { match: "POST /v1/reservations" });
    fakeTime();
    const called = new BikeShare(fake.options).reservations.create({ station_id: "s1" }).withResponse();
    await vi.runAllTimersAsync();
    const { attempts, response } = await called;
    expect([attempts, response.headers.get("idempotent-replayed")]).toEqual([2, "true"]);
    expect(names(fake)).toEqual(["reservation.created"]);
  });

  it("answers with any status, code and words, which the client's errors show", async () => {
    const fake = createFakeBikeShare(oneBike);
    const client = new BikeShare({ ...fake.options, maxRetries: 0 });
    const scripted = async (answer: testing.ScriptedAnswer) => {
      fake.script([answer]);
      return client.stations.list().then(
        () => "answered",
        (error: unknown) => error,
      );
    };
    const busy = { status: 409, error: "idempotency_in_progress", message: "Busy." } as const;
    expect(await scripted(busy)).toMatchObject({ name: "ConflictError", code: "idempotency_in_progress" });
    expect(await scripted({ status: 500 })).toMatchObject({ name: "ServerError", code: "internal", status: 500 });
    expect(await scripted({ status: 504 })).toMatchObject({
      name: "ServerError",
      message: "504 without an error code (a proxy?)",
    });
    expect(await scripted({ status: 302, headers: { location: "/" } })).toMatchObject({
      name: "UnexpectedResponseError",
    });
    expect(await scripted({ status: 200, body: { data: [], page: 1, total_pages: 1 } })).toBe("answered");
    expect(await scripted("reset")).toMatchObject({ name: "ConnectionError" });
    // This is the last answer, because the client waits after it.
    expect(await scripted({ status: 429, retryAfter: 7 })).toMatchObject({
      name: "RateLimitError",
      retryAfterMs: 7000,
    });
  });

  it("is for the requests that it matches, passes where it says so, and repeats until it is stopped", async () => {
    const fake = createFakeBikeShare(oneBike);
    const statuses = async (...paths: readonly string[]) => {
      const answers: number[] = [];
      for (const path of paths) answers.push((await get(fake, path)).status);
      return answers;
    };
    fake.script([{ status: 500 }, "pass", { status: 500 }], { match: "GET /v1/stations/:id" });
    const one = "/v1/stations/s1";
    expect(await statuses("/v1/stations", one, one, one, one)).toEqual([200, 500, 200, 500, 200]);
    const outage = fake.script([{ status: 503 }], { match: ({ url }) => url.includes("rides"), repeat: true });
    expect(await statuses("/v1/rides", "/v1/bikes", "/v1/rides")).toEqual([503, 200, 503]);
    outage.stop();
    expect([await statuses("/v1/rides"), outage.left()]).toEqual([[200], 0]);
  });

  it("lets a wrong key be refused all the same, and counts the request", async () => {
    const fake = createFakeBikeShare();
    fake.script([{ status: 500 }, { status: 500 }]);
    expect((await fake.fetch(`${fake.baseUrl}/v1/me`)).status).toBe(401);
    const response = await get(fake, "/v1/me");
    expect([response.status, response.headers.get("ratelimit")]).toEqual([500, `"default";r=59;t=60`]);
  });

  it("makes answers slow, or keeps them for ever; a caller that gives up is let go", async () => {
    const fake = createFakeBikeShare(oneBike);
    fakeTime();
    fake.script([{ delay: 300 }, "hang"]);
    let isAnswered = false;
    const slow = get(fake, "/v1/me").then(() => (isAnswered = true));
    await vi.advanceTimersByTimeAsync(299);
    expect(isAnswered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await slow;
    const controller = new AbortController();
    const hung = get(fake, "/v1/me", { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(hung).rejects.toThrow("enough");
    const client = new BikeShare({ ...fake.options, maxRetries: 0, timeoutMs: 50 });
    fake.script(["hang"]);
    const late = expect(client.me.get()).rejects.toMatchObject({ name: "TimeoutError" });
    await vi.advanceTimersByTimeAsync(50);
    await late;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("what the operator does", () => {
  it("to a reserved ride that does not come about stands in the reservation, which stays fulfilled", async () => {
    const fake = createFakeBikeShare(oneBike);
    const client = new BikeShare(fake.options);
    const held = await client.reservations.create({ station_id: "s1" });
    const ride = fake.operator.startRide({ bike_id: "b1" });
    expect(await client.reservations.get(held.id)).toMatchObject({ status: "fulfilled", ride_cancelled_at: null });
    fake.operator.cancelRide(ride.id);
    const { ended_at: cancelledAt } = await client.rides.get(ride.id);
    expect(await client.reservations.get(held.id)).toMatchObject({
      status: "fulfilled",
      ride_cancelled_at: cancelledAt,
    });
  });

  it("is followed by all that follows from it", async () => {
    const fake = createFakeBikeShare(oneBike);
    const { operator } = fake;
    const client = new BikeShare(fake.options);
    const held = await client.reservations.create({ station_id: "s1" });
    const ride = operator.startRide({ bike_id: "b1" });
    expect(await client.reservations.get(held.id)).toMatchObject({ status: "fulfilled", ride_id: ride.id });
    expect(await client.bikes.get("b1")).toMatchObject({ vehicle_state: "on_trip", lat: null });
    fake.advance(90_000);
    operator.endRide({ id: ride.id, end_station_id: "s1" });
    expect(await client.rides.get(ride.id)).toMatchObject({ status: "completed", duration_seconds: 90 });
    operator.takeOffline("s1");
    operator.bringOnline("s1");
    expect(names(fake)).toEqual([
      "reservation.created",
      "reservation.fulfilled",
      "ride.started",
      "ride.completed",
      "station.offline",
      "station.online",
    ]);
  });

  it("cannot be what cannot be", () => {
    const { operator } = createFakeBikeShare(oneBike);
    operator.startRide({ id: "r1", bike_id: "b1" });
    expect(() => operator.startRide({ bike_id: "b1" })).toThrow("is on ride r1");
    expect(() => operator.startRide({ bike_id: "b9" })).toThrow("no bike b9");
    operator.cancelRide("r1");
    expect(() => operator.endRide({ id: "r1" })).toThrow("is cancelled");
    expect(() => operator.correctRide({ id: "r1" })).toThrow("is cancelled");
    expect(() => operator.takeOffline("s9")).toThrow("no station s9");
  });

  it("to bikes is followed by the free docks of their station", async () => {
    const fake = createFakeBikeShare({
      stations: [
        { id: "s1", num_docks_available: 5 },
        { id: "s2", capacity: 3, num_docks_disabled: 1 },
        { id: "fed", num_bikes_available: 4, num_docks_available: 7 },
      ],
      bikes: [
        { id: "b1", station_id: "s1" },
        { id: "b2", station_id: "fed" },
      ],
    });
    const docks = async () =>
      Object.fromEntries(
        (await new BikeShare(fake.options).stations.list()).data.map((each) => [each.id, each.num_docks_available]),
      );
    expect(await docks()).toEqual({ s1: 5, s2: 2, fed: 7 });
    for (const bike_id of ["b1", "b2"]) fake.operator.startRide({ id: `of-${bike_id}`, bike_id });
    expect(await docks()).toEqual({ s1: 6, s2: 2, fed: 7 });
    for (const id of ["of-b1", "of-b2"]) fake.operator.endRide({ id, end_station_id: "s2" });
    expect(await docks()).toEqual({ s1: 6, s2: 0, fed: 7 });
    fake.operator.putStation({ id: "s2", num_docks_available: 9 });
    fake.operator.putBike({ id: "b1", vehicle_state: "missing" });
    expect(await docks()).toEqual({ s1: 6, s2: 10, fed: 7 });
  });

  it("to a station that is removed leaves its bikes where they are, and lets none come there", async () => {
    const fake = createFakeBikeShare(oneBike);
    fake.operator.removeStation("s1");
    const { lat } = await new BikeShare(fake.options).stations.get("s1");
    expect(await new BikeShare(fake.options).bikes.get("b1")).toMatchObject({ station_id: null, lat });
    expect(() => fake.operator.putBike({ id: "b1", station_id: "s1" })).toThrow("s1 is removed");
    expect(() => fake.operator.takeOffline("s1")).toThrow("s1 is removed");
    expect(() => fake.operator.bringOnline("s1")).toThrow("s1 is removed");
    const { id } = fake.operator.startRide({ bike_id: "b1" });
    expect(() => fake.operator.endRide({ id, end_station_id: "s1" })).toThrow("s1 is removed");
  });

  it("to rides lets none of a bike overlap, and no time lie ahead", () => {
    const fake = createFakeBikeShare({ ...oneBike, now: () => Date.parse("2026-06-01T12:00:00Z") });
    const { operator } = fake;
    const first = operator.startRide({ bike_id: "b1" });
    fake.advance(60_000);
    operator.endRide({ id: first.id });
    fake.advance(60_000);
    const second = operator.startRide({ bike_id: "b1" });
    operator.cancelRide(second.id);
    const correct = (ended_at: string) => operator.correctRide({ id: first.id, ended_at });
    expect(correct("2026-06-01T12:07:00Z").ended_at).toBe("2026-06-01T12:02:00.000Z");
    expect(() => correct("2026-06-01T12:07:01Z")).toThrow("more than 300 s ahead");
    expect(() => correct("2026-06-01T11:59:59Z")).toThrow("before");
    operator.putRide({
      id: "later",
      bike_id: "b1",
      started_at: "2026-06-01T12:01:00Z",
      ended_at: "2026-06-01T12:09:00Z",
    });
    correct("2026-06-01T12:01:00Z");
    expect(() => correct("2026-06-01T12:01:01Z")).toThrow("ride later overlaps");
    expect(() => operator.startRide({ bike_id: "b1" })).toThrow("ride later overlaps");
    // The clock is behind the previous ride's end by less than the tolerance, so the new ride begins at that end.
    fake.advance(180_000);
    expect(operator.startRide({ bike_id: "b1" }).started_at).toBe("2026-06-01T12:09:00.000Z");
  });

  it("to a ride's length leaves its bike where it is, also outside stations", async () => {
    const fake = createFakeBikeShare(oneBike);
    const client = new BikeShare(fake.options);
    const { id } = fake.operator.startRide({ bike_id: "b1" });
    fake.operator.endRide({ id });
    fake.operator.putBike({ id: "b1", lat: 48.2, lon: 16.4 });
    const before = await client.bikes.get("b1");
    fake.operator.correctRide({ id, distance_meters: 900 });
    expect(await client.bikes.get("b1")).toEqual(before);
  });

  it("keeps the numbers of a station that came with numbers, but for what changes here", async () => {
    const fake = createFakeBikeShare({
      stations: [{ id: "s1", num_bikes_available: 7 }],
      bikes: [{ id: "b1", station_id: "s1" }],
    });
    const client = new BikeShare(fake.options);
    await client.reservations.create({ bike_id: "b1" });
    expect(await client.stations.get("s1")).toMatchObject({ num_bikes_available: 6, num_bikes_reserved: 1 });
  });

  it("may be an event that nobody knows yet", async () => {
    const fake = createFakeBikeShare({ events: [{ event: "dock.cleaned", data: { id: "d1" } }] });
    const [event] = (await new BikeShare(fake.options).events.list()).data;
    expect(event).toMatchObject({ event: "dock.cleaned", data: { id: "d1" } });
  });
});

describe("a webhook", () => {
  it.each(deliveryNames)("of %s is signed, and is what the contract says", async (name) => {
    const fake = createFakeBikeShare();
    const { request, headers, body } = await fake.webhook(name);
    const delivery: unknown = await verify(await request.text(), headers["Service-Signature"], fake.webhookSecret);
    expect(deliveryOf(name).parse(delivery)).toEqual(JSON.parse(body));
  });

  it("of an event of the list says what the list says, under one delivery id", async () => {
    const fake = createFakeBikeShare(oneBike);
    const ride = fake.operator.startRide({ bike_id: "b1" });
    const [event] = fake.events();
    const [one, two] = [await fake.webhook(event!), await fake.webhook(event!)];
    expect(one.delivery).toMatchObject({ event: "ride.started", occurred_at: event!.occurred_at, data: ride });
    expect(two.delivery.delivery_id).toBe(one.delivery.delivery_id);
    // From the delivery's id a receiver gets the event's id, and so knows which events it has already.
    expect(one.delivery.delivery_id.replace(/^delivery_(.*).{6}$/, "event_$1")).toBe(event!.id);
    expect(await verify(one.body, one.headers["Service-Signature"], fake.webhookSecret)).toEqual(one.delivery);
  });

  it("may carry other data, and be signed by others or long ago: then it is refused", async () => {
    const fake = createFakeBikeShare({ webhookSecret: "whsec_mine" });
    const { delivery } = await fake.webhook("ride.completed", { data: { distance_meters: 7 }, deliveryId: "d1" });
    expect(delivery).toMatchObject({ delivery_id: "d1", data: { status: "completed", distance_meters: 7 } });
    const refused = async (options: testing.WebhookOptions) => {
      const { body, headers } = await fake.webhook("ride.completed", options);
      return verify(body, headers["Service-Signature"], "whsec_mine").then(
        () => "taken",
        (error: unknown) => isWebhookVerificationError(error) && error.reason,
      );
    };
    expect(await refused({})).toBe("taken");
    expect(await refused({ secret: ["whsec_old", "whsec_mine"] })).toBe("taken");
    expect(await refused({ secret: "whsec_theirs" })).toBe("no_matching_signature");
    expect(await refused({ age: 600_000 })).toBe("timestamp_too_old");
    expect((await fake.webhook("ride.completed")).delivery.delivery_id).not.toBe("d1");
  });
});

describe("a fake that listens", () => {
  it("answers over HTTP with the same city, breaks connections when told, and ends", async () => {
    const fake = createFakeBikeShare(oneBike);
    const { url, close } = await fake.listen();
    const client = new BikeShare({ baseUrl: url, apiKey: fake.apiKey, maxRetries: 0 });
    const held = await client.reservations.create({ station_id: "s1" });
    expect(await new BikeShare(fake.options).reservations.get(held.id)).toEqual(held);
    fake.script(["reset"]);
    await expect(client.me.get()).rejects.toMatchObject({ name: "ConnectionError" });
    fake.script(["hang"]);
    const hung = client.me.get().catch((error: unknown) => error);
    await vi.waitUntil(() => fake.requests.length === 4);
    await close();
    expect(await hung).toMatchObject({ name: "ConnectionError" });
    await expect(client.me.get()).rejects.toMatchObject({ name: "ConnectionError" });
  });

  it("says where a port is taken", async () => {
    const fake = createFakeBikeShare();
    const { url, close } = await fake.listen();
    await expect(fake.listen({ port: Number(new URL(url).port) })).rejects.toThrow("EADDRINUSE");
    await close();
  });
});

import { type BatchResults, batchResults, type ErrorCode, MAX_TOTAL_HOLD_MINUTES } from "@bikeshare/contract";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import type { BatchResultWriter } from "../src/city/fleet/batch.ts";
import { createPartner } from "../src/partners/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, keyContext } from "./built-app.ts";
import { type Endpoint, endpoints, sampleId } from "./endpoints.ts";

let app: TestApp;
let operatorKey: string;
let partnerKey: string;

beforeAll(async () => {
  app = await startTestApp();
  operatorKey = (await app.issue({ partnerId: null, scopes: [] })).key;
  partnerKey = (await app.issue()).key;
  const instant = (secondsAgo: number) => new Date(app.clock() - secondsAgo * 1000).toISOString();
  const station = (id: string) => ({ id, name: id, lat: 1, lon: 2 });
  await done("stations", [station("home"), station("empty"), station("closed")]);
  await done("stations/offline", [{ id: "closed" }]);
  await done("bikes", [
    ...["free-1", "free-2", "free-3", "on-ride"].map((id) => ({ id, station_id: "home" })),
    { id: "broken", vehicle_state: "non_operational" },
    { id: "at-closed", station_id: "closed" },
  ]);
  await done("rides/start", [{ id: "cancelled", bike_id: "free-1", started_at: instant(300) }]);
  await done("rides/cancel", [{ id: "cancelled" }]);
  await done("rides/start", [{ id: "completed", bike_id: "free-1", started_at: instant(200) }]);
  await done("rides/end", [{ id: "completed", end_station_id: "home", ended_at: instant(100) }]);
  await done("rides/start", [{ id: "started", bike_id: "on-ride", started_at: instant(50) }]);
});

afterAll(() => app.close());

/** Sends a batch. */
async function send(path: string, items: readonly object[]): Promise<BatchResults> {
  const response = await call("POST", `/operator/v1/${path}`, { items }, operatorKey);
  expect(response.status).toBe(200);
  return batchResults.parse(await response.json());
}

/** Sends a batch, and expects that no item fails. */
async function done(path: string, items: readonly object[]): Promise<void> {
  expect(await send(path, items)).toMatchObject({ failed: 0 });
}

function call(method: string, path: string, body?: object, key = partnerKey): Promise<Response> {
  return fetch(app.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const insertPaused = statement(
  "test.insertPaused",
  `with endpoint as (
     insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, pause_reason, paused_at, created_at, updated_at)
     values ($1, 'paused', $2, 'paused', 'https://partner.example/', '{ride.corrected}', 'paused', 'partner', $3, $3, $3)),
   lane as (insert into webhook_lanes (system_id, endpoint_id) values ($1, 'paused'))
   insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status)
   values ($1, ($3::timestamptz)::date, 'of-a-paused', 'paused', 'event', 'ride.corrected', $3, 'failed')`,
);

/** For each batch endpoint and declared code: an item that fails with this code. */
const failingItems: Readonly<Record<string, { readonly [Code in ErrorCode]?: object }>> = {
  "/operator/v1/stations": { invalid_parameter: { id: "new" } },
  "/operator/v1/stations/offline": { invalid_parameter: { id: "" }, not_found: { id: "nowhere" } },
  "/operator/v1/stations/online": { invalid_parameter: { id: "" }, not_found: { id: "nowhere" } },
  "/operator/v1/stations/remove": { invalid_parameter: { id: "" }, not_found: { id: "nowhere" } },
  "/operator/v1/alerts": { invalid_parameter: { id: "new" } },
  "/operator/v1/alerts/end": { invalid_parameter: { id: "" }, not_found: { id: "nowhere" } },
  "/operator/v1/bikes": { invalid_parameter: { id: "" }, not_found: { id: "free-1", station_id: "nowhere" } },
  "/operator/v1/bikes/reports": {
    invalid_parameter: { id: "free-1", at: "2999-01-01T00:00:00Z", vehicle_state: "available" },
    not_found: { id: "nobody's", at: "2026-01-01T00:00:00Z", vehicle_state: "available" },
  },
  "/operator/v1/rides": {
    invalid_parameter: { ...past("old"), ended_at: "2999-01-01T00:00:00Z" },
    ride_conflict: past("completed"),
  },
  "/operator/v1/rides/start": {
    invalid_parameter: { id: "a", bike_id: "free-2", started_at: "2999-01-01T00:00:00Z" },
    not_found: { id: "b", bike_id: "nobody's" },
    bike_not_available: { id: "c", bike_id: "broken" },
    reservation_not_active: { id: "d", bike_id: "free-2", reservation_id: "reservation_none" },
    ride_conflict: { id: "e", bike_id: "on-ride" },
  },
  "/operator/v1/rides/end": {
    invalid_parameter: { id: "started", ended_at: "2999-01-01T00:00:00Z" },
    not_found: { id: "none" },
    ride_conflict: { id: "cancelled" },
  },
  "/operator/v1/rides/cancel": {
    invalid_parameter: { id: "started", cancelled_at: "2999-01-01T00:00:00Z" },
    not_found: { id: "none" },
    ride_conflict: { id: "completed" },
  },
  "/operator/v1/rides/correct": {
    invalid_parameter: { id: "completed", ended_at: "2999-01-01T00:00:00Z" },
    not_found: { id: "none" },
    ride_conflict: { id: "started" },
  },
};

function past(id: string) {
  return { id, bike_id: "another", started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T01:00:00Z" };
}

/** Requests that wait at the same time. Each occupies a database connection. */
const TOGETHER = 4;

describe("an item of a batch", () => {
  it.each(endpoints.filter(({ metadata }) => metadata.itemErrors !== undefined))(
    "fails with each code that the contract declares: $path",
    async ({ path, metadata }) => {
      const items = failingItems[path] ?? {};
      expect(Object.keys(items)).toEqual(metadata.itemErrors);
      const { results } = await send(path.replace("/operator/v1/", ""), Object.values(items));
      expect(results.map(({ error }) => error?.error)).toEqual(metadata.itemErrors);
    },
  );

  it("can fail with no other code: it would not compile", () => {
    expectTypeOf<BatchResultWriter<"not_found">>().not.toExtend<BatchResultWriter<"not_found" | "ride_conflict">>();
    expectTypeOf<BatchResultWriter<"not_found" | "ride_conflict">>().toExtend<BatchResultWriter<"not_found">>();
  });
});

/** Reserves a bike, and expects that to succeed. @returns the reservation's path */
async function reserve(request: object, key = partnerKey): Promise<string> {
  const response = await call("POST", "/v1/reservations", request, key);
  expect(response.status).toBe(201);
  const { id } = (await response.json()) as { id: string };
  return `/v1/reservations/${id}`;
}

/** Reserves a bike and cancels the reservation. @returns its path */
async function reservedAndCancelled(): Promise<string> {
  const path = await reserve({ bike_id: "free-3" });
  expect((await call("DELETE", path)).status).toBe(200);
  return path;
}

/** For each endpoint and declared code of a 409: a request that gets this code. */
const conflicts: Readonly<Record<string, { readonly [Code in ErrorCode]?: () => Promise<Response> }>> = {
  [`POST /v1/deliveries/${sampleId}/resend`]: {
    conflict: async () => {
      await app.db.query(insertPaused, [app.systemId, app.partnerId, new Date(app.clock())]);
      return call("POST", "/v1/deliveries/of-a-paused/resend");
    },
  },
  "POST /v1/reservations": {
    no_bike_available: () => call("POST", "/v1/reservations", { station_id: "empty" }),
    bike_not_available: () => call("POST", "/v1/reservations", { bike_id: "broken" }),
    station_offline: () => call("POST", "/v1/reservations", { bike_id: "at-closed" }),
    rider_has_active_reservation: async () => {
      const path = await reserve({ bike_id: "free-3", rider_ref: "rider" });
      const response = await call("POST", "/v1/reservations", { bike_id: "free-2", rider_ref: "rider" });
      await call("DELETE", path);
      return response;
    },
    too_many_reservations: async () => {
      const partner = await createPartner(keyContext(app), app.systemId, "One at a time", { maxReservations: 1 });
      const { key } = await app.issue({ partnerId: partner.id });
      const path = await reserve({ bike_id: "free-3" }, key);
      const response = await call("POST", "/v1/reservations", { bike_id: "free-2" }, key);
      await call("DELETE", path, undefined, key);
      return response;
    },
  },
  [`PATCH /v1/reservations/${sampleId}`]: {
    reservation_not_active: async () => call("PATCH", await reservedAndCancelled(), { hold_minutes: 1 }),
    hold_limit_reached: async () => {
      const path = await reserve({ bike_id: "free-3", hold_minutes: 30 });
      expect(30 + 30 + 1).toBeGreaterThan(MAX_TOTAL_HOLD_MINUTES);
      expect((await call("PATCH", path, { hold_minutes: 30 })).status).toBe(200);
      const response = await call("PATCH", path, { hold_minutes: 1 });
      await call("DELETE", path);
      return response;
    },
  },
  [`POST /operator/v1/partners/${sampleId}/dashboard_links`]: {
    conflict: async () => {
      const frameless = await buildAnother(app);
      try {
        return await fetch(`${frameless.url}/operator/v1/partners/${sampleId}/dashboard_links`, {
          method: "POST",
          headers: { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" },
          body: JSON.stringify({ viewer: "ada" }),
        });
      } finally {
        await frameless.close();
      }
    },
  },
  [`DELETE /v1/reservations/${sampleId}`]: {
    reservation_not_active: async () => {
      const path = await reserve({ bike_id: "free-3", hold_minutes: 1 });
      app.clock.advance(61_000);
      return call("DELETE", path);
    },
  },
};

describe("an endpoint", () => {
  const declaring = endpoints.filter(({ metadata }) => metadata.conflicts !== undefined);
  const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

  const running = new Map<string, string>();

  // Each request waits for seconds before its response, so several are sent together.
  beforeAll(async () => {
    const repeatable = declaring.filter(({ metadata }) => metadata.idempotent === true);
    for (let first = 0; first < repeatable.length; first += TOGETHER) {
      await app.db.transaction(async (tx) => {
        await tx.run("lock table idempotency_keys in access exclusive mode");
        const some = repeatable.slice(first, first + TOGETHER);
        await Promise.all(some.map(async (each) => running.set(nameOf(each), await whileRunning(each))));
      });
    }
  });

  it.each(declaring)("answers 409 with each code that the contract declares: $method $path", async (endpoint) => {
    const produced: string[] = [];
    for (const [code, request] of Object.entries(conflicts[nameOf(endpoint)] ?? {})) {
      const response = await request();
      expect([response.status, await response.json()]).toMatchObject([409, { error: code }]);
      produced.push(code);
    }
    const repeated = running.get(nameOf(endpoint));
    if (repeated !== undefined) produced.push(repeated);
    expect(produced.toSorted()).toEqual([...(endpoint.metadata.conflicts ?? [])].toSorted());
  });

  /** Sends a request while another with the same `Idempotency-Key` is still running. @returns the code of the response */
  async function whileRunning({ method, path, scope, body }: Endpoint): Promise<string> {
    const headers = {
      authorization: `Bearer ${scope === "operator" ? operatorKey : partnerKey}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      "idempotency-key": `${method} ${path}`.replaceAll(" ", "-"),
    };
    const response = await fetch(app.url + path, { method, headers, body: JSON.stringify(body) });
    expect(response.status).toBe(409);
    return ((await response.json()) as { error: string }).error;
  }
});

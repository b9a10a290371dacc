import { scopeNames } from "@bikeshare/contract";
import {
  MDS_MEDIA_TYPE,
  MDS_REPORT_MEDIA_TYPE,
  MDS_SCOPE,
  mdsContract,
  mdsError,
  type MdsEvent,
  mdsEvents,
  mdsToken,
  mdsTrips,
  mdsVehicles,
  mdsVehiclesStatus,
} from "@bikeshare/contract/mds";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { describe as describeThing } from "../../src/city/descriptions/service.ts";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { cancelRides, endRides } from "../../src/city/fleet/finish-rides.ts";
import { correctRides } from "../../src/city/fleet/past-rides.ts";
import { cancelReservation } from "../../src/city/fleet/reservation-commands.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { listActs } from "../../src/partners/audit/queries.ts";
import { issueKey, keysOf, revokeKey } from "../../src/partners/keys/service.ts";
import { keyContext } from "../built-app.ts";
import { endpoints } from "../endpoints.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial, hasOfficialSchemas } from "./official-schemas.ts";
import { expectSoundLogs } from "./vehicle-logs.ts";

let mds: MdsHarness;
let agency: Awaited<ReturnType<MdsHarness["agency"]>>;
const HOUR = 3_600_000;

beforeAll(async () => {
  mds = await startMds();
  const { app } = mds;
  await upsertStations(app, app.systemId, [
    { item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7, capacity: 10 } },
    { item: { id: "B", name: "Market", lat: 59.91, lon: 10.71, capacity: 10 } },
  ]);
  // Nothing is logged before the first agency exists.
  await upsertBikes(app, app.systemId, [{ item: { id: "old", station_id: "A" } }]);
  agency = await mds.agency({ name: "Oslo" });
});
afterAll(() => mds.close());
// Advances the clock before each test, because failed authentications are limited by address.
beforeEach(() => mds.app.clock.advance(61_000));

const read = async (path: string, status = 200) => {
  const response = await mds.get(path, agency.key.key);
  expect([path, response.status, response.headers.get("content-type")]).toEqual([path, status, MDS_MEDIA_TYPE]);
  const body: unknown = await response.json();
  return body;
};
const hourOf = (at: number) => new Date(at).toISOString().slice(0, 13);
const eventsIn = async (hour: string): Promise<MdsEvent[]> => {
  const body = await read(`/mds/events/historical?event_time=${hour}`);
  expectOfficial("get-events-historical-event_time", body);
  return mdsEvents.parse(body).events;
};

describe("a day of vehicles", () => {
  let hour: string;

  beforeAll(async () => {
    const { app } = mds;
    const { systemId, partnerId } = app;
    const wait = (minutes: number) => app.clock.advance(minutes * 60_000);
    app.clock.advance(HOUR - (app.clock() % HOUR));
    hour = hourOf(app.clock());
    await upsertBikes(app, systemId, [
      { item: { id: "new", number: "17", station_id: "A" } },
      { item: { id: "lost", station_id: "B" } },
      { item: { id: "nowhere" } },
    ]);
    wait(1);
    await startRides(app, systemId, [{ item: { id: "r1", bike_id: "new" } }]);
    wait(5);
    await endRides(app, systemId, [{ item: { id: "r1", end_station_id: "B" } }]);
    const { id } = JSON.parse(await createReservation(app, { systemId, partnerId, request: { bike_id: "new" } })) as {
      id: string;
    };
    wait(1);
    await cancelReservation(app, { systemId, partnerId }, id);
    await createReservation(app, { systemId, partnerId, request: { bike_id: "new" } });
    wait(1);
    await startRides(app, systemId, [{ item: { id: "r2", bike_id: "new" } }]);
    wait(1);
    await cancelRides(app, systemId, [{ item: { id: "r2" } }]);
    const report = (bike: string, vehicle_state: "missing" | "removed" | "non_operational" | "available") =>
      reportBikes(app, systemId, [{ item: { id: bike, at: new Date(app.clock()).toISOString(), vehicle_state } }]);
    wait(1);
    await report("lost", "missing");
    await report("new", "non_operational");
    wait(1);
    await report("new", "removed");
    wait(1);
    await report("new", "available");
    await startRides(app, systemId, [{ item: { id: "r3", bike_id: "old" } }]);
  });

  it("is told as events whose steps are MDS's, each in its own hour, when the hour is settled", async () => {
    await read(`/mds/events/historical?event_time=${hour}`, 404);
    mds.app.clock.advance(HOUR);
    const early = mdsError.parse(await read(`/mds/events/historical?event_time=${hour}`, 202));
    expect(early.error).toBe("hour_not_settled");
    mds.app.clock.advance(HOUR);
    const events = await eventsIn(hour);
    const devices = [...new Set(events.map(({ device_id: id }) => id))];
    const told = devices.map((id) =>
      events
        .filter(({ device_id }) => device_id === id)
        .map(({ event_types: [type], vehicle_state: state }) => `${type} ${state}`),
    );
    expect(told).toContainEqual([
      "provider_drop_off available",
      "trip_start on_trip",
      "trip_end available",
      "reservation_start reserved",
      "reservation_cancel available",
      "reservation_start reserved",
      "trip_start on_trip",
      "trip_cancel available",
      "unspecified non_operational",
      "unspecified removed",
      "provider_drop_off available",
    ]);
    expect(told).toContainEqual(["provider_drop_off available", "comms_lost non_contactable", "not_located missing"]);
    expect(told).toContainEqual(["trip_start on_trip"]);
    // Without the vehicle that never had a location.
    expect(devices).toHaveLength(3);
    const trips = events.filter(({ trip_ids: ids }) => ids !== undefined);
    expect(trips.map(({ event_types: [type] }) => type)).toEqual([
      "trip_start",
      "trip_end",
      "trip_start",
      "trip_cancel",
      "trip_start",
    ]);
    expect(trips.map(({ location: { lat } }) => lat)).toEqual([59.9, 59.91, 59.91, 59.91, 59.9]);
    await expectSoundLogs(mds.app.db, mds.app.systemId);
  });

  it("has a tag for each hour, which changes with an event that is reported late", async () => {
    const path = `/mds/events/historical?event_time=${hour}`;
    const first = await mds.get(path, agency.key.key);
    const etag = first.headers.get("etag") ?? "";
    await first.arrayBuffer();
    expect((await mds.get(path, agency.key.key, { "if-none-match": etag })).status).toBe(304);
    const at = new Date(Date.parse(`${hour}:59:00Z`)).toISOString();
    await reportBikes(mds.app, mds.app.systemId, [
      { item: { id: "lost", at, vehicle_state: "available", station_id: "A" } },
    ]);
    const late = await mds.get(path, agency.key.key, { "if-none-match": etag });
    expect(late.status).toBe(200);
    const { events } = mdsEvents.parse(await late.json());
    expect(events.at(-1)).toMatchObject({ event_types: ["located"], timestamp: Date.parse(at) });
  });

  it("lists the trips that ended in the hour, with where they began and ended, and a correction of one", async () => {
    const trips = async () => {
      const body = await read(`/mds/trips?end_time=${hour}`);
      expectOfficial("get-trips-end_time", body);
      return mdsTrips.parse(body).trips;
    };
    const before = await trips();
    // One ride was cancelled and one is still under way. Neither is a trip.
    expect(before).toHaveLength(1);
    expect(before[0]).toMatchObject({
      duration: 300,
      start_location: { lat: 59.9, lng: 10.7 },
      end_location: { lat: 59.91, lng: 10.71 },
      distance: 1244,
      parking_category: "rack",
    });
    const [end] = (await eventsIn(hour)).filter(({ event_types: [type] }) => type === "trip_end");
    expect(end?.trip_ids).toEqual([before[0]?.trip_id]);
    await correctRides(mds.app, mds.app.systemId, [{ item: { id: "r1", end_station_id: "A", distance_meters: 700 } }]);
    const [after] = await trips();
    expect(after).toMatchObject({ distance: 700, end_location: { lat: 59.9 }, trip_id: before[0]?.trip_id });
    expect(after?.publication_time).toBeGreaterThan(before[0]?.publication_time ?? 0);
  });

  it("lists vehicles, and each by its id", async () => {
    const body = await read("/mds/vehicles");
    expectOfficial("get-vehicles", body);
    const { vehicles, links } = mdsVehicles.parse(body);
    expect(links).toEqual({ next: null });
    expect(vehicles.map(({ vehicle_id: id }) => id).sort()).toEqual(["17", "lost", "nowhere", "old"]);
    for (const vehicle of vehicles) {
      const one = await read(`/mds/vehicles/${vehicle.device_id}`);
      expectOfficial("get-vehicles-device_id", one);
      expect(mdsVehicles.parse(one).vehicles).toEqual([vehicle]);
    }
    for (const unknown of ["x", agency.agencyId]) await read(`/mds/vehicles/${unknown}`, 404);
  });

  it("lists the states of vehicles with their last event, and where a vehicle on a trip started alone", async () => {
    const body = await read("/mds/vehicles/status");
    expectOfficial("get-vehicles-status", body);
    const { vehicles_status: statuses } = mdsVehiclesStatus.parse(body);
    expect(statuses.map(({ last_event: { vehicle_state: state } }) => state).sort()).toEqual([
      "available",
      "available",
      "on_trip",
    ]);
    const riding = statuses.find(({ last_event: { vehicle_state: state } }) => state === "on_trip");
    expect(riding?.last_telemetry).toMatchObject({
      location: { lat: 59.9, lng: 10.7 },
      trip_ids: riding?.last_event.trip_ids,
    });
    const one = await read(`/mds/vehicles/status/${riding?.device_id}`);
    expectOfficial("get-vehicles-status-device_id", one);
  });

  it.skipIf(!hasOfficialSchemas)("is held against MDS's own schemas (skipped: they are not here)", async () => {
    const body = mdsVehiclesStatus.parse(await read("/mds/vehicles/status"));
    const wrong = [
      { ...body, last_updated: { at: body.last_updated } },
      { ...body, vehicles_status: body.vehicles_status.map(({ last_event: _event, ...status }) => status) },
    ];
    for (const each of wrong) expect(() => expectOfficial("get-vehicles-status", each)).toThrow();
  });

  it("lists a vehicle that is removed or missing for 90 minutes", async () => {
    const { app } = mds;
    const at = new Date(app.clock()).toISOString();
    await reportBikes(app, app.systemId, [{ item: { id: "lost", at, vehicle_state: "missing" } }]);
    const states = async () =>
      mdsVehiclesStatus
        .parse(await read("/mds/vehicles/status"))
        .vehicles_status.map(({ last_event: { vehicle_state: state } }) => state);
    app.clock.advance(89 * 60_000);
    expect(await states()).toContain("missing");
    app.clock.advance(2 * 60_000);
    expect(await states()).not.toContain("missing");
  });

  it("writes into the audit log each hour that an agency reads", async () => {
    const acts = await listActs(mds.app.db, mds.app.systemId, { actor: "key", limit: 10 });
    expect(acts.map(({ detail }) => detail)).toContainEqual({
      endpoint: "/mds/events/historical",
      hour: `${hour}:00:00.000Z`,
    });
  });
});

it("pages vehicles by links that lead to each once", async () => {
  const { app } = mds;
  const more = Array.from({ length: 600 }, (_, n) => ({ item: { id: `many-${n}`, station_id: "A" } }));
  await upsertBikes(app, app.systemId, more);
  const seen: string[] = [];
  let path: string | undefined = "/mds/vehicles/status";
  while (path !== undefined) {
    const { vehicles_status: statuses, links } = mdsVehiclesStatus.parse(await read(path));
    seen.push(...statuses.map(({ device_id: id }) => id));
    path = links?.next?.replace("http://127.0.0.1", "");
  }
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.length).toBeGreaterThan(600);
  expect(mdsError.parse(await read("/mds/vehicles?cursor=x", 400)).error).toBe("invalid_cursor");
});

describe("who may read", () => {
  const hour = "2026-01-01T00";
  const paths = [
    ...[
      "/mds/vehicles",
      "/mds/vehicles/x",
      "/mds/vehicles/status",
      "/mds/vehicles/status/x",
      "/mds/stops",
      "/mds/stops/x",
    ],
    `/mds/events/historical?event_time=${hour}`,
    "/mds/events/recent?start_time=0&end_time=0",
    `/mds/trips?end_time=${hour}`,
    `/mds/telemetry?telemetry_time=${hour}`,
    "/mds/reports/2026-01.csv",
  ];
  const typeOf = (path: string) => (path.includes("reports") ? MDS_REPORT_MEDIA_TYPE : MDS_MEDIA_TYPE);

  it("is asked for of every endpoint", () => {
    const all = Object.values(mdsContract).flatMap(({ method, path }) => (method === "GET" ? path : []));
    const shapes = paths.map((path) => path.replace(/\?.*/, "").replace(/\/(x|2026-01\.csv)$/, "/:"));
    expect(shapes.toSorted()).toEqual(all.map((path) => path.replace(/:\w+$/, ":")).toSorted());
  });

  it("answers 401 without credentials, 403 to partners' and the operator's keys, 406 without the version", async () => {
    const partner = await mds.app.issue({ scopes: [...scopeNames] });
    const operator = await mds.app.issue({ partnerId: null, scopes: [] });
    for (const path of paths) {
      const anonymous = await fetch(mds.url + path, { headers: { accept: typeOf(path) } });
      expect(anonymous.status).toBe(401);
      mdsError.parse(await anonymous.json());
      for (const { key } of [partner, operator]) {
        const refused = await mds.get(path, key, { accept: typeOf(path) });
        expect([path, refused.status]).toEqual([path, 403]);
        expectOfficial("error", await refused.json());
      }
      for (const accept of [
        "*/*",
        "application/json",
        "application/vnd.mds+json",
        "application/vnd.mds+json;version=1.2",
      ]) {
        const refused = await mds.get(path, agency.key.key, { accept });
        expect([accept, refused.status]).toEqual([accept, 406]);
        expect(mdsError.parse(await refused.json()).error).toBe("not_acceptable");
      }
    }
  });

  it("lets an agency's key reach nothing else", async () => {
    for (const { method, path, query, scope } of endpoints) {
      if (scope === "none") continue;
      const response = await fetch(mds.url + path + query, {
        method,
        headers: { authorization: `Bearer ${agency.key.key}` },
      });
      expect([method, path, response.status]).toEqual([method, path, 403]);
      await response.arrayBuffer();
    }
  });

  it("gives a key with its scope to agencies alone, and to them no other", async () => {
    const issue = (partnerId: string, scopes: readonly ("stations:read" | typeof MDS_SCOPE)[]) =>
      issueKey(keyContext(mds.app), { systemId: mds.app.systemId, partnerId, scopes });
    await expect(issue(mds.app.partnerId, [MDS_SCOPE])).rejects.toThrow(/only agencies/i);
    await expect(issue(agency.partnerId, ["stations:read"])).rejects.toThrow(/is an agency/);
  });

  it("is told one id of the operator, whichever agency it is", async () => {
    const other = { name: "Bergen", providerId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8" };
    await expect(mds.agency(other)).rejects.toThrow(`know you by the id ${agency.providerId}`);
    const same = await mds.agency({ ...other, providerId: agency.providerId });
    expect(same.providerId).toBe(agency.providerId);
  });

  it("serves nothing where MDS is off", async () => {
    const response = await fetch(`${mds.app.url}/mds/vehicles`, { headers: { accept: MDS_MEDIA_TYPE } });
    expect(response.status).toBe(404);
    await response.arrayBuffer();
  });
});

describe("tokens", () => {
  const ask = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${mds.url}/mds/token`, { method: "POST", headers, body: new URLSearchParams(form) });
  const grant = { grant_type: "client_credentials" };

  it("stand for the agency's key for 15 minutes, by form or by HTTP Basic, and end with the key", async () => {
    const { partnerId, key, agencyId, providerId } = await mds.agency();
    const basic = `Basic ${Buffer.from(`${partnerId}:${key.key}`).toString("base64")}`;
    const answers = [
      await ask({ ...grant, client_id: partnerId, client_secret: key.key }),
      await ask(grant, { authorization: basic }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
      const { access_token: token } = mdsToken.parse(await answer.json());
      expect(decodeJwt(token)).toMatchObject({ provider_id: providerId, agency_id: agencyId });
      expect((await mds.get("/mds/vehicles", token)).status).toBe(200);
      // The token is valid only for paths below /mds.
      expect((await fetch(`${mds.url}/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
    }
    const { access_token: token } = mdsToken.parse(await (await ask(grant, { authorization: basic })).json());
    mds.app.clock.advance(15 * 60_000 + 1_000);
    expect((await mds.get("/mds/vehicles", token)).status).toBe(401);
    const { access_token: next } = mdsToken.parse(await (await ask(grant, { authorization: basic })).json());
    await revokeKey(keyContext(mds.app), mds.app.systemId, key.id);
    expect((await mds.get("/mds/vehicles", next)).status).toBe(401);
    expect((await ask(grant, { authorization: basic })).status).toBe(401);
  });

  it.each([
    ["no grant type", {}, 400, "invalid_request"],
    ["another grant type", { grant_type: "password" }, 400, "unsupported_grant_type"],
    ["no credentials", grant, 401, "invalid_client"],
    ["wrong credentials", { ...grant, client_id: "x", client_secret: "y" }, 401, "invalid_client"],
  ])("are refused with %s", async (_, form, status, error) => {
    const answer = await ask(form);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error });
  });

  it.each(["by HTTP Basic", "in the form"])(
    "are refused over plain HTTP, where a key that is sent %s counts as compromised",
    async (way) => {
      const { partnerId, key } = await mds.agency();
      const plain = { "x-forwarded-proto": "http", "x-forwarded-for": "203.0.113.9" };
      const basic = `Basic ${Buffer.from(`${partnerId}:${key.key}`).toString("base64")}`;
      const answer =
        way === "in the form"
          ? await ask({ ...grant, client_id: partnerId, client_secret: key.key }, plain)
          : await ask(grant, { ...plain, authorization: basic });
      expect([answer.status, mdsError.parse(await answer.json()).error]).toEqual([403, "https_required"]);
      const stored = (await keysOf(mds.app, mds.app.systemId)).find(({ id }) => id === key.id);
      expect(stored?.compromised_at).toEqual(new Date(mds.app.clock()));
      const without = await ask(grant, plain);
      expect(mdsError.parse(await without.json()).error).toBe("https_required");
    },
  );

  it("are refused to another agency's id, and to keys that are no agency's", async () => {
    const other = await mds.agency();
    const partner = await mds.app.issue();
    for (const [client_id, client_secret] of [
      [other.partnerId, agency.key.key],
      [mds.app.partnerId, partner.key],
    ] as const)
      expect((await ask({ ...grant, client_id, client_secret })).status).toBe(401);
    const forged = `${"eyJhbGciOiJub25lIn0"}.${Buffer.from(JSON.stringify({ sub: agency.key.id, system: mds.app.systemId, exp: 9e9 })).toString("base64url")}.x`;
    expect((await mds.get("/mds/vehicles", forged)).status).toBe(401);
  });
});

it.each(["", "2026-01-01", "2026-13-01T00", "2026-02-30T00", "2026-01-01T24", "2026-01-01T00:00", "x"])(
  "refuses %j as an hour",
  async (hour) => {
    const body = mdsError.parse(await read(`/mds/events/historical?event_time=${encodeURIComponent(hour)}`, 400));
    expect(body.error_description).toContain("event_time must be an hour in UTC");
  },
);

it("has no hours before the first agency, and none that are not over", async () => {
  const { clock } = mds.app;
  for (const at of [Date.parse("2020-01-01T00:00:00Z"), clock(), clock() + 400 * 24 * HOUR])
    await read(`/mds/events/historical?event_time=${hourOf(at)}`, 404);
  expect(mdsError.parse(await read("/mds/events/historical", 400)).error_description).toContain("must be given");
});

it("has the trips of before the first agency for one that the operator gives them to, without events", async () => {
  const { app } = mds;
  const begun = app.clock() - (app.clock() % HOUR) - 30 * 24 * HOUR;
  const at = (minutes: number) => new Date(begun + minutes * 60_000).toISOString();
  await upsertBikes(app, app.systemId, [{ item: { id: "early", station_id: "A" } }]);
  await startRides(app, app.systemId, [
    { item: { id: "early", bike_id: "early", started_at: at(0), start_station_id: "A" } },
  ]);
  await endRides(app, app.systemId, [{ item: { id: "early", ended_at: at(10), end_station_id: "B" } }]);
  const other = await mds.agency({ tripsSince: new Date(begun) });
  const hour = hourOf(begun);
  const given = await mds.get(`/mds/trips?end_time=${hour}`, other.key.key);
  expect(mdsTrips.parse(await given.json()).trips).toHaveLength(1);
  // In the first hour, too, an agency reads no trip that ended before.
  const later = await mds.agency({ tripsSince: new Date(begun + 10 * 60_000 + 1) });
  const first = await mds.get(`/mds/trips?end_time=${hour}`, later.key.key);
  expect([first.status, mdsTrips.parse(await first.json()).trips]).toEqual([200, []]);
  expect((await mds.get(`/mds/trips?end_time=${hourOf(begun - HOUR)}`, other.key.key)).status).toBe(404);
  expect((await mds.get(`/mds/events/historical?event_time=${hour}`, other.key.key)).status).toBe(404);
  await read(`/mds/trips?end_time=${hour}`, 404);
});

it("says what moves a vehicle, and its shape, as the operator describes its type", async () => {
  const { app } = mds;
  await describeThing({ ...app, actor: "test" }, app.systemId, "vehicle_type", "cargo", {
    ...{ form_factor: "cargo_bicycle", propulsion_type: "electric_assist", max_range_meters: 50_000 },
  });
  await upsertBikes(app, app.systemId, [{ item: { id: "cargo", station_id: "B", vehicle_type_id: "cargo" } }]);
  const { vehicles } = mdsVehicles.parse(await read("/mds/vehicles"));
  expect(vehicles).toContainEqual(
    expect.objectContaining({ vehicle_type: "cargo_bicycle", propulsion_types: ["electric_assist"] }),
  );
  const { stops } = (await read("/mds/stops")) as { readonly stops: readonly Record<string, unknown>[] };
  expect(stops.map((stop) => stop["num_vehicles_available"])).toContainEqual(
    expect.objectContaining({ cargo_bicycle: 1 }),
  );
});

it("names no endpoint that it does not serve", () => {
  expect(Object.keys(mdsContract)).toEqual([
    "token",
    "vehicles",
    "vehicle",
    "vehiclesStatus",
    "vehicleStatus",
    "trips",
    "historicalEvents",
    "recentEvents",
    "telemetry",
    "stops",
    "stop",
    "report",
  ]);
});

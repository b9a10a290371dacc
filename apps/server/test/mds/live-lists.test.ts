import {
  type MdsEvent,
  mdsError,
  mdsEvents,
  mdsRecentEvents,
  mdsStops,
  mdsTelemetries,
  mdsVehiclesStatus,
} from "@bikeshare/contract/mds";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { endRides } from "../../src/city/fleet/finish-rides.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { removeStations, takeStationsOffline, upsertStations } from "../../src/city/fleet/station-commands.ts";
import { listActs } from "../../src/partners/audit/queries.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";

let mds: MdsHarness;
let key: string;
const HOUR = 3_600_000;

beforeAll(async () => {
  mds = await startMds();
  key = (await mds.agency()).key.key;
});
afterAll(() => mds.close());
beforeEach(() => mds.app.clock.advance(61_000));

const read = async (path: string, status = 200): Promise<unknown> => {
  const response = await mds.get(path, key);
  const body: unknown = await response.json();
  expect([path, response.status]).toEqual([path, status]);
  return body;
};

describe("stops", () => {
  beforeAll(async () => {
    const { app } = mds;
    const { systemId, partnerId } = app;
    await upsertStations(app, systemId, [
      {
        item: {
          id: "A",
          name: "Harbour",
          lat: 59.9,
          lon: 10.7,
          capacity: 10,
          address: "Pier 1",
          num_docks_disabled: 1,
        },
      },
      { item: { id: "B", name: "Market", lat: 59.91, lon: 10.71 } },
      { item: { id: "C", name: "Closed", lat: 59.92, lon: 10.72, capacity: 5 } },
      { item: { id: "gone", name: "Gone", lat: 59.93, lon: 10.73, capacity: 5 } },
    ]);
    await upsertBikes(
      app,
      systemId,
      ["a1", "a2", "a3", "a4"].map((id) => ({ item: { id, station_id: "A" } })),
    );
    await takeStationsOffline(app, systemId, [{ item: { id: "C" } }]);
    await removeStations(app, systemId, [{ item: { id: "gone" } }]);
    await createReservation(app, { systemId, partnerId, request: { bike_id: "a1" } });
    const at = new Date(app.clock()).toISOString();
    await reportBikes(app, systemId, [{ item: { id: "a2", at, vehicle_state: "non_operational" } }]);
  });

  it("are the stations that are there, with counts by type of vehicle, free docks and the vehicles", async () => {
    const body = await read("/mds/stops");
    expectOfficial("get-stops", body);
    const { stops } = mdsStops.parse(body);
    expect(stops.map(({ name }) => name)).toEqual(["Harbour", "Market", "Closed"]);
    expect(stops[0]).toMatchObject({
      location: { lat: 59.9, lng: 10.7 },
      status: { is_installed: true, is_renting: true, is_returning: true },
      capacity: { bicycle: 10 },
      num_vehicles_available: { bicycle: 2 },
      num_vehicles_disabled: { bicycle: 2 },
      num_places_available: { bicycle: 5 },
      num_places_disabled: { bicycle: 1 },
      address: "Pier 1",
    });
    expect(stops[0]?.devices).toHaveLength(4);
    expect(stops[1]).toMatchObject({ capacity: {}, num_vehicles_available: {}, devices: [] });
    expect(stops[2]?.status).toEqual({ is_installed: true, is_renting: false, is_returning: false });
  });

  it("are each read by their id, which events name", async () => {
    const { stops } = mdsStops.parse(await read("/mds/stops"));
    for (const stop of stops) {
      const one = await read(`/mds/stops/${stop.stop_id}`);
      expectOfficial("get-stops-stop_id", one);
      expect(mdsStops.parse(one).stops).toEqual([stop]);
    }
    for (const unknown of ["x", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"]) await read(`/mds/stops/${unknown}`, 404);
    const { events } = await recent(mds.app.clock() - HOUR, mds.app.clock());
    expect(events.map(({ stop_id: id }) => id)).toContain(stops[0]?.stop_id);
    const { vehicles_status: statuses } = mdsVehiclesStatus.parse(await read("/mds/vehicles/status"));
    expect(new Set(statuses.map(({ stop_id: id }) => id))).toEqual(new Set([stops[0]?.stop_id]));
  });
});

const recent = async (from: number, to: number) => {
  const events: MdsEvent[] = [];
  const pages: number[] = [];
  let path: string | undefined = `/mds/events/recent?start_time=${from}&end_time=${to}`;
  while (path !== undefined) {
    const body: unknown = await read(path);
    expectOfficial("get-events-recent-start_time-end_time", body);
    const page = mdsRecentEvents.parse(body);
    events.push(...page.events);
    pages.push(page.events.length);
    path = page.links.next?.replace("http://127.0.0.1", "");
  }
  return { events, pages };
};

describe("recent events", () => {
  it("are those between two times, in their order, by pages that have each once", async () => {
    const { app } = mds;
    const from = app.clock();
    for (const part of [0, 1, 2]) {
      const bikes = Array.from({ length: 400 }, (_, n) => ({ item: { id: `many-${part}-${n}`, station_id: "A" } }));
      await upsertBikes(app, app.systemId, bikes);
      app.clock.advance(1_000);
    }
    const all = await recent(from, app.clock());
    expect(all.events).toHaveLength(1_200);
    expect(all.pages).toEqual([500, 500, 200]);
    expect(new Set(all.events.map(({ event_id: id }) => id)).size).toBe(1_200);
    const times = all.events.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect((await recent(from, from)).events).toEqual([]);
    // The range includes its start and excludes its end.
    expect((await recent(from, from + 1_000)).events).toHaveLength(400);
    expect((await recent(from + 1_000, from + 1_001)).events).toHaveLength(400);
  });

  it("are refused where a time is missing, reversed or more than two weeks ago, and are none in the future", async () => {
    const now = mds.app.clock();
    const refused = async (query: string) =>
      mdsError.parse(await read(`/mds/events/recent${query}`, 400)).error_description;
    expect(await refused("")).toContain("start_time must be given");
    expect(await refused(`?start_time=${now}`)).toContain("end_time must be given");
    expect(await refused(`?start_time=${now}&end_time=${now - 1}`)).toMatch(/after|before/);
    expect(await refused(`?start_time=x&end_time=${now}`)).toContain("start_time must be an integer");
    expect(await refused(`?start_time=${now - 15 * 24 * HOUR}&end_time=${now}`)).toContain("two weeks");
    expect(await refused(`?start_time=${now}&end_time=${now}&cursor=x`)).toMatch(/cursor/);
    expect((await recent(now + 400 * 24 * HOUR, now + 401 * 24 * HOUR)).events).toEqual([]);
    expect((await recent(now + HOUR, 999_999_999_999_999)).events).toEqual([]);
  });

  it("are in the audit log once for each reading, whatever its pages are", async () => {
    const [from, to] = [mds.app.clock() - 2 * HOUR, mds.app.clock()];
    expect((await recent(from, to)).pages.length).toBeGreaterThan(1);
    const acts = await listActs(mds.app.db, mds.app.systemId, { actor: "key", limit: 100 });
    const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const details = acts.map(({ detail }) => detail as Readonly<Record<string, unknown>>);
    const its = details.filter((detail) => detail["from"] === span.from && detail["to"] === span.to);
    expect(its).toEqual([{ endpoint: "/mds/events/recent", ...span }]);
  });
});

describe("telemetry", () => {
  it("is a point for each event, both ends of a trip with its id, and none of vehicles that are silent", async () => {
    const { app } = mds;
    const { systemId } = app;
    app.clock.advance(HOUR - (app.clock() % HOUR));
    const hour = new Date(app.clock()).toISOString().slice(0, 13);
    await upsertBikes(app, systemId, [
      { item: { id: "t1", station_id: "A" } },
      { item: { id: "t2", station_id: "B" } },
    ]);
    app.clock.advance(60_000);
    await startRides(app, systemId, [{ item: { id: "tr", bike_id: "t1" } }]);
    app.clock.advance(60_000);
    await endRides(app, systemId, [{ item: { id: "tr", end_station_id: "B" } }]);
    const at = new Date(app.clock()).toISOString();
    await reportBikes(app, systemId, [{ item: { id: "t2", at, vehicle_state: "missing" } }]);
    // MDS has no status for telemetry of an hour that has not ended, so the service answers with what there is.
    const body = await read(`/mds/telemetry?telemetry_time=${hour}`);
    expectOfficial("get-telemetry-telemetry_time", body);
    const { telemetry } = mdsTelemetries.parse(body);
    app.clock.advance(2 * HOUR);
    const { events } = mdsEvents.parse(await read(`/mds/events/historical?event_time=${hour}`));
    const located = events.filter(({ vehicle_state: state }) => state !== "missing" && state !== "non_contactable");
    expect(telemetry.map(({ timestamp, location, stop_id: stop }) => [timestamp, location, stop])).toEqual(
      located.map(({ timestamp, location, stop_id: stop }) => [timestamp, location, stop]),
    );
    const trip = telemetry.filter(({ trip_ids: ids }) => ids !== null);
    expect(trip.map(({ location: { lat } }) => lat)).toEqual([59.9, 59.91]);
    expect(new Set(telemetry.map(({ telemetry_id: id }) => id)).size).toBe(telemetry.length);
    for (const empty of ["2020-01-01T00", "2999-01-01T00"])
      expect(mdsTelemetries.parse(await read(`/mds/telemetry?telemetry_time=${empty}`)).telemetry).toEqual([]);
    await read("/mds/telemetry", 400);
  });
});

import {
  MDS_REPORT_MEDIA_TYPE,
  mdsEvents,
  mdsStops,
  mdsTelemetries,
  mdsTrips,
  mdsVehicles,
  mdsVehiclesStatus,
} from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { endRides } from "../../src/city/fleet/finish-rides.ts";
import { upsertPastRides } from "../../src/city/fleet/past-rides.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { setAgency } from "../../src/feeds/mds/agencies.ts";
import { viewAgency } from "../../src/feeds/mds/agency-view.ts";
import { keyContext } from "../built-app.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** An area that contains the stations of the town, but not those of the village. */
const town = {
  type: "MultiPolygon" as const,
  coordinates: [
    [
      [
        [10.6, 59.8],
        [10.8, 59.8],
        [10.8, 59.95],
        [10.6, 59.95],
        [10.6, 59.8],
      ],
    ],
  ],
} as never;

let mds: MdsHarness;
let city: Awaited<ReturnType<MdsHarness["agency"]>>;
let whole: Awaited<ReturnType<MdsHarness["agency"]>>;
let hour: number;
beforeAll(async () => {
  mds = await startMds();
  const { app } = mds;
  app.clock.advance(HOUR - (app.clock() % HOUR) + MINUTE);
  hour = app.clock() - MINUTE;
  city = await mds.agency({ boundary: town });
  whole = await mds.agency();
  await upsertStations(app, app.systemId, [
    { item: { id: "town", name: "Town", lat: 59.9, lon: 10.7, capacity: 10 } },
    { item: { id: "village", name: "Village", lat: 60.1, lon: 10.7, capacity: 10 } },
  ]);
  await upsertBikes(app, app.systemId, [
    ...["leaves", "stays", "moved"].map((id) => ({ item: { id, station_id: "town" } })),
    ...["comes", "village"].map((id) => ({ item: { id, station_id: "village" } })),
  ]);
  await rideOf("leaves", "village");
  await rideOf("comes", "town");
  await rideOf("stays", "town");
  await rideOf("village", "village");
  // The operator moves one bike to the village and back.
  await report("moved", "village", "non_operational");
  await report("moved", "town", "available");
});
afterAll(() => mds.close());

async function rideOf(bike: string, to: string): Promise<void> {
  const { app } = mds;
  await startRides(app, app.systemId, [{ item: { id: `ride of ${bike}`, bike_id: bike } }]);
  app.clock.advance(MINUTE);
  await endRides(app, app.systemId, [{ item: { id: `ride of ${bike}`, end_station_id: to } }]);
}

async function report(bike: string, station: string, state: "available" | "non_operational"): Promise<void> {
  const { app } = mds;
  app.clock.advance(MINUTE);
  const item = { id: bike, at: new Date(app.clock()).toISOString(), station_id: station, vehicle_state: state };
  expect(await reportBikes(app, app.systemId, [{ item }])).toMatchObject({ failed: 0 });
}

async function read<Body>(
  path: string,
  schema: string,
  parse: (body: unknown) => Body,
  key = city.key.key,
): Promise<Body> {
  const response = await mds.get(path, key);
  expect([path, response.status]).toEqual([path, 200]);
  const body: unknown = await response.json();
  expectOfficial(schema, body);
  return parse(body);
}

async function numbers(key = city.key.key): Promise<ReadonlyMap<string, string>> {
  const { vehicles } = await read("/mds/vehicles", "get-vehicles", (body) => mdsVehicles.parse(body), key);
  return new Map(vehicles.map(({ device_id: device, vehicle_id: number }) => [device, number]));
}

const hourText = () => new Date(hour).toISOString().slice(0, 13);

it("a vehicle that left the boundary is elsewhere for 90 minutes, and those that never came are not told", async () => {
  const names = await numbers(whole.key.key);
  const states = async (): Promise<Record<string, string>> => {
    const schema = "get-vehicles-status";
    const { vehicles_status } = await read("/mds/vehicles/status", schema, (body) => mdsVehiclesStatus.parse(body));
    return Object.fromEntries(
      vehicles_status.map(({ device_id, last_event }) => [names.get(device_id) ?? "", last_event.vehicle_state]),
    );
  };
  expect(await states()).toEqual({ comes: "available", leaves: "elsewhere", moved: "available", stays: "available" });
  expect([...(await numbers()).values()].toSorted()).toEqual(["comes", "leaves", "moved", "stays"]);
  mds.app.clock.advance(100 * MINUTE);
  expect(await states()).toEqual({ comes: "available", moved: "available", stays: "available" });
  const [villager = ""] = [...names].find(([, name]) => name === "village") ?? [];
  for (const path of [`/mds/vehicles/${villager}`, `/mds/vehicles/status/${villager}`]) {
    expect((await mds.get(path, city.key.key)).status).toBe(404);
    expect((await mds.get(path, whole.key.key)).status).toBe(200);
  }
});

it("an hour tells which vehicles entered and left, by trip or by the operator, and nothing from outside", async () => {
  mds.app.clock.advance(3 * HOUR);
  const names = await numbers(whole.key.key);
  const path = `/mds/events/historical?event_time=${hourText()}`;
  const { events } = await read(path, "get-events-historical-event_time", (body) => mdsEvents.parse(body));
  const told = Map.groupBy(events, ({ device_id: device }) => names.get(device));
  const typesOf = (name: string) =>
    told.get(name)?.map(({ event_types: [type], vehicle_state }) => `${type} ${vehicle_state}`);
  expect(typesOf("leaves")?.slice(-2)).toEqual(["trip_start on_trip", "trip_leave_jurisdiction elsewhere"]);
  expect(typesOf("comes")).toEqual(["trip_enter_jurisdiction on_trip", "trip_end available"]);
  expect(typesOf("stays")?.slice(-2)).toEqual(["trip_start on_trip", "trip_end available"]);
  expect(typesOf("village")).toBeUndefined();
  expect(typesOf("moved")).toEqual([
    ...["provider_drop_off available", "comms_lost non_contactable", "unspecified elsewhere"],
    ...["rebalance_pick_up removed", "provider_drop_off available"],
  ]);
  // The city must not see locations outside its area.
  expect(told.get("moved")?.every(({ location }) => location.lat < 60)).toBe(true);
  expect(
    events.every(({ event_types: [type = ""], trip_ids }) => type.startsWith("trip_") === (trip_ids !== undefined)),
  ).toBe(true);
  expect(new Set(events.map(({ event_id: id }) => id)).size).toBe(events.length);
});

it("trips are those that began or ended within the boundary, with telemetry at both ends where they began there", async () => {
  const names = await numbers(whole.key.key);
  const path = `/mds/trips?end_time=${hourText()}`;
  const { trips } = await read(path, "get-trips-end_time", (body) => mdsTrips.parse(body));
  expect(trips.map(({ device_id: device }) => names.get(device))).toEqual(["leaves", "comes", "stays"]);
  const points = `/mds/telemetry?telemetry_time=${hourText()}`;
  const { telemetry } = await read(points, "get-telemetry-telemetry_time", (body) => mdsTelemetries.parse(body));
  const outside = telemetry.filter(({ location }) => location.lat > 60);
  expect(outside.map(({ device_id: device, trip_ids: ids }) => [names.get(device), ids])).toEqual([
    ["leaves", [trips[0]?.trip_id]],
  ]);
});

it("stops are those within the boundary", async () => {
  const list = (key: string) => read("/mds/stops", "get-stops", (body) => mdsStops.parse(body), key);
  const { stops } = await list(city.key.key);
  expect(stops.map(({ name }) => name)).toEqual(["Town"]);
  const village = (await list(whole.key.key)).stops.find(({ name }) => name === "Village")?.stop_id ?? "";
  expect((await mds.get(`/mds/stops/${village}`, city.key.key)).status).toBe(404);
});

it("a new boundary changes the answers at once, with another tag, and the counts of vehicles on its page", async () => {
  const { app } = mds;
  const agency = await mds.agency({ boundary: town });
  const path = `/mds/trips?end_time=${hourText()}`;
  const first = await mds.get(path, agency.key.key);
  const headers = { "if-none-match": first.headers.get("etag") ?? "" };
  await first.arrayBuffer();
  expect((await mds.get(path, agency.key.key, headers)).status).toBe(304);
  const counted = async () => {
    const view = await viewAgency({ ...keyContext(app), baseUrl: () => "" }, app.systemId, agency.partnerId);
    return view?.vehicles.states.reduce((sum, { vehicles }) => sum + vehicles, 0);
  };
  expect(await counted()).toBe(3);
  await setAgency(keyContext(app), app.systemId, agency.partnerId, { boundary: null });
  const second = await mds.get(path, agency.key.key, headers);
  expect([second.status, ((await second.json()) as { readonly trips: unknown[] }).trips]).toMatchObject([
    200,
    { length: 4 },
  ]);
  expect(await counted()).toBe(5);
});

it("a month's report counts the trips that began or ended within the boundary", async () => {
  const { app } = mds;
  const [year = 0, number = 0] = new Date(app.clock()).toISOString().split("-").map(Number);
  const month = new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7);
  app.clock.advance(Date.parse(`${month}-01T00:00:00Z`) + 40 * 24 * HOUR - app.clock());
  const ends = [
    ["town", "town"],
    ["town", "village"],
    ["village", "town"],
    ["village", "village"],
  ] as const;
  const rides = Array.from({ length: 40 }, (_, index) => {
    const [start_station_id, end_station_id] = ends[index % 4] ?? ends[0];
    const at = new Date(Date.parse(`${month}-05T08:00:00Z`) + index * MINUTE).toISOString();
    return {
      item: { id: `past ${index}`, bike_id: "stays", started_at: at, ended_at: at, start_station_id, end_station_id },
    };
  });
  expect(await upsertPastRides(app, app.systemId, rides)).toMatchObject({ failed: 0 });
  const count = async (key: string) => {
    const response = await mds.get(`/mds/reports/${month}.csv`, key, { accept: MDS_REPORT_MEDIA_TYPE });
    return /all_riders,null,bicycle,(-?\d+)/.exec(await response.text())?.[1];
  };
  // The second request uses the counts that the first has cached.
  for (const time of [1, 2])
    expect([time, await count(city.key.key), await count(whole.key.key)]).toEqual([time, "30", "40"]);
});

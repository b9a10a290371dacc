import {
  MDS_REPORT_MEDIA_TYPE,
  mdsEvents,
  mdsReasons,
  mdsRecentEvents,
  mdsSpecialGroups,
  mdsStops,
  mdsTelemetries,
  mdsTrips,
  mdsVehicles,
  mdsVehiclesStatus,
} from "@bikeshare/contract/mds";
import { ServiceError } from "@bikeshare/rules";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { cancelRides, endRides } from "../../src/city/fleet/finish-rides.ts";
import { correctRides } from "../../src/city/fleet/past-rides.ts";
import { cancelReservation } from "../../src/city/fleet/reservation-commands.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { expireOverdueReservations } from "../reservations/expire-overdue.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";
import { expectMdsLogs } from "./specification.ts";
import { expectSoundLogs, vehicleLogs } from "./vehicle-logs.ts";

/** The number of random operations: 4,000 if TEST_RUNS_FACTOR is 10. */
const OPERATIONS = randomRuns(400);
const HOUR = 3_600_000;

const countCompleted = statement(
  "test.completedRides",
  `select count(*)::int as n, sum(actual_cost)::int as paid from rides where system_id = $1 and status = 'completed'`,
);

let mds: MdsHarness;
let key: string;
/** The key of an agency whose boundary contains one of the stations and most other positions. */
let bounded: string;
const EAST = 10.705;
const west = {
  type: "MultiPolygon",
  coordinates: [[[[9, 58], [EAST, 58], [EAST, 61], [9, 61], [9, 58]]]], // prettier-ignore
} as const;

beforeAll(async () => {
  mds = await startMds();
  key = (await mds.agency()).key.key;
  bounded = (await mds.agency({ boundary: west })).key.key;
  await upsertStations(mds.app, mds.app.systemId, [
    { item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7, capacity: 10 } },
    { item: { id: "B", name: "Market", lat: 59.91, lon: 10.71, is_virtual_station: true } },
  ]);
});
afterAll(() => mds.close());

const bike = fc.nat(9).map((n) => `bike-${n}`);
const ride = fc.nat(10_000);
const station = fc.constantFrom("A", "B");
/** Draws minutes from now: reports may be late, or ahead of the service's clock. */
const minutes = fc.oneof(fc.constant(0), fc.integer({ min: -90, max: 1 }));
const battery = fc.option(fc.nat(100), { nil: undefined });
const place = fc.oneof(
  fc.constant({}),
  station.map((id) => ({ station_id: id })),
  fc.record({ lat: fc.double({ min: 59, max: 60, noNaN: true }), lon: fc.double({ min: 10, max: 11, noNaN: true }) }),
);
const told = fc.oneof(
  fc.constant({}),
  fc.constantFrom({ vehicle_state: "non_contactable" as const }, { vehicle_state: "missing" as const }),
  ...Object.entries(mdsReasons).map(([state, reasons]) =>
    fc.record({
      vehicle_state: fc.constant(state as keyof typeof mdsReasons),
      reason: fc.option(fc.constantFrom(...reasons), { nil: undefined }),
    }),
  ),
);
const costs = fc.constantFrom(
  {},
  { standard_cost: 500, actual_cost: 0, currency: "NOK" },
  { actual_cost: 7, currency: "USD" },
);

type Do = (operation: Operation) => Promise<unknown>;
interface Operation {
  readonly bike: string;
  readonly ride: number;
  readonly station: string;
  readonly minutes: number;
  readonly battery: number | undefined;
  readonly place: object;
  readonly told: object;
  readonly costs: object;
  readonly group: (typeof mdsSpecialGroups)[number] | undefined;
  readonly wait: number;
  readonly verb: number;
}

const operations = fc.record({
  ...{ bike, ride, station, minutes, battery, place, told, costs },
  group: fc.option(fc.constantFrom(...mdsSpecialGroups), { nil: undefined }),
  wait: fc.integer({ min: 0, max: 200 }),
  verb: fc.nat(1_000),
});

function verbs(): readonly Do[] {
  const { app } = mds;
  const { systemId, partnerId } = app;
  const started: string[] = [];
  const held: string[] = [];
  const at = (n: number) => new Date(app.clock() + n * 60_000).toISOString();
  // Chooses one of the newest rides, which are probably still under way.
  const rideOf = (n: number) => started.at(-1 - (n % 6)) ?? "none";
  const start: Do = (one) => {
    const id = `ride-${started.length}`;
    started.push(id);
    const item = { id, bike_id: one.bike, started_at: at(one.minutes), special_group: one.group };
    return startRides(app, systemId, [{ item }]);
  };
  const end: Do = (one) =>
    endRides(app, systemId, [{ item: { id: rideOf(one.ride), end_station_id: one.station, ...one.costs } }]);
  const report: Do = (one) => {
    const item = { id: one.bike, at: at(one.minutes), battery_percent: one.battery, ...one.place, ...one.told };
    return reportBikes(app, systemId, [{ item }]);
  };
  const upsert: Do = (one) =>
    upsertBikes(app, systemId, [{ item: { id: one.bike, station_id: one.station, ...one.told } }]);
  const reserve: Do = async (one) => {
    const text = await createReservation(app, { systemId, partnerId, request: { bike_id: one.bike, hold_minutes: 5 } });
    held.push((JSON.parse(text) as { readonly id: string }).id);
  };
  const giveBack: Do = async () => cancelReservation(app, { systemId, partnerId }, held.at(-1) ?? "none");
  const cancel: Do = (one) => cancelRides(app, systemId, [{ item: { id: rideOf(one.ride) } }]);
  const correct: Do = (one) =>
    correctRides(app, systemId, [{ item: { id: rideOf(one.ride), end_station_id: one.station, ...one.costs } }]);
  const expire: Do = () => expireOverdueReservations(app, systemId, 100);
  return [
    start,
    start,
    start,
    end,
    end,
    end,
    report,
    report,
    upsert,
    reserve,
    reserve,
    giveBack,
    cancel,
    correct,
    expire,
  ];
}

async function read(
  path: string,
  schema: string,
  headers: Record<string, string> = {},
  reader = key,
): Promise<unknown> {
  const response = await mds.get(path.replace("http://127.0.0.1", ""), reader, headers);
  expect([path, response.status]).toEqual([path, 200]);
  const body: unknown = headers["accept"] === undefined ? await response.json() : await response.text();
  expectOfficial(schema, body);
  return body;
}

async function expectLiveAnswersFit(): Promise<void> {
  const { vehicles } = mdsVehicles.parse(await read("/mds/vehicles", "get-vehicles"));
  const status = mdsVehiclesStatus.parse(await read("/mds/vehicles/status", "get-vehicles-status"));
  for (const { device_id: id } of vehicles) await read(`/mds/vehicles/${id}`, "get-vehicles-device_id");
  for (const { device_id: id } of status.vehicles_status)
    await read(`/mds/vehicles/status/${id}`, "get-vehicles-status-device_id");
  const { stops } = mdsStops.parse(await read("/mds/stops", "get-stops"));
  for (const { stop_id: id } of stops) await read(`/mds/stops/${id}`, "get-stops-stop_id");
  const within = await read("/mds/vehicles/status", "get-vehicles-status", {}, bounded);
  const all = new Map(status.vehicles_status.map((each) => [each.device_id, each.last_event]));
  for (const { device_id: id, last_event: last } of mdsVehiclesStatus.parse(within).vehicles_status) {
    const isWithin = (all.get(id)?.location.lng ?? 0) < EAST;
    expect(last.vehicle_state).toBe(isWithin ? all.get(id)?.vehicle_state : "elsewhere");
  }
}

it("after any operations every answer fits MDS's schema, its state machine holds, and each ride is one trip", async () => {
  const { app } = mds;
  const all = verbs();
  const began = app.clock();
  const logOf = async () =>
    [...(await vehicleLogs(app.db, app.systemId)).values()].flat().map((row) => JSON.stringify(row));
  const logs: string[][] = [];
  await upsertBikes(
    app,
    app.systemId,
    Array.from({ length: 10 }, (_, n) => ({ item: { id: `bike-${n}`, station_id: "A" } })),
  );
  for (const [index, one] of fc.sample(operations, { numRuns: OPERATIONS, seed: 20_261_126 }).entries()) {
    app.clock.advance(one.wait * 1_000);
    const verb = all[one.verb % all.length];
    // Ignores refused operations, which change nothing.
    await verb?.(one).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
    });
    if (index % 500 === 0) {
      await expectLiveAnswersFit();
      logs.push(await logOf());
    }
  }
  await expectSoundLogs(app.db, app.systemId);
  await expectLiveAnswersFit();
  // No logged event was changed or removed by later corrections.
  const whole = new Set(await logOf());
  for (const log of logs) expect(log.filter((row) => !whole.has(row))).toEqual([]);
  const ended = app.clock();
  app.clock.advance(3 * HOUR);
  const [events, trips] = [[], []] as [
    ReturnType<typeof mdsEvents.parse>["events"],
    ReturnType<typeof mdsTrips.parse>["trips"],
  ];
  const [eventsWithin, tripsWithin] = [[] as typeof events, [] as typeof trips];
  let points = 0;
  for (let at = began - (began % HOUR); at <= ended + HOUR; at += HOUR) {
    const hour = new Date(at).toISOString().slice(0, 13);
    const log = await read(`/mds/events/historical?event_time=${hour}`, "get-events-historical-event_time");
    events.push(...mdsEvents.parse(log).events);
    trips.push(...mdsTrips.parse(await read(`/mds/trips?end_time=${hour}`, "get-trips-end_time")).trips);
    const logWithin = await read(
      `/mds/events/historical?event_time=${hour}`,
      "get-events-historical-event_time",
      {},
      bounded,
    );
    eventsWithin.push(...mdsEvents.parse(logWithin).events);
    const ofWithin = await read(`/mds/trips?end_time=${hour}`, "get-trips-end_time", {}, bounded);
    tripsWithin.push(...mdsTrips.parse(ofWithin).trips);
    const telemetry = await read(`/mds/telemetry?telemetry_time=${hour}`, "get-telemetry-telemetry_time");
    points += mdsTelemetries.parse(telemetry).telemetry.length;
  }
  const seen = expectMdsLogs(events);
  // The operations have caused enough different events for the checks to be meaningful.
  expect(seen.size).toBeGreaterThan(20);
  expect(points).toBeGreaterThan(trips.length * 2);
  // An agency with a boundary gets its own valid log, and the trips that touch its area.
  const seenWithin = [...expectMdsLogs(eventsWithin, ["removed", "elsewhere"])];
  for (const type of ["trip_leave_jurisdiction", "trip_enter_jurisdiction", "rebalance_pick_up"])
    expect(seenWithin.some((step) => step.includes(` ${type} `))).toBe(true);
  const touches = trips.filter(({ start_location: a, end_location: b }) => Math.min(a.lng, b.lng) < EAST);
  expect(tripsWithin).toEqual(touches);
  expect(touches.length).toBeLessThan(trips.length);
  const [completed] = await app.db.query<{ n: number; paid: number }>(countCompleted, [app.systemId]);
  expect(trips).toHaveLength(completed?.n ?? 0);
  expect(new Set(trips.map(({ trip_id: id }) => id)).size).toBe(trips.length);
  expect(trips.reduce((sum, { actual_cost: paid = 0 }) => sum + paid, 0)).toBe(completed?.paid);
  const from = Math.max(began, app.clock() - 14 * 24 * HOUR);
  let recent = 0;
  let path: string | null = `/mds/events/recent?start_time=${from}&end_time=${app.clock()}`;
  while (path !== null) {
    const page = mdsRecentEvents.parse(await read(path, "get-events-recent-start_time-end_time"));
    recent += page.events.length;
    path = page.links.next;
  }
  expect(recent).toBe(events.filter(({ timestamp }) => timestamp >= from).length);
  const month = new Date(began).toISOString().slice(0, 7);
  app.clock.advance(32 * 24 * HOUR);
  await read(`/mds/reports/${month}.csv`, "get-reports-filename", { accept: MDS_REPORT_MEDIA_TYPE });
}, 600_000);

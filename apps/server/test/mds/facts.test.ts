import { bikeReport, type BikeReport, rideEnd } from "@bikeshare/contract";
import { mdsEvents, mdsReasons, mdsTelemetries, mdsTrips, mdsVehiclesStatus } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { cancelRides, endRides } from "../../src/city/fleet/finish-rides.ts";
import { correctRides, upsertPastRides } from "../../src/city/fleet/past-rides.ts";
import { cancelReservation } from "../../src/city/fleet/reservation-commands.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { expireOverdueReservations } from "../reservations/expire-overdue.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";
import { expectSoundLogs, vehicleLogs } from "./vehicle-logs.ts";

let mds: MdsHarness;
let key: string;
let made = 0;
const HOUR = 3_600_000;

beforeAll(async () => {
  mds = await startMds();
  await upsertStations(mds.app, mds.app.systemId, [
    { item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7, capacity: 10 } },
    { item: { id: "B", name: "Market", lat: 59.91, lon: 10.71, capacity: 10 } },
  ]);
  key = (await mds.agency()).key.key;
});
afterAll(() => mds.close());
beforeEach(() => mds.app.clock.advance(61_000));

/** A step that changes a bike: a command, or a report of facts. */
type Step = "reserve" | "give back" | "expire" | "start" | "end" | "cancel" | Omit<BikeReport, "id" | "at">;

/** Executes steps with a new bike, a minute apart. @returns the types and states of the bike's events */
async function eventsOf(steps: readonly Step[]): Promise<string[]> {
  const { app } = mds;
  const { systemId, partnerId } = app;
  const bike = `bike-${++made}`;
  let reservation = "";
  let rides = 0;
  await upsertBikes(app, systemId, [{ item: { id: bike, station_id: "A" } }]);
  const take = (step: Step): Promise<unknown> => {
    const id = `${bike}-${rides}`;
    if (typeof step === "object")
      return reportBikes(app, systemId, [{ item: { id: bike, at: new Date(app.clock()).toISOString(), ...step } }]);
    if (step === "reserve") return createReservation(app, { systemId, partnerId, request: { bike_id: bike } });
    if (step === "give back") return cancelReservation(app, { systemId, partnerId }, reservation);
    if (step === "expire") return expireOverdueReservations(app, systemId, 100);
    if (step === "start") return startRides(app, systemId, [{ item: { id: `${bike}-${++rides}`, bike_id: bike } }]);
    if (step === "end") return endRides(app, systemId, [{ item: { id, end_station_id: "B" } }]);
    return cancelRides(app, systemId, [{ item: { id } }]);
  };
  for (const step of steps) {
    app.clock.advance(step === "expire" ? 2 * HOUR : 60_000);
    const result = await take(step);
    if (step === "reserve") reservation = (JSON.parse(String(result)) as { readonly id: string }).id;
    else if (typeof result === "object") expect(result).not.toMatchObject({ results: [{ outcome: "failed" }] });
  }
  const events = (await vehicleLogs(app.db, systemId)).get(bike) ?? [];
  return events.map(({ event_type: type, vehicle_state: state }) => `${type} ${state}`);
}

const broken = { vehicle_state: "non_operational" } as const;
const fine = { vehicle_state: "available" } as const;
const gone = { vehicle_state: "removed" } as const;
const silent = { vehicle_state: "non_contactable" } as const;
const lost = { vehicle_state: "missing" } as const;
const held = "reservation_start reserved";
const freed = "reservation_cancel available";

describe("the log of a vehicle", () => {
  it.each<[string, readonly Step[], readonly string[]]>([
    ["its first upsert", [], []],
    ["a reservation that is cancelled", ["reserve", "give back"], [held, freed]],
    ["a reservation that expires", ["reserve", "expire"], [held, freed]],
    ["a reservation whose bike breaks", ["reserve", broken], [held, freed, "maintenance non_operational"]],
    ["a ride", ["start", "end"], ["trip_start on_trip", "trip_end available"]],
    ["a cancelled ride", ["start", "cancel"], ["trip_start on_trip", "trip_cancel available"]],
    ["a ride on a reserved bike", ["reserve", "start"], [held, "trip_start on_trip"]],
    ["silence and its end", [silent, fine], ["comms_lost non_contactable", "comms_restored available"]],
    [
      "a silent bike that is out of order",
      [silent, broken],
      ["comms_lost non_contactable", "comms_restored non_operational"],
    ],
    ["a loss and its end", [lost, fine], ["comms_lost non_contactable", "not_located missing", "located available"]],
    ["a loss after silence", [silent, lost], ["comms_lost non_contactable", "not_located missing"]],
    ["a bike taken away and brought back", [gone, fine], ["unspecified removed", "provider_drop_off available"]],
    ["a bike out of order and back", [broken, fine], ["unspecified non_operational", "unspecified available"]],
  ])("has MDS's types for %s", async (_, steps, expected) => {
    expect(await eventsOf(steps)).toEqual(["provider_drop_off available", ...expected]);
  });

  it("has `maintenance` of a bike that was reported out of order during its ride", async () => {
    const { app } = mds;
    const { systemId } = app;
    await upsertBikes(app, systemId, [{ item: { id: "worn", station_id: "A" } }]);
    await startRides(app, systemId, [{ item: { id: "worn-ride", bike_id: "worn" } }]);
    const [ended, reported] = [60_000, 120_000].map((ms) => new Date(app.clock() + ms).toISOString());
    app.clock.advance(180_000);
    await reportBikes(app, systemId, [{ item: { id: "worn", at: reported ?? "", ...broken } }]);
    await endRides(app, systemId, [{ item: { id: "worn-ride", end_station_id: "B", ended_at: ended } }]);
    const events = (await vehicleLogs(app.db, systemId)).get("worn") ?? [];
    expect(events.slice(-2).map(({ event_type: type }) => type)).toEqual(["trip_end", "maintenance"]);
  });

  it.each(
    Object.entries(mdsReasons).flatMap(([state, reasons]) =>
      reasons.map((reason) => [reason, state as keyof typeof mdsReasons] as const),
    ),
  )("has the reason %s of the state %s, whatever state the vehicle was in", async (reason, state) => {
    for (const before of [broken, gone, silent, lost, fine]) {
      if (before.vehicle_state === state) continue;
      const events = await eventsOf([before, { vehicle_state: state, reason }]);
      expect(events.at(-1)).toBe(`${reason} ${state}`);
    }
    if (fine.vehicle_state === state) return;
    const during = await eventsOf(["start", { vehicle_state: state, reason }, "cancel"]);
    expect(during.at(-1)).toBe(`${reason} ${state}`);
  });

  it("forgets a reason with the state that it was of", async () => {
    const events = await eventsOf([{ ...broken, reason: "battery_low" }, fine, broken]);
    expect(events.slice(-3)).toEqual([
      "battery_low non_operational",
      "unspecified available",
      "unspecified non_operational",
    ]);
  });

  it("begins with the agency where that has dropped the vehicle off", async () => {
    const { app } = mds;
    const item = { id: "theirs", station_id: "A", vehicle_state: "available", reason: "agency_drop_off" } as const;
    await upsertBikes(app, app.systemId, [{ item }]);
    const [first] = (await vehicleLogs(app.db, app.systemId)).get("theirs") ?? [];
    expect(first?.event_type).toBe("agency_drop_off");
  });

  it("is MDS's state machine after all that", () => expectSoundLogs(mds.app.db, mds.app.systemId));
});

describe("what operators may say", () => {
  const at = "2026-01-31T08:00:00Z";
  it("is a reason of the state that it is reported with", () => {
    const issues = (facts: object) =>
      bikeReport
        .safeParse({ id: "1", at, ...facts })
        .error?.issues.map(({ path, message }) => `${path.join()} ${message}`);
    expect(issues({ reason: "maintenance" })).toEqual(["vehicle_state must be given with reason"]);
    expect(issues({ ...lost, reason: "maintenance" })?.[0]).toContain("must be left out");
    expect(issues({ ...broken, reason: "decommissioned" })?.[0]).toContain("must be one of battery_low");
    for (const [state, reasons] of Object.entries(mdsReasons))
      for (const reason of reasons) expect(issues({ vehicle_state: state, reason })).toBeUndefined();
    for (const percent of [-1, 101, 0.5]) expect(issues({ battery_percent: percent })).toHaveLength(1);
  });

  it("is a cost with its currency", () => {
    const isTaken = (facts: object) => rideEnd.safeParse({ id: "1", ...facts }).success;
    expect(isTaken({ actual_cost: 500 })).toBe(false);
    expect(isTaken({ standard_cost: 500, currency: null })).toBe(false);
    expect(isTaken({ standard_cost: 500, currency: "kroner" })).toBe(false);
    expect(isTaken({ standard_cost: 500, actual_cost: null, currency: "NOK" })).toBe(true);
  });
});

/** Advances the clock to the next full hour. @returns the name of this hour */
function newHour(): string {
  mds.app.clock.advance(HOUR - (mds.app.clock() % HOUR));
  return new Date(mds.app.clock()).toISOString().slice(0, 13);
}

const read = async (path: string): Promise<unknown> => {
  const response = await mds.get(path, key);
  expect([path, response.status]).toEqual([path, 200]);
  const body: unknown = await response.json();
  return body;
};

describe("what agencies read", () => {
  it("has a vehicle's battery in its events, its status and its telemetry, the latest report counting", async () => {
    const { app } = mds;
    const hour = newHour();
    const now = () => new Date(app.clock()).toISOString();
    await upsertBikes(app, app.systemId, [{ item: { id: "full", station_id: "A", battery_percent: 90 } }]);
    app.clock.advance(60_000);
    const late = now();
    app.clock.advance(60_000);
    await reportBikes(app, app.systemId, [{ item: { id: "full", at: now(), battery_percent: 40 } }]);
    await reportBikes(app, app.systemId, [{ item: { id: "full", at: late, battery_percent: 60 } }]);
    await reportBikes(app, app.systemId, [{ item: { id: "full", at: now(), ...broken, reason: "battery_low" } }]);
    app.clock.advance(2 * HOUR);
    const events = await read(`/mds/events/historical?event_time=${hour}`);
    expectOfficial("get-events-historical-event_time", events);
    const told = mdsEvents.parse(events).events;
    expect(told.map((event) => event.battery_percent)).toEqual([90, 40]);
    const telemetry = await read(`/mds/telemetry?telemetry_time=${hour}`);
    expect(mdsTelemetries.parse(telemetry).telemetry.map((point) => point.battery_percent)).toEqual([90, 40]);
    const statuses = mdsVehiclesStatus.parse(await read("/mds/vehicles/status")).vehicles_status;
    const low = statuses.find(({ device_id: id }) => id === told[0]?.device_id);
    expect([low?.last_event.battery_percent, low?.last_telemetry.battery_percent]).toEqual([40, 40]);
  });

  it("has a point for each position that a vehicle reports between trips, and none during one", async () => {
    const { app } = mds;
    const { systemId } = app;
    const hour = newHour();
    const start = app.clock();
    const minute = (n: number) => new Date(start + n * 60_000).toISOString();
    const report = (n: number, lat: number) =>
      reportBikes(app, systemId, [{ item: { id: "free", at: minute(n), lat, lon: 10 } }]);
    await upsertBikes(app, systemId, [{ item: { id: "free", lat: 59, lon: 10 } }]);
    app.clock.advance(50 * 60_000);
    await report(5, 59.05);
    await report(5, 59.05); // again
    // This point is reported before its ride, but belongs to the ride all the same.
    await report(12, 59.12);
    await startRides(app, systemId, [{ item: { id: "free-ride", bike_id: "free", started_at: minute(10) } }]);
    await report(15, 59.15);
    await endRides(app, systemId, [
      { item: { id: "free-ride", ended_at: minute(20), lat: 59.2, lon: 10, end_station_id: null } },
    ]);
    await report(18, 59.18); // late
    await report(30, 59.3);
    const { telemetry } = mdsTelemetries.parse(await read(`/mds/telemetry?telemetry_time=${hour}`));
    const minutes = telemetry.map(({ timestamp }) => (timestamp - start) / 60_000);
    expect(minutes).toEqual([0, 5, 10, 20, 30]);
    app.clock.advance(2 * HOUR);
    const { events } = mdsEvents.parse(await read(`/mds/events/historical?event_time=${hour}`));
    expect(events).toHaveLength(3);
  });

  it("has what a trip cost, as it was told at its end, later, or of a past ride", async () => {
    const { app } = mds;
    const { systemId } = app;
    const hour = newHour();
    await upsertBikes(app, systemId, [{ item: { id: "paid", station_id: "A" } }]);
    const costs = { standard_cost: 500, actual_cost: 0, currency: "NOK" };
    for (const [id, facts] of [
      ["p1", costs],
      ["p2", {}],
    ] as const) {
      await startRides(app, systemId, [{ item: { id, bike_id: "paid", special_group: "low_income" } }]);
      app.clock.advance(60_000);
      await endRides(app, systemId, [{ item: { id, end_station_id: "A", ...facts } }]);
      // A repeated command changes nothing. With another cost, it fails.
      const again = (more: object) => endRides(app, systemId, [{ item: { id, end_station_id: "A", ...more } }]);
      expect(await again(facts)).toMatchObject({ results: [{ outcome: "unchanged" }] });
      expect(await again({ ...costs, actual_cost: 1 })).toMatchObject({ results: [{ outcome: "failed" }] });
    }
    await correctRides(app, systemId, [{ item: { id: "p2", ...costs, actual_cost: 300 } }]);
    const past = { id: "p3", bike_id: "paid", started_at: `${hour}:00:00Z`, ended_at: `${hour}:00:00Z` };
    const there = { start_station_id: "A", end_station_id: "A" };
    await upsertPastRides(app, systemId, [{ item: { ...past, ...there, ...costs, actual_cost: 200 } }]);
    app.clock.advance(2 * HOUR);
    const body = await read(`/mds/trips?end_time=${hour}`);
    expectOfficial("get-trips-end_time", body);
    const { trips } = mdsTrips.parse(body);
    expect(trips.map(({ actual_cost, standard_cost, currency }) => [actual_cost, standard_cost, currency])).toEqual([
      [200, 500, "NOK"],
      [0, 500, "NOK"],
      [300, 500, "NOK"],
    ]);
  });
});

import { eventNames } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSequencer } from "../src/events/sequencer.ts";
import { statement } from "../src/storage/db/statement.ts";
import { type FleetHarness, openFleetHarness, stationItem } from "./fleet/fleet.harness.ts";
import { expectSoundLogs, logVehicleEvents } from "./mds/vehicle-logs.ts";
import { expireOverdueReservations } from "./reservations/expire-overdue.ts";

const eventsSeen = statement(
  "test.eventsSeen",
  "select name as event, count(*) as n from events where system_id = $1 group by name order by name",
);

const ofThresholds: readonly string[] = ["station.below_threshold", "station.back_to_normal"];
const caused = eventNames.filter((name) => !ofThresholds.includes(name));

let harness: FleetHarness;

beforeAll(async () => {
  harness = await openFleetHarness();
  await logVehicleEvents(harness.db, harness.systemId);
  await harness.stations(stationItem("A"), stationItem("B", { lat: 47.5 }), stationItem("C", { lat: 47.6 }));
});
afterAll(() => harness.close());

/** Draws from few bikes, rides and stations, so that commands affect the same ones. */
const bike = fc.nat(3);
const ride = fc.nat(5);
const station = fc.constantFrom("A", "B", "C");
/** Draws minutes from now, most of them in the past. */
const when = fc.integer({ min: -9, max: 1 });

const command = fc.oneof(
  fc.record({
    do: fc.constant("start"),
    // Often 0 (now): a start in the past often overlaps an earlier ride of the bike, and is rejected.
    rides: fc.array(fc.record({ ride, bike, when: fc.oneof(when, fc.constant(0)) }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    do: fc.constant("end"),
    rides: fc.array(fc.record({ ride, station, when }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    do: fc.constant("correct"),
    rides: fc.array(fc.record({ ride, to: station, when: fc.option(when, { nil: undefined }) }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  fc.record({ do: fc.constant("cancel"), rides: fc.array(fc.record({ ride, when }), { minLength: 1, maxLength: 2 }) }),
  fc.record({
    do: fc.constant("report"),
    bikes: fc.array(
      fc.record({
        bike,
        station,
        when,
        state: fc.constantFrom(undefined, "available", "available", "non_operational"),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  fc.record({
    do: fc.constant("upsert"),
    bikes: fc.array(fc.record({ bike, station, state: fc.constantFrom("available", "available", "missing") }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  fc.record({ do: fc.constant("reserve station"), station, minutes: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ do: fc.constant("reserve bike"), bike, minutes: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ do: fc.constant("give back"), nth: fc.nat(5) }),
  fc.record({ do: fc.constant("sweep") }),
  fc.record({ do: fc.constantFrom("offline", "online"), station }),
);
type Command = typeof command extends fc.Arbitrary<infer One> ? One : never;

/** Draws commands that are sent concurrently on separate connections, and the minutes that pass before them. */
const round = fc.record({ minutes: fc.nat(12), commands: fc.array(command, { minLength: 1, maxLength: 6 }) });

let worlds = 0;

it("whatever is commanded at once, in whatever order: nothing that must be true of the rows is ever false", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 3, maxLength: 8 }), async (plan) => {
      const world = `w${++worlds}`;
      const held: string[] = [];
      await harness.online({ id: "A" }, { id: "B" }, { id: "C" });
      await harness.bikes(
        ...[0, 1, 2, 3].map((n) => ({
          id: `${world}-${n}`,
          station_id: "A",
          vehicle_type_id: n < 2 ? "classic" : null,
        })),
      );
      for (const { minutes, commands } of plan) {
        harness.clock.advance(minutes * 60_000);
        await Promise.all(commands.map((one) => refusable(obey(one, world, held))));
        await harness.expectSound();
      }
    }),
    { numRuns: 60, seed: 20260602 },
  );
  const sequencer = createSequencer({
    db: harness.db,
    clock: harness.clock,
    pollIntervalMs: 0,
    onError: (error) => expect.unreachable(String(error)),
  });
  await sequencer.runOnce(harness.systemId);
  await sequencer.close();
  await harness.expectSound();
  await expectSoundLogs(harness.db, harness.systemId);
  // Every event that the commands can cause has occurred. Events of thresholds are not among them: they need time and an
  // endpoint with thresholds.
  const seen = await harness.db.query<{ event: string; n: number }>(eventsSeen, [harness.systemId]);
  expect(seen.map(({ event }) => event)).toEqual(caused.toSorted());
  expect(seen.filter(({ n }) => n < 3)).toEqual([]);
});

/** Accepts a ServiceError as a result. Any other error fails the test. */
async function refusable(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
  });
}

async function obey(one: Command, world: string, held: string[]): Promise<unknown> {
  const at = (minutes: number) => new Date(harness.clock() + minutes * 60_000).toISOString();
  const bikeId = (n: number) => `${world}-${n}`;
  const rideId = (n: number) => `${world}-ride-${n}`;
  if ("minutes" in one) {
    const what = "bike" in one ? { bike_id: bikeId(one.bike) } : { station_id: one.station };
    const made = await harness.reserve({ ...what, hold_minutes: one.minutes, rider_ref: `rider-${one.minutes % 5}` });
    return held.push(made.id);
  }
  if ("nth" in one) {
    const id = held[one.nth % Math.max(held.length, 1)];
    return id === undefined ? undefined : harness.giveBack(id);
  }
  if ("bikes" in one) {
    const items = one.bikes.map((item) => ({
      id: bikeId(item.bike),
      station_id: item.station,
      ...(item.state === undefined ? {} : { vehicle_state: item.state }),
      ...("when" in item ? { at: at(item.when) } : {}),
    }));
    return "when" in (one.bikes[0] ?? {}) ? harness.report(...items) : harness.bikes(...items);
  }
  if ("rides" in one) return obeyRides(one, at, rideId, bikeId);
  if ("station" in one)
    return one.do === "offline"
      ? harness.offline({ id: one.station, ...(one.station !== "A" && { summary: "Closed" }) })
      : harness.online({ id: one.station });
  return expireOverdueReservations(harness.live, harness.systemId, 100);
}

function obeyRides(
  { rides }: Extract<Command, { rides: unknown }>,
  at: (minutes: number) => string,
  rideId: (n: number) => string,
  bikeId: (n: number) => string,
): Promise<unknown> {
  const items = rides.map((item) => {
    if ("bike" in item) return { id: rideId(item.ride), bike_id: bikeId(item.bike), started_at: at(item.when) };
    if ("station" in item) return { id: rideId(item.ride), end_station_id: item.station, ended_at: at(item.when) };
    if ("to" in item) {
      const end = item.when === undefined ? {} : { ended_at: at(item.when) };
      return { id: rideId(item.ride), end_station_id: item.to, ...end };
    }
    return { id: rideId(item.ride), cancelled_at: at(item.when) };
  });
  const [first] = rides;
  if (first !== undefined && "bike" in first) return harness.start(...items);
  if (first !== undefined && "to" in first) return harness.correct(...items);
  return first !== undefined && "station" in first ? harness.end(...items) : harness.cancel(...items);
}

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type FleetHarness,
  type Item,
  openFleetHarness,
  outcomes,
  stationItem,
} from "../../../test/fleet/fleet.harness.ts";

let harness: FleetHarness;
/** A bike whose ride has ended at station B ten minutes ago, for each test. */
let bike: string;
let ride: string;
let made = 0;

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(
    stationItem("A"),
    stationItem("B", { lat: 47.5, lon: 8.6 }),
    stationItem("C", { lat: 47.6, lon: 8.7 }),
  );
});
afterAll(() => harness.close());

beforeEach(async () => {
  made++;
  bike = `bike-${made}`;
  ride = `ride-${made}`;
  await harness.bikes({ id: bike, station_id: "A", vehicle_type_id: "classic" });
  harness.clock.advance(60_000);
  await harness.start({ id: ride, bike_id: bike, rider_category: "casual" });
  harness.clock.advance(300_000);
  await harness.end({ id: ride, end_station_id: "B", distance_meters: 100 });
  harness.clock.advance(600_000);
});

const inMinutes = (minutes: number) => new Date(harness.clock() + minutes * 60_000).toISOString();
const correct = async (...items: readonly Item[]) => outcomes(await harness.correct(...items));
const eventsOf = async (id: string) => (await harness.events()).filter((event) => event.endsWith(` ${id}`));
const available = async (station: string) => Number((await harness.station(station))["num_bikes_available"]);

describe("a correction of an ended ride", () => {
  test("puts the bike and the counters where the ride ended, and tells of it once; sent again it changes nothing", async () => {
    const counts = [await available("B"), await available("C")] as const;
    const startedAt = (await harness.ride(ride))["started_at"];
    expect(await correct({ id: ride, end_station_id: "C", distance_meters: 999 })).toEqual(["updated"]);
    expect(await harness.ride(ride)).toMatchObject({
      status: "completed",
      started_at: startedAt,
      end_station_id: "C",
      distance_meters: 999,
      end_reason: "returned",
      rider_category: "casual",
      updated_at: new Date(harness.clock()),
    });
    expect(await harness.bike(bike)).toMatchObject({
      vehicle_state: "available",
      station_id: "C",
      lat: 47.6,
      lon: 8.7,
    });
    expect([await available("B"), await available("C")]).toEqual([counts[0] - 1, counts[1] + 1]);
    const events = ["started", "completed", "corrected"].map((name) => `ride.${name} ${ride}`);
    expect(await eventsOf(ride)).toEqual(events);
    const before = await harness.picture();
    expect(await correct({ id: ride, end_station_id: "C", distance_meters: 999 })).toEqual(["unchanged"]);
    expect(await harness.picture()).toEqual(before);
    // A second correction of the same ride works like the first.
    expect(await correct({ id: ride, distance_meters: null, rider_category: null })).toEqual(["updated"]);
    expect(await harness.ride(ride)).toMatchObject({
      end_station_id: "C",
      distance_meters: null,
      rider_category: null,
    });
    expect(await eventsOf(ride)).toEqual([...events, `ride.corrected ${ride}`]);
    await harness.expectSound();
  });

  test("changes when it ended, and what follows from that", async () => {
    expect(await correct({ id: ride, ended_at: inMinutes(-14.5) })).toEqual(["updated"]);
    expect(await harness.ride(ride)).toMatchObject({ duration_seconds: 30, is_countable: false, end_station_id: "B" });
    // A report between the corrected and the wrong end should now count, but it was not stored.
    expect(await harness.bike(bike)).toMatchObject({ station_id: "B", lat: 47.5, vehicle_state: "available" });
    await harness.report({ id: bike, at: inMinutes(-14), vehicle_state: "non_operational", station_id: "A" });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "A", vehicle_state: "non_operational" });
    await harness.expectSound();
  });

  test("may say that it ended outside a station, and where; the reason follows the place, unless it is another", async () => {
    await correct({ id: ride, end_station_id: null, lat: 47.1, lon: 8.1 });
    expect(await harness.ride(ride)).toMatchObject({ end_station_id: null, end_reason: "free_floating" });
    expect(await harness.bike(bike)).toMatchObject({ station_id: null, lat: 47.1, lon: 8.1 });
    // The position alone is a correction, too: cities see it (MDS).
    const recorded = await eventsOf(ride);
    expect(await correct({ id: ride, lat: 47.2, lon: 8.2 })).toEqual(["updated"]);
    expect(await correct({ id: ride, lat: 47.2, lon: 8.2 })).toEqual(["unchanged"]);
    expect(await harness.bike(bike)).toMatchObject({ station_id: null, lat: 47.2, lon: 8.2 });
    expect(await harness.ride(ride)).toMatchObject({ end_lat: 47.2, end_lon: 8.2 });
    expect(await eventsOf(ride)).toEqual([...recorded, `ride.corrected ${ride}`]);
    await correct({ id: ride, end_reason: "timeout", end_station_id: "C" });
    await correct({ id: ride, end_station_id: "B" });
    expect(await harness.ride(ride)).toMatchObject({ end_station_id: "B", end_reason: "timeout" });
    await harness.expectSound();
  });

  test("with a position alone says that it ended outside a station: the bike leaves the station and its counters", async () => {
    const count = await available("B");
    expect(await correct({ id: ride, lat: 47.3, lon: 8.3 })).toEqual(["updated"]);
    expect(await harness.ride(ride)).toMatchObject({ end_station_id: null, end_reason: "free_floating" });
    expect(await harness.bike(bike)).toMatchObject({ station_id: null, lat: 47.3, lon: 8.3 });
    expect(await available("B")).toBe(count - 1);
    await correct({ id: ride, end_station_id: "B", lat: 47.5001, lon: 8.6 });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "B", lat: 47.5001 });
    await harness.expectSound();
  });

  test("warns when it makes a bike available that was reported broken before the end as it is now", async () => {
    const at = inMinutes(-5);
    await harness.report({ id: bike, at, vehicle_state: "non_operational" });
    const { results } = await harness.correct({ id: ride, ended_at: inMinutes(-4) });
    expect(results[0]?.warning).toBe(
      `Bike ${bike} was reported non_operational as of ${at}, before the ride's end, and is available now. If it still is non_operational, report that again.`,
    );
    expect(await harness.bike(bike)).toMatchObject({ vehicle_state: "available" });
  });

  test("leaves the bike where something later says that it is", async () => {
    await harness.report({ id: bike, at: inMinutes(-5), station_id: "A" });
    expect(await correct({ id: ride, end_station_id: "C" })).toEqual(["updated"]);
    expect(await harness.ride(ride)).toMatchObject({ end_station_id: "C" });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "A" });
    // The corrected end is later than the report, so the ride's end counts.
    await correct({ id: ride, ended_at: inMinutes(-4) });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "C", lat: 47.6 });
    await harness.expectSound();
  });

  test("of a ride before the last one moves nothing; under way or cancelled, the next one hides the place or gives it back", async () => {
    await harness.start({ id: `${ride}-next`, bike_id: bike });
    expect(await correct({ id: ride, end_station_id: "C" })).toEqual(["updated"]);
    expect(await harness.bike(bike)).toMatchObject({ vehicle_state: "on_trip", station_id: null });
    await harness.cancel({ id: `${ride}-next` });
    expect(await harness.bike(bike)).toMatchObject({ vehicle_state: "available", station_id: "C" });
    await harness.start({ id: `${ride}-last`, bike_id: bike });
    harness.clock.advance(60_000);
    await harness.end({ id: `${ride}-last`, end_station_id: "A" });
    expect(await correct({ id: ride, end_station_id: "B" })).toEqual(["updated"]);
    expect(await harness.bike(bike)).toMatchObject({ vehicle_state: "available", station_id: "A" });
    await harness.expectSound();
  });

  test("of history changes the ride and moves no bike", async () => {
    const past = { id: `${ride}-past`, bike_id: bike, started_at: inMinutes(-900), ended_at: inMinutes(-890) };
    await harness.past({ ...past, end_station_id: "A" });
    expect(await correct({ id: past.id, end_station_id: "C", ended_at: inMinutes(-880) })).toEqual(["updated"]);
    expect(await harness.ride(past.id)).toMatchObject({ end_station_id: "C", duration_seconds: 1200 });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "B" });
    await harness.expectSound();
  });

  test("moves a bike that is held, and the holder keeps it", async () => {
    const held = await harness.reserve({ bike_id: bike });
    await correct({ id: ride, end_station_id: "C" });
    expect(await harness.bike(bike)).toMatchObject({
      vehicle_state: "reserved",
      station_id: "C",
      reservation_id: held.id,
    });
    await harness.expectSound();
  });

  test("twice in a batch counts in the batch's order, also of two rides of one bike, and is recorded once a ride", async () => {
    harness.clock.advance(60_000);
    const next = `${ride}-next`;
    await harness.start({ id: next, bike_id: bike });
    harness.clock.advance(60_000);
    await harness.end({ id: next, end_station_id: "A" });
    const items = [
      { id: next, end_station_id: "C" },
      { id: ride, end_station_id: "C" },
      { id: next, end_station_id: "B", start_station_id: "C" },
      { id: next, start_station_id: "C" },
    ];
    expect(await correct(...items)).toEqual(["updated", "updated", "updated", "unchanged"]);
    expect(await harness.ride(next)).toMatchObject({ start_station_id: "C", end_station_id: "B" });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "B" });
    expect((await eventsOf(next)).filter((event) => event.startsWith("ride.corrected"))).toHaveLength(1);
    await harness.expectSound();
  });

  test("that is wrong in itself is refused, and says why", async () => {
    const before = await harness.picture();
    const results = await harness.correct(
      { id: ride, ended_at: inMinutes(5.1) },
      { id: ride, ended_at: inMinutes(-16) },
      { id: ride, end_station_id: "nowhere" },
      { id: ride, start_station_id: "nowhere" },
      { id: ride, lat: 47 },
      { id: ride, end_reason: "cancelled" },
      // The start is the ride's position in the list: a client that is paging would skip the ride or see it twice.
      { id: ride, started_at: inMinutes(-20) },
      { id: "unknown", end_station_id: "C" },
    );
    const [bad, unknown] = ["invalid_parameter", "not_found"];
    expect(outcomes(results)).toEqual([bad, bad, unknown, unknown, bad, bad, bad, unknown]);
    expect(await harness.picture()).toEqual(before);
  });

  test("at once with others, with the bike's next ride and with a report leaves everything in agreement", async () => {
    for (let round = 0; round < 10; round++) {
      const next = `${ride}-${round}`;
      await Promise.all([
        harness.correct({ id: ride, end_station_id: round % 2 === 0 ? "A" : "C", ended_at: inMinutes(-0.5) }),
        harness.correct({ id: ride, end_station_id: "B" }),
        harness.start({ id: next, bike_id: bike, started_at: inMinutes(0) }),
        harness.report({ id: bike, at: inMinutes(-0.2), station_id: "A" }),
      ]);
      await Promise.all([
        harness.correct({ id: ride, distance_meters: round }),
        harness.end({ id: next, end_station_id: "C" }),
      ]);
      await harness.expectSound();
      harness.clock.advance(60_000);
    }
    expect((await harness.ride(ride))["distance_meters"]).toBe(9);
  });
});

describe("a command that contradicts what is stored", () => {
  const conflict = async (work: Promise<Awaited<ReturnType<FleetHarness["end"]>>>) => {
    const results = await work;
    expect(outcomes(results)).toEqual(["ride_conflict"]);
    return results.results[0]?.error?.message;
  };

  test("is refused with what is stored, and changes nothing; what says the same is unchanged", async () => {
    const { started_at, ended_at } = (await harness.ride(ride)) as { started_at: Date; ended_at: Date };
    const [started, ended] = [started_at.toISOString(), ended_at.toISOString()];
    const stored = `Stored: bike ${bike}, started at ${started} at station A, ended at ${ended} at station B, 100 m, returned.`;
    const before = await harness.picture();
    const over = `The ride has ended. To correct how, use rides/correct. ${stored}`;
    expect(await conflict(harness.end({ id: ride, end_station_id: "A", distance_meters: 999 }))).toBe(over);
    expect(await conflict(harness.end({ id: ride, end_station_id: "B", distance_meters: 101 }))).toBe(over);
    expect(await conflict(harness.end({ id: ride, end_station_id: "B", ended_at: started }))).toBe(over);
    expect(await conflict(harness.end({ id: ride, end_station_id: "B", end_reason: "timeout" }))).toBe(over);
    expect(await conflict(harness.end({ id: ride }))).toBe(over);
    expect(await conflict(harness.cancel({ id: ride }))).toBe(over);
    const taken = `There is a ride with this id. ${stored}`;
    const start = { id: ride, bike_id: bike };
    expect(await conflict(harness.start({ ...start, bike_id: "another" }))).toBe(taken);
    expect(await conflict(harness.start({ ...start, started_at: ended }))).toBe(taken);
    expect(await conflict(harness.start({ ...start, start_station_id: "C" }))).toBe(taken);
    expect(await conflict(harness.start({ ...start, start_station_id: null }))).toBe(taken);
    expect(await conflict(harness.start({ ...start, rider_category: "member" }))).toBe(taken);
    expect(await conflict(harness.start({ ...start, reservation_id: "another" }))).toBe(taken);
    const past = { ...start, started_at: ended, ended_at: ended };
    expect(await conflict(harness.past(past))).toContain(stored);
    for (const same of [
      harness.end({ id: ride, end_station_id: "B" }),
      harness.end({ id: ride, ended_at: ended, end_station_id: "B", distance_meters: 100, end_reason: "returned" }),
      harness.start(start),
      harness.start({ ...start, started_at: started, start_station_id: "A", rider_category: "casual" }),
    ]) {
      expect(outcomes(await same)).toEqual(["unchanged"]);
    }
    expect(await harness.picture()).toEqual(before);
  });

  test("within one batch is seen as well", async () => {
    await harness.start({ id: `${ride}-2`, bike_id: bike });
    const ends = [{ end_station_id: "C" }, { end_station_id: "C" }, { end_station_id: "A" }];
    expect(outcomes(await harness.end(...ends.map((end) => ({ id: `${ride}-2`, ...end }))))).toEqual([
      "updated",
      "unchanged",
      "ride_conflict",
    ]);
    const starts = [{ rider_category: "member" }, { rider_category: "casual" }];
    expect(
      outcomes(await harness.start(...starts.map((start) => ({ id: `${ride}-3`, bike_id: bike, ...start })))),
    ).toEqual(["created", "ride_conflict"]);
    await harness.cancel({ id: `${ride}-3`, cancelled_at: inMinutes(0) });
    expect(await conflict(harness.cancel({ id: `${ride}-3`, cancelled_at: inMinutes(-0.5) }))).toContain(
      "The ride was cancelled, which is final.",
    );
    expect(await conflict(harness.end({ id: `${ride}-3` }))).toContain("The ride was cancelled, which is final.");
    await harness.expectSound();
  });
});

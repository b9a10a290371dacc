import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";

let harness: FleetHarness;
let bike: string;
let made = 0;

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B", { lat: 47.5, lon: 8.6 }));
});
afterAll(() => harness.close());

beforeEach(async () => {
  bike = `bike-${++made}`;
  await harness.bikes({ id: bike, station_id: "A", vehicle_type_id: "classic" });
  harness.clock.advance(3_600_000);
});

const inMinutes = (minutes: number) => new Date(harness.clock() + minutes * 60_000).toISOString();

describe("bikes that the operator describes", () => {
  test("stand where it says, with the station's position where no other is given", async () => {
    expect(await harness.bike(bike)).toMatchObject({
      vehicle_state: "available",
      station_id: "A",
      lat: 47.37,
      lon: 8.54,
    });
    await harness.bikes({ id: bike, station_id: null, lat: 47, lon: 8 });
    expect(await harness.bike(bike)).toMatchObject({ station_id: null, lat: 47, lon: 8, vehicle_type_id: "classic" });
    await harness.bikes({ id: bike, station_id: "B", lat: 47.51, lon: 8.61 });
    expect(await harness.bike(bike)).toMatchObject({ station_id: "B", lat: 47.51, lon: 8.61 });
    await harness.expectSound();
  });

  test("are made once, however many make them at the same time", async () => {
    const results = await Promise.all(
      Array.from({ length: 8 }, () => harness.bikes({ id: `${bike}-new`, station_id: "B" })),
    );
    expect(results.flatMap(outcomes).sort()).toEqual(["created", ...Array<string>(7).fill("unchanged")]);
    await harness.expectSound();
  });

  test("follow each item of a batch, one after the other", async () => {
    const results = await harness.bikes(
      { id: `${bike}-new`, number: "1", vehicle_state: "missing" },
      { id: `${bike}-new`, number: "2", station_id: "B" },
      { id: `${bike}-new`, number: "2", vehicle_state: "missing" },
      { id: `${bike}-new`, vehicle_state: "available" },
    );
    expect(outcomes(results)).toEqual(["created", "updated", "unchanged", "updated"]);
    expect(await harness.bike(`${bike}-new`)).toMatchObject({
      number: "2",
      station_id: "B",
      vehicle_state: "available",
    });
    await harness.expectSound();
  });

  test("at an unknown station, or reported there, are refused and change nothing", async () => {
    const before = await harness.picture();
    const results = [
      await harness.bikes({ id: bike, station_id: "nowhere" }, { id: "new", station_id: "nowhere" }),
      await harness.report({ id: bike, at: inMinutes(0), station_id: "nowhere" }, { id: "nobody's", at: inMinutes(0) }),
    ];
    expect(results.flatMap(outcomes)).toEqual(["not_found", "not_found", "not_found", "not_found"]);
    expect(await harness.picture()).toEqual(before);
  });

  test("that are held lose their reservation when they cannot be ridden, however that is said", async () => {
    for (const say of [
      () => harness.bikes({ id: bike, vehicle_state: "missing" }),
      () => harness.report({ id: bike, at: inMinutes(0), vehicle_state: "non_operational" }),
    ]) {
      await harness.bikes({ id: bike, vehicle_state: "available" });
      const { id } = await harness.reserve({ bike_id: bike });
      harness.clock.advance(1000);
      await say();
      expect(await harness.events()).toContain(`reservation.cancelled ${id}`);
      expect((await harness.bike(bike))["reservation_id"]).toBeNull();
      await harness.expectSound();
    }
  });
});

describe("reports", () => {
  test("of the future, beyond what clocks differ by, are refused", async () => {
    const before = await harness.picture();
    const results = await harness.report({ id: bike, at: inMinutes(5.1), vehicle_state: "missing" });
    expect(outcomes(results)).toEqual(["invalid_parameter"]);
    expect(await harness.picture()).toEqual(before);
  });

  test("that name nothing but their instant say when the bike was last heard of", async () => {
    await harness.report({ id: bike, at: inMinutes(-1) });
    expect((await harness.bike(bike))["last_reported"]).toEqual(new Date(harness.clock() - 60_000));
    expect(outcomes(await harness.report({ id: bike, at: inMinutes(-2) }))).toEqual(["unchanged"]);
    expect((await harness.bike(bike))["last_reported"]).toEqual(new Date(harness.clock() - 60_000));
  });

  // Few distinct times, so that reports have equal times, before and after the start and the end of the ride.
  const minute = fc.integer({ min: -70, max: 0 }).map((n) => n - (n % 10));
  const location = fc.oneof(
    fc.constantFrom({}, { station_id: null }, { station_id: "A" }, { station_id: "B" }),
    fc.record({ lat: fc.constantFrom(47.1, 47.2), lon: fc.constantFrom(8.1, 8.2) }),
  );
  const report = fc.record({
    minute,
    fields: fc.record(
      {
        vehicle_state: fc.constantFrom("available", "non_operational", "missing"),
        current_range_meters: fc.constantFrom(null, 0, 4000),
      },
      { requiredKeys: [] },
    ),
    location,
  });
  const story = fc.record({
    reports: fc.array(report, { minLength: 1, maxLength: 6 }),
    ride: fc.constantFrom("none", "ended", "cancelled"),
    orders: fc.array(fc.array(fc.nat(100), { minLength: 9, maxLength: 9 }), { minLength: 3, maxLength: 3 }),
    batched: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  });

  test("late, repeated, in parts and in any order, with a ride in between, leave the bike in the same state", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ reports, ride, orders, batched }) => {
        const bikes = orders.map(() => `told-${++made}`);
        await harness.bikes(...bikes.map((id) => ({ id, station_id: "A" })));
        harness.clock.advance(3_600_000);
        if (ride !== "none")
          await harness.start(...bikes.map((id) => ({ id, bike_id: id, started_at: inMinutes(-40) })));
        for (const [n, id] of bikes.entries()) await send(id, orders[n] ?? [], reports, ride, batched[n] ?? false);
        const [first, ...others] = await Promise.all(bikes.map(stateOf));
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: randomRuns(10) },
    );
    await harness.expectSound();
  });

  /** Sends the reports of one bike, some of them twice, and the end of its ride, in a given order. */
  async function send(
    id: string,
    order: readonly number[],
    reports: readonly (typeof report extends fc.Arbitrary<infer Report> ? Report : never)[],
    ride: string,
    batched: boolean,
  ): Promise<void> {
    const items = reports.map(({ minute: at, fields, location: where }) => ({
      id,
      at: inMinutes(at),
      ...fields,
      ...where,
    }));
    const repeated = [...items, ...items.slice(0, 2)];
    const steps: (() => Promise<unknown>)[] = repeated.map((item) => () => harness.report(item));
    if (ride === "ended") steps.push(() => harness.end({ id, end_station_id: "B", ended_at: inMinutes(-20) }));
    if (ride === "cancelled") steps.push(() => harness.cancel({ id, cancelled_at: inMinutes(-20) }));
    const shuffled = steps.map((step, n) => ({ step, key: order[n] ?? 0 })).sort((a, b) => a.key - b.key);
    if (!batched || ride !== "none") for (const { step } of shuffled) await step();
    else
      await harness.report(
        ...repeated
          .map((item, n) => ({ item, key: order[n] ?? 0 }))
          .sort((a, b) => a.key - b.key)
          .map(({ item }) => item),
      );
  }

  /** Returns a bike's row for comparison, without its ids and the time at which it was written. */
  async function stateOf(id: string): Promise<unknown> {
    const own = ["id", "public_id", "updated_at", "json", "change_position"];
    return Object.fromEntries(Object.entries(await harness.bike(id)).filter(([field]) => !own.includes(field)));
  }
});

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";

let harness: FleetHarness;
beforeAll(async () => {
  harness = await openFleetHarness();
});
afterAll(() => harness.close());

const docks = async (id: string) => (await harness.station(id))["num_docks_available"];

describe("the free docks of an operator's station", () => {
  test("that were reported move with every bike that comes or leaves", async () => {
    await harness.stations(stationItem("R", { num_docks_available: 3 }), stationItem("R2"));
    await harness.bikes(...[1, 2, 3, 4].map((n) => ({ id: `r${n}`, station_id: "R2" })));
    for (const n of [1, 2, 3, 4]) {
      await harness.start({ id: `r-ride-${n}`, bike_id: `r${n}` });
      harness.clock.advance(1_000);
      await harness.end({ id: `r-ride-${n}`, end_station_id: "R" });
    }
    expect(await docks("R")).toBe(0);
    // A reported number counts from now on, even when it equals the number that was shown.
    expect(outcomes(await harness.stations({ id: "R", num_docks_available: 0 }))).toEqual(["unchanged"]);
    await harness.start({ id: "r-ride-5", bike_id: "r1" });
    expect(await docks("R")).toBe(1);
    await harness.bikes({ id: "r2", vehicle_state: "removed" });
    expect(await docks("R")).toBe(2);
    await harness.cancel({ id: "r-ride-5" });
    expect(await docks("R")).toBe(1);
    expect(await docks("R2")).toBeNull();
    await harness.expectSound();
  });

  test("that were never reported are what the capacity leaves", async () => {
    await harness.stations(stationItem("C", { capacity: 3 }));
    expect(await docks("C")).toBe(3);
    await harness.bikes({ id: "c1", station_id: "C" }, { id: "c2", station_id: "C", vehicle_state: "non_operational" });
    expect(await docks("C")).toBe(1);
    await harness.reserve({ bike_id: "c1" });
    expect(await docks("C")).toBe(1);
    await harness.stations({ id: "C", capacity: 1 });
    expect(await docks("C")).toBe(0);
    await harness.stations({ id: "C", capacity: 6, num_docks_disabled: 1 });
    expect(await docks("C")).toBe(3);
    expect(outcomes(await harness.stations({ id: "C", num_docks_available: null }))).toEqual(["unchanged"]);
    await harness.stations({ id: "C", num_docks_available: 1 });
    await harness.stations({ id: "C", num_docks_available: null });
    expect(await docks("C")).toBe(3);
    await harness.stations({ id: "C", capacity: null });
    expect(await docks("C")).toBeNull();
    await harness.expectSound();
  });
});

const STATIONS = ["s", "t"];
const BIKES = ["a", "b", "c"];
const station = fc.constantFrom(...STATIONS);
const bike = fc.constantFrom(...BIKES);
const standing = ["available", "non_operational", "non_contactable"];
const step = fc.oneof(
  fc.record({ verb: fc.constant("ride" as const), bike, station: fc.option(station) }),
  fc.record({ verb: fc.constant("cancel" as const), bike }),
  fc.record({ verb: fc.constant("put" as const), bike, station: fc.option(station) }),
  fc.record({ verb: fc.constant("state" as const), bike, state: fc.constantFrom(...standing, "missing", "removed") }),
  fc.record({ verb: fc.constant("report" as const), station, docks: fc.option(fc.nat(4)) }),
  fc.record({ verb: fc.constant("capacity" as const), station, capacity: fc.option(fc.nat(4)) }),
);

test("after any commands the free docks are those that a model of the docks has", { timeout: 120_000 }, async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      run++;
      const name = (id: string) => `${id}-${run}`;
      await harness.stations(...STATIONS.map((id) => stationItem(name(id))));
      await harness.bikes(...BIKES.map((id) => ({ id: name(id), station_id: name("s") })));
      // A reported number changes by one with each bike, also below 0. The shown number is never below 0.
      const reported = new Map<string, number>();
      const capacity = new Map<string, number>();
      const places = new Map<string, { at: string | null; state: string }>(
        BIKES.map((id) => [id, { at: "s", state: "available" }]),
      );
      const isThere = ({ at, state }: { at: string | null; state: string }, id: string) =>
        at === id && standing.includes(state);
      const move = (id: string, to: { at?: string | null; state?: string }) => {
        const before = places.get(id) ?? { at: null, state: "available" };
        const after = { ...before, ...to };
        places.set(id, after);
        for (const [at, n] of reported) reported.set(at, n + Number(isThere(before, at)) - Number(isThere(after, at)));
      };
      for (const [n, each] of steps.entries()) {
        harness.clock.advance(1_000);
        if (each.verb === "ride" || each.verb === "cancel") {
          const ride = `${name("ride")}-${n}`;
          const started = outcomes(await harness.start({ id: ride, bike_id: name(each.bike) }));
          if (started[0] !== "created") continue;
          if (each.verb === "cancel") await harness.cancel({ id: ride });
          else {
            await harness.end({ id: ride, end_station_id: each.station === null ? null : name(each.station) });
            move(each.bike, { at: each.station });
          }
        } else if (each.verb === "put") {
          await harness.bikes({ id: name(each.bike), station_id: each.station === null ? null : name(each.station) });
          move(each.bike, { at: each.station });
        } else if (each.verb === "state") {
          await harness.bikes({ id: name(each.bike), vehicle_state: each.state });
          move(each.bike, { state: each.state });
        } else if (each.verb === "report") {
          await harness.stations({ id: name(each.station), num_docks_available: each.docks });
          if (each.docks === null) reported.delete(each.station);
          else reported.set(each.station, each.docks);
        } else {
          await harness.stations({ id: name(each.station), capacity: each.capacity });
          if (each.capacity === null) capacity.delete(each.station);
          else capacity.set(each.station, each.capacity);
        }
      }
      for (const id of STATIONS) {
        const there = [...places.values()].filter((place) => isThere(place, id)).length;
        const spaces = capacity.get(id);
        const free = reported.get(id) ?? (spaces === undefined ? undefined : spaces - there);
        expect(await docks(name(id))).toBe(free === undefined ? null : Math.max(0, free));
      }
      await harness.expectSound();
    }),
    { numRuns: 15, endOnFailure: true },
  );
});

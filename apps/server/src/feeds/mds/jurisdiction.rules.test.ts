import type { MultiPolygon } from "@bikeshare/contract";
import { isMdsTransition, mdsToldStates, mdsToldTypes, mdsTransitions } from "@bikeshare/contract/mds";
import fc from "fast-check";
import { expect, it } from "vitest";
import { jurisdictionOf, agencyEvents } from "./jurisdiction.rules.ts";

type Ring = MultiPolygon["coordinates"][number][number];

/** Returns a star around a center, with a corner at each of the distances and equal angles between the corners. */
const ringOf = (center: readonly [number, number], distances: readonly number[]): Ring => {
  const corners = distances.map((distance, index): [number, number] => {
    const angle = (2 * Math.PI * index) / distances.length;
    return [center[0] + distance * Math.cos(angle), center[1] + distance * Math.sin(angle)];
  });
  return [...corners, ...corners.slice(0, 1)];
};
const stars = fc.array(
  fc.record({
    center: fc.tuple(fc.double({ min: 9, max: 11, noNaN: true }), fc.double({ min: 58, max: 61, noNaN: true })),
    distances: fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), { minLength: 3, maxLength: 40 }),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Returns how often a ring goes around a position: not 0 from within, 0 from outside. Sums the angles of its edges. */
function turns(ring: Ring, lat: number, lon: number): number {
  const angles = ring.map(([x = 0, y = 0]) => Math.atan2(y - lat, x - lon));
  const sum = angles.slice(1).reduce((total, angle, index) => {
    const step = angle - (angles[index] ?? 0);
    return total + step - 2 * Math.PI * Math.round(step / (2 * Math.PI));
  }, 0);
  return Math.round(sum / (2 * Math.PI));
}

it("a position is within a boundary exactly when an odd number of its rings go around it", () => {
  const positions = fc.array(
    fc.tuple(fc.double({ min: 57, max: 62, noNaN: true }), fc.double({ min: 8, max: 12, noNaN: true })),
  );
  fc.assert(
    fc.property(stars, positions, (drawn, at) => {
      const rings = drawn.map(({ center, distances }) => ringOf(center, distances));
      const isWithin = jurisdictionOf({ type: "MultiPolygon", coordinates: rings.map((ring) => [ring]) });
      for (const [lat, lon] of at) {
        const around = rings.filter((ring) => turns(ring, lat, lon) !== 0).length;
        expect([lat, lon, isWithin(lat, lon)]).toEqual([lat, lon, around % 2 === 1]);
      }
    }),
  );
});

it("a boundary on one latitude holds nothing, and positions beyond the earth are outside", () => {
  const flat = jurisdictionOf({
    type: "MultiPolygon",
    coordinates: [
      [
        [
          [0, 5],
          [1, 5],
          [2, 5],
          [0, 5],
        ],
      ],
    ],
  });
  expect([flat(5, 1), flat(6, 1), flat(Number.NaN, 1), flat(1_000, 1)]).toEqual([false, false, false, false]);
});

const allowed = new Set([
  ...mdsTransitions.flatMap(({ from, type, to }) => from.map((before) => `${before} ${type} ${to}`)),
  // modes/micromobility.md of MDS 2.0
  "on_trip trip_leave_jurisdiction elsewhere",
  "elsewhere trip_enter_jurisdiction on_trip",
  "non_contactable unspecified elsewhere",
  "missing located elsewhere",
  "elsewhere rebalance_pick_up removed",
]);

it.each(mdsTransitions.flatMap(({ from, type, to }) => from.map((before) => ({ before, type, to }))))(
  "$before to $to by $type over the boundary is events as transitions that MDS has, in order and in their own time",
  ({ before, type, to }) => {
    expect(isMdsTransition(before, type, to)).toBe(true);
    for (const [isFromInside, isToInside] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const) {
      const at = new Date(1_000_000);
      const ride_id = type.startsWith("trip_") ? "r" : null;
      const row = { id: "e", at, vehicle_state: to, event_type: type, ride_id, from_state: before };
      const events = agencyEvents(
        { ...row, lat: isToInside ? 1 : -1, lon: 0, from_lat: isFromInside ? 1 : -1, from_lon: 0 },
        (lat) => lat > 0,
      );
      let state: string = isFromInside ? before : "elsewhere";
      for (const each of events) {
        expect(allowed).toContain(`${state} ${each.type} ${each.state}`);
        expect(mdsToldTypes).toContain(each.type);
        expect(mdsToldStates).toContain(each.state);
        state = each.state;
      }
      expect(state).toBe(isToInside ? to : "elsewhere");
      const times = events.map((each) => each.at.getTime());
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(new Set(times).size).toBe(times.length);
      // The log leaves 6 ms before the event of a move, into which the derived events must fit.
      expect(times.every((time) => time > at.getTime() - 6 && time <= at.getTime())).toBe(true);
      expect(new Set(events.map(({ part }) => part)).size).toBe(events.length);
    }
  },
);

it("an event that happened where the one before did is events as it is, or not at all", () => {
  const row = { id: "e", at: new Date(5), vehicle_state: "reserved", event_type: "reservation_start" } as const;
  const still = { ...row, ride_id: null, from_state: null, from_lat: null, from_lon: null, lon: 0 };
  const isNorth = (lat: number) => lat > 0;
  const same = { state: "reserved", type: "reservation_start", at: new Date(5) };
  expect(agencyEvents({ ...still, lat: 1 }, isNorth)).toEqual([same]);
  expect(agencyEvents({ ...still, lat: -1 }, isNorth)).toEqual([]);
  expect(agencyEvents({ ...still, lat: null }, isNorth)).toEqual([same]);
});

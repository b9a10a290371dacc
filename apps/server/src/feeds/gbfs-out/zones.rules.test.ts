import { expect, it } from "vitest";
import { geofencingZones } from "./zones.rules.ts";

type Ring = [number, number][];
const square = (size: number): Ring => [
  [0, 0],
  [size, 0],
  [size, size],
  [0, size],
];
const line: Ring = [
  [0, 0],
  [1, 1],
];
const rule = { ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: true };

/** Returns the published polygons of a zone. */
function published(coordinates: Ring[][]) {
  const geometry = { type: "MultiPolygon" as const, coordinates };
  const zone = { type: "Feature" as const, geometry, properties: { rules: [rule] } };
  const feed = geofencingZones({ features: [zone] }, new Set());
  return feed?.geofencing_zones?.features?.map((each) => each.geometry?.coordinates);
}

it("rings are closed, and a hole without an area is left out", () => {
  const closed = [...square(9), [0, 0]];
  expect(published([[square(9), square(3)]])).toEqual([[[closed, [...square(3), [0, 0]]]]]);
  expect(published([[square(9), line]])).toEqual([[[closed]]]);
});

it("a polygon without an area is left out with its holes: no hole is published as a zone", () => {
  expect(published([[line, square(3)]])).toBeUndefined();
  expect(published([[line, square(3)], [square(9)]])).toEqual([[[[...square(9), [0, 0]]]]]);
});

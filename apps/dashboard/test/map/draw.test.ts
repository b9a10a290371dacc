import type { MappedStation } from "@bikeshare/contract/console";
import { expect, it } from "vitest";
import { drawnStation, stationAt } from "../../src/components/map/draw.ts";

const size = { width: 400, height: 400 };
const view = { x: 0.5, y: 0.5, scale: 1_000 };
/** A station with the fields from which its mark is drawn. */
const station = { id: "1", status: "online", bikes: 5, docks: 15, capacity: 20, is_renting: true, is_returning: true };

it("the marks of a city with two stations are as large as those of stations that are far apart", () => {
  const stations = [0.4, 0.6].map((x) => drawnStation({ ...station, name: "" } as MappedStation, { x, y: 0.5 }));
  const scene = { ...{ area: [], regions: [], zones: [], flows: [], bikes: [] }, stations, hasStreets: false };
  const rest = { shade: undefined, matching: undefined, selectedId: undefined, hoveredId: undefined };
  // The first station is 100 pixels left of the middle. Its mark has a radius of 10 pixels.
  expect(stationAt({ x: 117, y: 200 }, { scene: { ...scene, ...rest }, view, size })).toBe(stations[0]);
});

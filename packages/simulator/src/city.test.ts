import { expect, it } from "vitest";
import { makeCity } from "./city.ts";
import { createRandom } from "./random.ts";

it("a district lies where its name says", () => {
  const { stations } = makeCity(createRandom(1), { stations: 200, bikes: 10 });
  const meanOf = (region: string, axis: "lat" | "lon") => {
    const inRegion = stations.filter(({ regionId }) => regionId === region);
    return inRegion.reduce((sum, station) => sum + station[axis], 0) / inRegion.length;
  };
  const ordered = (axis: "lat" | "lon") =>
    ["north", "east", "south", "west"].toSorted((a, b) => meanOf(a, axis) - meanOf(b, axis));
  expect([ordered("lat")[0], ordered("lat")[3]]).toEqual(["south", "north"]);
  expect([ordered("lon")[0], ordered("lon")[3]]).toEqual(["west", "east"]);
});

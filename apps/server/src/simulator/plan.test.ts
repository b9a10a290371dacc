import { describe, expect, it } from "vitest";
import { makeCity } from "./city.ts";
import { type Happening, happeningsIn } from "./plan.ts";
import { createRandom } from "./random.ts";

const city = makeCity(createRandom(1), { stations: 40, bikes: 800 });

function hour(seed: number, number: number): Happening[] {
  return Array.from({ length: 60 }, (_, minute) => happeningsIn(city, seed, number * 60 + minute)).flat();
}

describe("the plan of a city", () => {
  it("is the same for the same seed and minute, whatever was asked before, and another for another seed", () => {
    const minutes = [431, 7, 430, 431];
    const [first, , , again] = minutes.map((minute) => happeningsIn(city, 5, minute));
    expect(again).toEqual(first);
    expect(hour(6, 8)).not.toEqual(hour(5, 8));
  });

  it("has its happenings in order, within their minute", () => {
    for (let minute = 400; minute < 500; minute++) {
      const moments = happeningsIn(city, 5, minute).map(({ after }) => after);
      expect(moments).toEqual([...moments].sort((a, b) => a - b));
      expect(moments.every((moment) => moment >= 0 && moment < 60_000)).toBe(true);
    }
  });

  it("has rush hours, in which far more ride than at night", () => {
    const rides = (number: number) => hour(5, number).filter(({ kind }) => kind === "ride").length;
    expect(rides(8)).toBeGreaterThan(5 * rides(3));
    expect(rides(17)).toBeGreaterThan(5 * rides(3));
  });

  it("has everything that a real city has within a day", () => {
    const day = Array.from({ length: 24 }, (_, number) => hour(5, number)).flat();
    const seen = new Set(day.map((happening) => (happening.kind === "ride" ? happening.end : happening.kind)));
    const all = ["returned", "outside", "cancelled", "station_fails", "bike_breaks", "van", "telemetry"];
    expect([...seen].sort()).toEqual(all.sort());
    expect(day.some((happening) => happening.kind === "ride" && happening.isLate)).toBe(true);
    expect(day.some((happening) => happening.kind === "ride" && happening.isRepeated)).toBe(true);
    expect(day.some((happening) => happening.kind === "telemetry" && happening.isLate)).toBe(true);
  });
});

import { describe, expect, it } from "vitest";
import { makeCity } from "./city.ts";
import { type CityEvent, planMinute } from "./plan.ts";
import { createRandom } from "./random.ts";

const city = makeCity(createRandom(1), { stations: 40, bikes: 800 });

function hour(seed: number, number: number): CityEvent[] {
  return Array.from({ length: 60 }, (_, minute) => planMinute(city, seed, number * 60 + minute)).flat();
}

describe("the plan of a city", () => {
  it("is the same for the same seed and minute, whatever was asked before, and another for another seed", () => {
    const minutes = [431, 7, 430, 431];
    const [first, , , again] = minutes.map((minute) => planMinute(city, 5, minute));
    expect(again).toEqual(first);
    expect(hour(6, 8)).not.toEqual(hour(5, 8));
  });

  it("has its events in order, within their minute", () => {
    for (let minute = 400; minute < 500; minute++) {
      const offsets = planMinute(city, 5, minute).map(({ offsetMs }) => offsetMs);
      expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
      expect(offsets.every((offset) => offset >= 0 && offset < 60_000)).toBe(true);
    }
  });

  it("has rush hours, in which far more ride than at night", () => {
    const rides = (number: number) => hour(5, number).filter(({ kind }) => kind === "ride").length;
    expect(rides(8)).toBeGreaterThan(5 * rides(3));
    expect(rides(17)).toBeGreaterThan(5 * rides(3));
  });

  it("has everything that a real city has within a day", () => {
    const day = Array.from({ length: 24 }, (_, number) => hour(5, number)).flat();
    const seen = new Set(day.map((event) => (event.kind === "ride" ? event.end : event.kind)));
    const all = ["returned", "outside", "cancelled", "station_fails", "bike_breaks", "van", "telemetry"];
    expect([...seen].sort()).toEqual(all.sort());
    expect(day.some((event) => event.kind === "ride" && event.isDelayed)).toBe(true);
    expect(day.some((event) => event.kind === "ride" && event.isRepeated)).toBe(true);
    expect(day.some((event) => event.kind === "telemetry" && event.isDelayed)).toBe(true);
  });
});

import { describe, expect, it } from "vitest";
import { createSchedule, type Schedule } from "./backend.ts";
import { type CityLife, createCityLife } from "./city-life.ts";
import { makeCity } from "./city.ts";
import type { Command } from "./operator-client.ts";
import { createRandom } from "./random.ts";

const city = makeCity(createRandom(1), { stations: 10, bikes: 150 });
const MINUTE_MS = 60_000;

/** A city with equally many bikes at each station. Simulated time runs sixty times faster than the wall clock. */
function createLife(seed: number, schedule: Schedule, send: (command: Command) => void): CityLife {
  const instantOf = (time: number) => Date.parse("2026-06-01T12:00:00Z") + Math.round(time / 60);
  const life = createCityLife({ city, seed, run: "test", schedule, instantOf, send });
  for (const [index, bike] of city.bikes.entries()) {
    life.putBike(bike.id, city.stations[index % city.stations.length] ?? city.stations[0]);
  }
  return life;
}

/** Returns what the backend of a city sends from dawn to midnight. */
function day(seed: number): Command[] {
  const sent: Command[] = [];
  const schedule = createSchedule();
  const life = createLife(seed, schedule, (command) => sent.push(command));
  for (let minute = 390; minute < 1440; minute++) {
    life.plan(minute);
    schedule.runUntil(minute * MINUTE_MS);
  }
  life.finish(1440 * MINUTE_MS);
  expect(life.riding()).toBe(0);
  return sent;
}

describe("a city that lives", () => {
  it("sends the same for the same seed", () => {
    expect(day(3)).toEqual(day(3));
    expect(day(3)).not.toEqual(day(4));
  });

  it("starts each ride once, ends or cancels it once (and repeats itself with the very same items)", () => {
    const sent = day(3);
    const variants = new Map<string, Set<string>>();
    for (const { path, item } of sent.filter((command) => command.path.startsWith("rides/"))) {
      const key = `${item.id} ${path === "rides/start" ? "start" : "end"}`;
      variants.set(key, (variants.get(key) ?? new Set()).add(JSON.stringify([path, item])));
    }
    expect([...variants.values()].every(({ size }) => size === 1)).toBe(true);
    const starts = [...variants.keys()].filter((key) => key.endsWith("start"));
    expect(starts.length).toBeGreaterThan(100);
    expect(variants.size).toBe(2 * starts.length);
    expect(sent.length).toBeGreaterThan(new Set(sent.map((command) => JSON.stringify(command))).size);
  });

  it("never starts a bike that is on a ride, and ends no ride before its start", () => {
    const riding = new Map<string, { readonly id: string; readonly at: string }>();
    const over = new Set<string>();
    for (const command of day(3)) {
      if (command.path === "rides/start" && !over.has(command.item.id)) {
        const { id, bike_id, started_at = "" } = command.item;
        expect([undefined, id]).toContain(riding.get(bike_id)?.id);
        riding.set(bike_id, { id, at: started_at });
      }
      if ((command.path === "rides/end" || command.path === "rides/cancel") && !over.has(command.item.id)) {
        const at = command.path === "rides/end" ? command.item.ended_at : command.item.cancelled_at;
        const ride = riding.get(command.subjectId);
        expect(ride?.id).toBe(command.item.id);
        expect((at ?? "") > (ride?.at ?? "")).toBe(true);
        riding.delete(command.subjectId);
        over.add(command.item.id);
      }
    }
    expect(riding.size).toBe(0);
  });

  it("brings every station back online that it took offline", () => {
    const sent = day(3);
    const offline = sent.filter(({ path }) => path === "stations/offline").map(({ subjectId }) => subjectId);
    const online = sent.filter(({ path }) => path === "stations/online").map(({ subjectId }) => subjectId);
    expect(offline.length).toBeGreaterThan(0);
    expect(online.sort()).toEqual(offline.sort());
  });
});

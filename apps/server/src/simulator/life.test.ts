import { describe, expect, it } from "vitest";
import { createAgenda } from "./agenda.ts";
import { makeCity } from "./city.ts";
import type { Command } from "./commands.ts";
import { createLifeFor } from "./life.fixture.ts";
import { createRandom } from "./random.ts";

const city = makeCity(createRandom(1), { stations: 10, bikes: 150 });
const MINUTE = 60_000;

/** What the backend of a city tells from dawn to midnight. */
function day(seed: number): Command[] {
  const told: Command[] = [];
  const agenda = createAgenda();
  const life = createLifeFor(city, seed, agenda, (command) => told.push(command));
  for (let minute = 390; minute < 1440; minute++) {
    life.plan(minute);
    agenda.runUntil(minute * MINUTE);
  }
  life.settle(1440 * MINUTE);
  expect(life.riding()).toBe(0);
  return told;
}

describe("a city that lives", () => {
  it("tells the same for the same seed", () => {
    expect(day(3)).toEqual(day(3));
    expect(day(3)).not.toEqual(day(4));
  });

  it("starts each ride once, ends or cancels it once (and repeats itself with the very same words)", () => {
    const told = day(3);
    const words = new Map<string, Set<string>>();
    for (const { path, item } of told.filter((command) => command.path.startsWith("rides/"))) {
      const key = `${item.id} ${path === "rides/start" ? "start" : "end"}`;
      words.set(key, (words.get(key) ?? new Set()).add(JSON.stringify([path, item])));
    }
    expect([...words.values()].every((variants) => variants.size === 1)).toBe(true);
    const starts = [...words.keys()].filter((key) => key.endsWith("start"));
    expect(starts.length).toBeGreaterThan(100);
    expect(words.size).toBe(2 * starts.length);
    expect(told.length).toBeGreaterThan(new Set(told.map((command) => JSON.stringify(command))).size);
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
        const ride = riding.get(command.about);
        expect(ride?.id).toBe(command.item.id);
        expect((at ?? "") > (ride?.at ?? "")).toBe(true);
        riding.delete(command.about);
        over.add(command.item.id);
      }
    }
    expect(riding.size).toBe(0);
  });

  it("brings every station back online that it took offline", () => {
    const told = day(3);
    const offline = told.filter(({ path }) => path === "stations/offline").map(({ about }) => about);
    const online = told.filter(({ path }) => path === "stations/online").map(({ about }) => about);
    expect(offline.length).toBeGreaterThan(0);
    expect(online.sort()).toEqual(offline.sort());
  });
});

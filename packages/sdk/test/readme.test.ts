import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bike, BikeShare } from "@bikeshare/sdk";
import { createFakeBikeShare } from "@bikeshare/sdk/testing";
import { beforeEach, expect, it, vi } from "vitest";
import { mirror } from "./readme/changes.ts";
import { reserve } from "./readme/errors.ts";
import { catchUp } from "./readme/events.ts";
import { lists } from "./readme/lists.ts";

const directory = join(import.meta.dirname, "readme");
const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");

let said: unknown[][];
beforeEach(() => {
  said = [];
  // Programs of the README print. Their output is collected here.
  for (const method of ["log", "error"] as const) {
    vi.spyOn(console, method).mockImplementation((...words: unknown[]) => void said.push(words));
  }
});

it("the programs of the README are those that are compiled here", () => {
  const programs = readdirSync(directory).map((file) => readFileSync(join(directory, file), "utf8"));
  const shown = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, program]) => program);
  expect(new Set(shown)).toEqual(new Set(programs));
  expect(shown).toHaveLength(programs.length);
});

it("the first program has the length that its heading says, under 40 lines", () => {
  const lines = readFileSync(join(directory, "program.ts"), "utf8").trimEnd().split("\n").length;
  expect(lines).toBeLessThan(40);
  expect(readme).toContain(`## Everything once, in ${lines} lines`);
});

it("the programs on lists, events and errors do what they say", async () => {
  const rides = ["ride-1", "ride-2", "ride-3"].map((id, n) => ({
    id,
    bike_id: "bike-1",
    status: "completed" as const,
    start_station_id: "market",
    started_at: `2026-06-0${n + 1}T08:00:00.000Z`,
  }));
  const fake = createFakeBikeShare({ stations: [{ id: "market" }], rides, rateLimit: 1000 });
  const client = new BikeShare(fake.options);
  expect(await lists(client, undefined)).toBeUndefined();
  expect(said).toEqual([[3, 1], ["ride-3"], ["ride-2"], ["ride-1"], ["2026-06-01T08:00:00.000Z"]]);
  expect(await reserve(client, "market")).toBeUndefined();
  fake.operator.putBike({ id: "bike-1", station_id: "market" });
  expect(await reserve(client, "market")).toMatchObject({ bike_id: "bike-1" });
  const checkpoint = await catchUp(client, undefined);
  expect(checkpoint).toBe(fake.events().at(-1)?.id);
  expect(await catchUp(client, "event_gone")).toBeUndefined();
  await expect(reserve(client, "nowhere")).rejects.toThrow("not_found");
});

it("the program on changes keeps a copy up to date", async () => {
  const fake = createFakeBikeShare({ bikes: [{ id: "bike-1" }, { id: "bike-2" }], rateLimit: 1000 });
  const client = new BikeShare(fake.options);
  const copy = new Map<string, Bike>();
  const first = await mirror(client, copy);
  expect([...copy.keys()]).toEqual(["bike-1", "bike-2"]);
  fake.operator.putBike({ id: "bike-1", vehicle_state: "removed" });
  fake.operator.putBike({ id: "bike-2", current_range_meters: 7 });
  const second = await mirror(client, copy, first);
  expect([...copy.values()]).toMatchObject([{ id: "bike-2", current_range_meters: 7 }]);
  expect(await client.bikes.changesSince(second).toArray({ limit: 1 })).toEqual([]);
  fake.script([{ status: 410, body: { error: "checkpoint_lost", message: "Restored." } }]);
  expect(await mirror(client, copy, second)).toBeUndefined();
  expect(copy.size).toBe(0);
});

it("the program on tests does what it says", async () => {
  await import("./readme/testing.ts");
  expect(said).toEqual([["expired", "https://receiver.example/webhooks"]]);
});

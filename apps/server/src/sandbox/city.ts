import type { BatchResults } from "@bikeshare/contract";
import { type City, createRandom, describeCity, makeCity } from "@bikeshare/simulator";
import { upsertBikes } from "../city/fleet/bike-commands.ts";
import { beginHistoryOfStations, clearCity } from "../city/fleet/clear-city.ts";
import { upsertStations } from "../city/fleet/station-commands.ts";
import type { CommandContext } from "../command-context.ts";
import type { Transaction } from "../storage/db/database.ts";

/** The size of a sandbox's city. */
const SIZE = { stations: 40, bikes: 300 };

/**
 * The creation time that stations and bikes of every sandbox show. It is fixed, so that a seed makes the same city byte
 * for byte.
 */
const MADE_AT = Date.UTC(2026, 0, 1);

/** Returns the city of a seed. */
export function sandboxCity(seed: number): City {
  return makeCity(createRandom(seed), SIZE);
}

/** Replaces a sandbox's city by that of a seed, in the transaction `tx`. */
export async function replaceCity(context: CommandContext, tx: Transaction, systemId: string, seed: number) {
  await clearCity(context, tx, systemId);
  const city = sandboxCity(seed);
  // Another seed than the city's, so that the bikes' stations do not repeat the numbers that made the city.
  const random = createRandom(seed + 1);
  const { stations, bikes } = describeCity(city, new Map(city.bikes.map((bike) => [bike, random.pick(city.stations)])));
  const then = { ...context, db: tx, clock: () => MADE_AT };
  requireDone(await upsertStations(then, systemId, stations));
  requireDone(await upsertBikes(then, systemId, bikes));
  await beginHistoryOfStations(tx, systemId, new Date(context.clock()));
}

/** Checks that every item of a command succeeded. @throws Error with the message of the first failed item */
function requireDone({ failed, results }: BatchResults): void {
  if (failed === 0) return;
  throw new Error(`the city cannot be made: ${results.find(({ error }) => error !== null)?.error?.message ?? ""}`);
}

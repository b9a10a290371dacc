import type { Transaction } from "../../storage/db/database.ts";
import { type CountedList, countList, updateListCount, updateRideCounts } from "./queries.ts";

/*
 * The stored lengths of lists, and the stored numbers of rides by hour, day and month, which commands and imports
 * update.
 */

/**
 * Slots that a count is spread over. Too low: writers wait for each other's commit (one slot: 40 % slower at 16
 * connections). Too high: a reader adds up more rows for nothing.
 */
const SLOTS = 16;

/** Chooses a slot; `random` gives a number from 0 up to 1. */
export function pickSlot(random: () => number): number {
  return Math.floor(random() * SLOTS);
}

/** Returns the stored length of a list. */
export const lengthOf = countList;

/**
 * Changes the stored length of a list. Call it at the end of the transaction that inserts or deletes the rows, so that the
 * count's row stays locked for the shortest time.
 */
export function countRows(
  tx: Transaction,
  systemId: string,
  list: Exclude<CountedList, "rides">,
  slot: number,
  difference: number,
): void {
  if (difference !== 0) updateListCount(tx, systemId, list, slot, difference);
}

const HOUR_MS = 3_600_000;

/** The start times of rides that a transaction changed; a number is milliseconds since 1970. */
interface ChangedRides {
  readonly inserted?: Iterable<Date | number>;
  readonly deleted?: Iterable<Date | number>;
  /** Start times of corrected rides that had ended: they invalidate the memory of past rides. */
  readonly corrected?: Iterable<Date | number>;
}

/**
 * Changes the stored numbers of rides: in all, and by the hour, day and month in which they started. Call it at the end of
 * the transaction.
 */
export function countRides(
  tx: Transaction,
  systemId: string,
  slot: number,
  { inserted = [], deleted = [], corrected = [] }: ChangedRides,
): void {
  const hours = new Map<number, number>();
  let total = 0;
  let oldest = Infinity;
  const add = (starts: Iterable<Date | number>, difference: -1 | 0 | 1) => {
    for (const start of starts) {
      const hour = Math.floor(Number(start) / HOUR_MS) * HOUR_MS;
      hours.set(hour, (hours.get(hour) ?? 0) + difference);
      total += difference;
      oldest = Math.min(oldest, hour);
    }
  };
  add(inserted, 1);
  add(deleted, -1);
  add(corrected, 0);
  if (hours.size === 0) return;
  updateRideCounts(tx, systemId, slot, new Map([...hours].map(([hour, n]) => [new Date(hour).toISOString(), n])));
  updateListCount(tx, systemId, "rides", slot, total, new Date(oldest).toISOString());
}

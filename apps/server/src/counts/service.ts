import type { Transaction } from "../db/database.ts";
import { updateListCount, updateRideCounts, type CountedList, countList } from "./queries.ts";

/**
 * Slots a count is spread over. With one, writers queue behind each other's commit (40 % slower at 16
 * connections); with many more, a reader adds up more rows for nothing.
 */
const SLOTS = 16;

/** Chooses a slot; `random` gives a number from 0 up to 1. */
export function pickSlot(random: () => number): number {
  return Math.floor(random() * SLOTS);
}

/** The kept length of a list. */
export const lengthOf = countList;

/**
 * Changes the kept length of a list. To be the last statement of the transaction that inserts or deletes the
 * rows, so that the count's row stays locked for the shortest time.
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

/**
 * Adds rides to the kept numbers: in all, and by the hour, day and month in which they started. To be the last
 * statement of the transaction.
 * @param startedAt when each inserted ride started
 */
export function countRides(tx: Transaction, systemId: string, slot: number, startedAt: Iterable<Date>): void {
  const hours = new Map<number, number>();
  for (const instant of startedAt) {
    const hour = Math.floor(instant.getTime() / HOUR) * HOUR;
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  changeRideCounts(tx, systemId, slot, hours);
}

const HOUR = 3_600_000;

/**
 * Changes the kept numbers of rides. To be the last statement of the transaction.
 * @param hours by how much (negative: fewer) the number changes of the rides that started in the hour which began at
 *   the key, milliseconds since 1970
 */
export function changeRideCounts(
  tx: Transaction,
  systemId: string,
  slot: number,
  hours: ReadonlyMap<number, number>,
): void {
  if (hours.size === 0) return;
  let total = 0;
  let oldest = Infinity;
  for (const [hour, n] of hours) {
    total += n;
    oldest = Math.min(oldest, hour);
  }
  updateRideCounts(tx, systemId, slot, new Map([...hours].map(([hour, n]) => [new Date(hour).toISOString(), n])));
  updateListCount(tx, systemId, "rides", slot, total, new Date(oldest).toISOString());
}

import type { Transaction } from "../db/database.ts";
import { addToListCount, addToRidePeriods, type CountedList } from "./queries.ts";

/**
 * Slots a count is spread over. With one, writers queue behind each other's commit (40 % slower at 16
 * connections); with many more, a reader adds up more rows for nothing.
 */
const SLOTS = 16;

/** Chooses a slot; `random` gives a number from 0 up to 1. */
export function pickSlot(random: () => number): number {
  return Math.floor(random() * SLOTS);
}

/**
 * Changes the kept length of a list. To be the last statement of the transaction that inserts or deletes the
 * rows, so that the count's row stays locked for the shortest time.
 */
export async function countRows(
  tx: Transaction,
  systemId: string,
  list: Exclude<CountedList, "rides">,
  slot: number,
  difference: number,
): Promise<void> {
  if (difference !== 0) await addToListCount(tx, systemId, list, slot, difference);
}

/**
 * Changes the kept numbers of rides: in all, and by the hour, day and month in which they started. To be the last
 * statement of the transaction.
 * @param startedAt when each inserted ride started
 */
export async function countRides(
  tx: Transaction,
  systemId: string,
  slot: number,
  startedAt: Iterable<Date>,
): Promise<void> {
  const hours = new Map<string, number>();
  let total = 0;
  for (const instant of startedAt) {
    const hour = `${instant.toISOString().slice(0, 13)}:00:00Z`;
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
    total++;
  }
  if (total === 0) return;
  await addToRidePeriods(tx, systemId, slot, hours);
  await addToListCount(tx, systemId, "rides", slot, total);
}

import type { Transaction } from "../../storage/db/database.ts";
import { insertOpenMark, insertSumMarks } from "./sums-queries.ts";

// Whoever changes the past leaves marks here. A mark asks the background work of `sums.ts` to sum an hour again.

const HOUR_MS = 3_600_000;

/** Returns the hour (UTC) in which an instant lies. */
export function hourOf(instant: Date | number): Date {
  return new Date(Math.floor(Number(instant) / HOUR_MS) * HOUR_MS);
}

/**
 * Marks hours that lose rides, so that they are summed again: the hours of deleted rides, and the former end hours of
 * corrected rides. Call it in the transaction that changes the rides. The hours in which written rides start and end now
 * need no mark, because `findChangedHours` finds them.
 */
export function markHoursOfRides(
  tx: Pick<Transaction, "send">,
  systemId: string,
  rides: Iterable<{ readonly started_at?: Date; readonly ended_at: Date | null }>,
): void {
  const hours = [...rides].flatMap((ride) => [ride.started_at, ride.ended_at]);
  const known = hours.filter((hour) => hour !== undefined && hour !== null);
  insertSumMarks(
    tx,
    systemId,
    known.map((hour) => hourOf(hour)),
  );
}

/**
 * Marks the hours since a past instant at which stations changed, so that they are summed again. The current hour needs no
 * mark, because it is summed repeatedly.
 */
export function markHoursOfStations(tx: Pick<Transaction, "send">, systemId: string, at: Date, now: Date): void {
  if (hourOf(at) < hourOf(now)) insertOpenMark(tx, systemId, hourOf(at));
}

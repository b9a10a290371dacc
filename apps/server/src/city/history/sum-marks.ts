import type { Transaction } from "../../storage/db/database.ts";
import { insertOpenMark, insertSumMarks } from "./sums-queries.ts";

const HOUR_MS = 3_600_000;

/** The hour (UTC) in which an instant lies. */
export function hourOf(instant: Date | number): Date {
  return new Date(Math.floor(Number(instant) / HOUR_MS) * HOUR_MS);
}

/**
 * Marks the hours of rides that lose them, in the transaction that takes them away: rides that are deleted, and former ends of
 * corrected ones. What rides have after they were written is found without a mark.
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
    true,
  );
}

/**
 * Marks the hours since an instant, in the past, at which stations changed. The current hour needs no mark: it is summed all the
 * time.
 */
export function markHoursOfStations(tx: Pick<Transaction, "send">, systemId: string, at: Date, now: Date): void {
  if (hourOf(at) < hourOf(now)) insertOpenMark(tx, systemId, hourOf(at));
}

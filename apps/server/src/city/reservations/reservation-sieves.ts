import type { Reservation } from "@bikeshare/contract";
import { listFilters } from "@bikeshare/rules";
import { millisecondsOf } from "../../iso-instant.ts";
import { sievesOf } from "../../storage/lists/sieves.ts";
import type { Sieve, SortedRows } from "../../storage/lists/sorted-rows.ts";
import type { ReservationFilters } from "./queries.ts";

/**
 * Returns the sieves of reservations as they are at an instant: one that is active until then is expired, and changed when
 * it expired.
 */
export function reservationSieves(
  rows: SortedRows,
  { status, updated_since: since, ...filters }: ReservationFilters,
  now: number,
): Sieve[] {
  const sieves = sievesOf(rows, listFilters.reservations, filters);
  if (status !== undefined) sieves.push(ofStatus(rows, status, now));
  if (since !== undefined) sieves.push(updatedSince(rows, millisecondsOf(since), now));
  return sieves;
}

// Only active ones have an instant at which they expire. The loops are without branches, as those of `sievesOf`.

function ofStatus(rows: SortedRows, status: Reservation["status"], now: number): Sieve {
  const [statuses, ends, code] = [rows.texts("status"), rows.numbers("expires_at"), rows.code("status", status)];
  // Overdue reservations count as expired, not as active.
  const [isExpired, isActive] = [Number(status === "expired"), Number(status === "active")];
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      const isOverdue = Number((ends[row] ?? Number.NaN) <= now);
      found[kept] = row;
      kept += (Number(statuses[row] === code) & ~(isActive & isOverdue)) | (isExpired & isOverdue);
    }
    return kept;
  };
}

function updatedSince(rows: SortedRows, since: number, now: number): Sieve {
  const [updates, ends] = [rows.numbers("updated_at"), rows.numbers("expires_at")];
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      const end = ends[row] ?? Number.NaN;
      found[kept] = row;
      kept += Number((updates[row] ?? Number.NaN) >= since) | (Number(end <= now) & Number(end >= since));
    }
    return kept;
  };
}

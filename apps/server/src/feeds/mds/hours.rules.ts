import { VEHICLE_EVENT_DAYS } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import { dayOf, oldestKept } from "../../storage/partitions/partition.rules.ts";

export const HOUR_MS = 3_600_000;

/**
 * Milliseconds from the end of an hour until it counts as settled: late reports have arrived. Too low: agencies read hours
 * that late reports still change. Too high: agencies wait longer.
 */
export const SETTLE_MS = 60 * 60_000;

/**
 * Tells whether an hour is settled.
 * @param hour the start of the hour. All times are in milliseconds since 1970.
 * @param since the time from which on the agency can read
 * @throws ServiceError `not_found` for an hour that is not over, was over before `since`, or is no longer kept
 */
export function isSettled(hour: number, { now, since }: { readonly now: number; readonly since: number }): boolean {
  const end = hour + HOUR_MS;
  const iso = (at: number) => new Date(at).toISOString();
  if (end > now) throw serviceError("not_found", "hourAhead", { at: iso(end + SETTLE_MS) });
  if (end <= since) throw serviceError("not_found", "hourBefore", { since: iso(since) });
  if (dayOf(hour) < oldestKept(dayOf(now), VEHICLE_EVENT_DAYS))
    throw serviceError("not_found", "hourPast", { days: VEHICLE_EVENT_DAYS });
  return now >= end + SETTLE_MS;
}

import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";

const DAY_MS = 86_400_000;

/** The day, in UTC, of an instant in milliseconds since 1970: `2026-01-31`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The first day of which the log of attempts is kept at an instant: its days are dropped whole. */
export function oldestLogDay(now: number): string {
  return dayOf(now - EVENT_RETENTION_DAYS * DAY_MS);
}

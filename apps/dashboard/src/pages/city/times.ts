/** Texts and calculations of times in a city's time zone, whatever the reader's zone is. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Returns a duration as `3 h 20 min` or `2 days`. */
export function lastingText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / MINUTE_MS));
  if (minutes < 1) return "less than a minute";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns an instant as the city's clocks and calendars show it. */
export function cityText(at: number | string, timeZone: string, options: Intl.DateTimeFormatOptions): string {
  const key = `${timeZone} ${JSON.stringify(options)}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
  formats.set(key, format);
  return format.format(new Date(at));
}

/** Options of `cityText`: `08:30` and `Thu 26 Nov`. */
export const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;
export const DATE = { weekday: "short", day: "numeric", month: "short" } as const;

/** Returns the calendar day of an instant: `2026-11-26`. */
export function dayOf(at: number | string, timeZone: string): string {
  // British English writes `26/11/2026`.
  const parts = cityText(at, timeZone, { year: "numeric", month: "2-digit", day: "2-digit" }).split("/");
  return parts.toReversed().join("-");
}

/**
 * Returns the instant at which a calendar day begins: midnight, or the first instant of the day if the clocks skip midnight.
 */
export function dayStart(day: string, timeZone: string): number {
  const guess = Date.parse(`${day}T00:00:00Z`);
  // Zones are at most 14 hours ahead of UTC and 12 behind. In every zone, midnight is at a full quarter of an hour of UTC.
  for (let at = guess - 14 * HOUR_MS; at <= guess + 12 * HOUR_MS; at += HOUR_MS / 4) {
    if (dayOf(at, timeZone) === day) return at;
  }
  return guess;
}

/** Returns the day `count` days later. */
export function daysLater(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10);
}

/** Compares a number with its usual value: `8 % more`, `12 times as many`. */
export function comparedText(value: number, usual: number): string {
  const percent = Math.round((value / usual - 1) * 100);
  if (percent === 0) return "as many";
  if (percent >= 300) return `${Math.round(value / usual).toLocaleString("en")} times as many`;
  return `${Math.abs(percent)} % ${percent > 0 ? "more" : "fewer"}`;
}

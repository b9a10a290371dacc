const DAY_MS = 86_400_000;
/** The two digits of hours, minutes and seconds, and the three of milliseconds, by the number that they show. */
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));
const threeDigits = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0"));

// The latest day, as its number since 1970, and the beginning of its instants up to the `T`. Kept because instants that are
// written one after the other are mostly of the same day.
let day = NaN;
let dayText = "";

/**
 * Returns the same as `new Date(milliseconds).toISOString()` in a third of the time, for writing millions of instants.
 * @param milliseconds an integer, since 1970
 */
export function isoInstant(milliseconds: number): string {
  const wantedDay = Math.floor(milliseconds / DAY_MS);
  if (wantedDay !== day) {
    day = wantedDay;
    dayText = new Date(day * DAY_MS).toISOString().slice(0, -"00:00:00.000Z".length);
  }
  const time = milliseconds - day * DAY_MS;
  const seconds = Math.floor(time / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return `${dayText}${twoDigits[hours]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.${threeDigits[time % 1000]}Z`;
}

/** Formats an instant for a message: `2026-11-26 01:46 UTC`. */
export function utcMinute(instant: Date): string {
  return `${instant.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/**
 * Returns the milliseconds since 1970 of an RFC 3339 instant. Rounds an instant between two milliseconds up, so that it can
 * be compared with stored times, which are whole milliseconds.
 */
export function millisecondsOf(instant: string): number {
  const isBetween = /\.\d{3}\d*[1-9]/.test(instant);
  return Date.parse(instant) + Number(isBetween);
}

/** Parses the text of an instant; undefined stays undefined. */
export function dateOf(instant: string | undefined): Date | undefined {
  return instant === undefined ? undefined : new Date(instant);
}

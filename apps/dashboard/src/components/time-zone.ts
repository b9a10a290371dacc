/** The time zone in which the pages show and read times: the zone of the system whose pages are open. */
import { lazily } from "./lazily.ts";

let shownZone: string | undefined;
let formats = formatsIn(undefined);

/** Sets the zone in which times are shown and read. Undefined: the reader's own. */
export function setTimeZone(zone: string | undefined): void {
  if (zone === shownZone) return;
  shownZone = zone;
  formats = formatsIn(zone);
}

/** Returns the zone in which times are shown. */
export function shownTimeZone(): string {
  return shownZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns the formats of a zone; of the reader's own zone if it is undefined. */
function formatsIn(timeZone: string | undefined) {
  const day = { day: "numeric", month: "short" } as const;
  const clock = { hour: "2-digit", minute: "2-digit" } as const;
  const format = (options: Intl.DateTimeFormatOptions) =>
    lazily(() => new Intl.DateTimeFormat("en-GB", { ...options, ...(timeZone !== undefined && { timeZone }) }));
  return {
    thisYear: format({ ...day, ...clock }),
    anyYear: format({ ...day, year: "numeric", ...clock }),
    exact: format({ ...day, year: "numeric", ...clock, second: "2-digit" }),
    zone: format({ timeZoneName: "short" }),
    parts: format({
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      ...clock,
      second: "2-digit",
      hourCycle: "h23",
    }),
  };
}

/** Returns `26 Nov, 08:46`; with the year if it is not the present year. */
export function dayText(instant: Date): string {
  const isThisYear = wallTime(instant).slice(0, 4) === wallTime(new Date()).slice(0, 4);
  return (isThisYear ? formats.thisYear() : formats.anyYear()).format(instant);
}

/** Returns `26 Nov 2026, 08:46:18`. */
export function exactText(instant: Date): string {
  return formats.exact().format(instant);
}

/** Returns the name of the zone: `CET`. */
export function zoneName(instant: Date): string {
  const part = formats
    .zone()
    .formatToParts(instant)
    .find(({ type }) => type === "timeZoneName");
  return part?.value ?? "";
}

/** Returns the local time in the zone, without an offset: `2026-11-26T08:46:18`. */
export function wallTime(instant: Date): string {
  const parts = Object.fromEntries(
    formats
      .parts()
      .formatToParts(instant)
      .map(({ type, value }) => [type, value]),
  );
  return `${parts["year"]}-${parts["month"]}-${parts["day"]}T${parts["hour"]}:${parts["minute"]}:${parts["second"]}`;
}

const DAY_MS = 86_400_000;

/**
 * Returns the instant at which the zone's clocks show this time; undefined when the text is no valid time. When clocks are
 * set back, a time occurs twice: returns the first. When they are set forward, a time is skipped: returns the instant at
 * which clocks that were not set forward would show it.
 */
export function instantAt(wall: string): Date | undefined {
  const asUtc = Date.parse(`${wall}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  const offsetAt = (ms: number) => Date.parse(`${wallTime(new Date(ms))}Z`) - ms;
  // The zone's offset from UTC depends on the instant, which is not known yet. It is the offset of a day earlier or, if
  // the clocks have changed in between, that of a day later. `early` and `late` are the instants by these two offsets.
  const [early, late] = [asUtc - offsetAt(asUtc - DAY_MS), asUtc - offsetAt(asUtc + DAY_MS)];
  const isShown = (ms: number) => ms + offsetAt(ms) === asUtc;
  return new Date(isShown(late) && !isShown(early) ? late : early);
}

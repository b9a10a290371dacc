import type { DifferingRide } from "../../city/fleet/ride-import.ts";
import { isoInstant } from "../../iso-instant.ts";

/*
 * Turns the local times of trip files into instants: opens time zones, resolves times near a change of clocks, and reads the
 * spellings of times. Also recognises that the same trips were imported before with another time zone.
 */

/** A time zone. Its local times are milliseconds since 1970-01-01 00:00 on a wall clock in the zone. */
export interface TimeZone {
  readonly name: string;
  /**
   * Returns the instants (milliseconds since 1970, UTC) at which a wall clock of the zone may have shown `local`. Usually
   * one. Two when clocks showed that time twice: the earlier first. Also two for a time that clocks skipped when they went
   * forward: first the instant at which a clock that is moved too late shows it, then that of a clock that is moved too
   * early.
   */
  instants(local: number): readonly number[];
}

/** A text is not the name of a time zone: it is an offset, an abbreviation, an old name without a slash, or unknown. */
export class UnknownTimeZone extends Error {
  override readonly name = "UnknownTimeZone";
}

/** A period, in UTC, in which the zone's offset from UTC stays the same. */
interface OffsetPeriod {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Opens an IANA zone such as `America/New_York`. Calls `Intl` some 400 times for each new year, and caches the changes of
 * offset. While the times that are looked up stay between two changes, a look-up costs two comparisons.
 * @throws UnknownTimeZone
 */
export function openTimeZone(name: string): TimeZone {
  refuseUnlessZone(name);
  const offsetAt = zoneOffsets(name);
  const years = new Map<number, readonly OffsetPeriod[]>();
  // Local times from `sureFrom` to before `sureTo` have only the offset `sureOffset`.
  let sureFrom = 0;
  let sureTo = 0;
  let sureOffset = 0;

  return {
    name,
    instants(local) {
      if (local >= sureFrom && local < sureTo) return [local - sureOffset];
      const year = new Date(local).getUTCFullYear();
      const periods = years.get(year) ?? offsetPeriodsOfYear(year, offsetAt);
      years.set(year, periods);
      const at = periods.findIndex(({ from, to, offset }) => local - offset >= from && local - offset < to);
      const found = periods[at];
      if (found === undefined) return skippedTime(local, periods);
      const instant = local - found.offset;
      const next = periods[at + 1];
      // Clocks showed this time at the end of the period that was found, and again at the start of the next.
      if (next !== undefined && local - next.offset >= next.from) return [instant, local - next.offset];
      // Caches the local times that only this period has. Near its ends, the neighbouring period may have them too.
      const before = periods[at - 1];
      sureOffset = found.offset;
      sureFrom = found.from + Math.max(found.offset, before?.offset ?? found.offset);
      sureTo = found.to + Math.min(found.offset, next?.offset ?? found.offset);
      return [instant];
    },
  };
}

/** Returns the two instants that a skipped local time can mean. The later instant comes first. */
function skippedTime(local: number, periods: readonly OffsetPeriod[]): readonly number[] {
  const after = periods.findIndex(({ from, offset }) => local - offset < from);
  const moved = periods[after];
  const unmoved = periods[after - 1];
  if (moved === undefined || unmoved === undefined) throw new RangeError(`no offset is known for ${local}`);
  return [local - unmoved.offset, local - moved.offset];
}

/** Returns the periods that cover a year and two days on each side, so that they include every local time of the year. */
function offsetPeriodsOfYear(year: number, offsetAt: (instant: number) => number): readonly OffsetPeriod[] {
  const end = Date.UTC(year + 1, 0, 3);
  const periods: OffsetPeriod[] = [];
  let from = Date.UTC(year, 0, 1) - 2 * DAY_MS;
  let offset = offsetAt(from);
  // Compares the offsets of one day and the next. Misses a change that was taken back within a day; no zone ever had one.
  for (let day = from; day < end; day += DAY_MS) {
    const later = offsetAt(day + DAY_MS);
    if (later === offset) continue;
    const change = changeBetween(day, day + DAY_MS, offset, offsetAt);
    periods.push({ from, to: change, offset });
    from = change;
    offset = later;
  }
  periods.push({ from, to: end, offset });
  return periods;
}

/** Returns the first millisecond between two instants at which the offset is no longer `offset`. */
function changeBetween(low: number, high: number, offset: number, offsetAt: (instant: number) => number): number {
  let same = low;
  let changed = high;
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (offsetAt(middle) === offset) same = middle;
    else changed = middle;
  }
  return changed;
}

/** Returns a function that reads a zone's offset from UTC at an instant from `Intl`. Both are in milliseconds. */
export function zoneOffsets(timeZone: string): (instant: number) => number {
  const format = offsetFormat(timeZone);
  return (instant) => {
    // "GMT-05:00", "GMT+05:30", "GMT" for zero, "GMT-00:01:15" for local mean time
    const text = format.formatToParts(instant).find((part) => part.type === "timeZoneName")?.value ?? "";
    const [, sign, hours, minutes, seconds] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? [];
    const size = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * 60_000 + Number(seconds ?? 0) * 1000;
    return sign === "-" ? -size : size;
  };
}

const EXAMPLES = "such as America/New_York or Europe/Oslo";

/** Abbreviations that operators write. They are rejected, and the message suggests the zone that is probably meant. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  EST: "America/New_York",
  EDT: "America/New_York",
  EST5EDT: "America/New_York",
  CST: "America/Chicago",
  CDT: "America/Chicago",
  CST6CDT: "America/Chicago",
  MST: "America/Denver",
  MDT: "America/Denver",
  MST7MDT: "America/Denver",
  PST: "America/Los_Angeles",
  PDT: "America/Los_Angeles",
  PST8PDT: "America/Los_Angeles",
  HST: "Pacific/Honolulu",
  GMT: "Europe/London, or UTC",
  BST: "Europe/London",
  WET: "Europe/Lisbon",
  CET: "Europe/Berlin",
  CEST: "Europe/Berlin",
  MET: "Europe/Berlin",
  EET: "Europe/Helsinki",
  EEST: "Europe/Helsinki",
  JST: "Asia/Tokyo",
};

/**
 * Rejects offsets, abbreviations, and old names without a slash (`Japan`). `Intl` accepts offsets and some abbreviations
 * (`EST`) as zones without summer time: half a year of trips would be wrong by an hour without an error. Old names with a
 * slash (`US/Eastern`) are zones like others.
 */
function refuseUnlessZone(name: string): void {
  // `offsetFormat` rejects unknown names with a slash.
  if (name.includes("/") || name === "UTC") return;
  if (/^(?:UTC|GMT)?[+-]\d/i.test(name)) {
    throw new UnknownTimeZone(
      `is an offset, which does not say when clocks change: give the IANA name of the city's zone, ${EXAMPLES}, or UTC`,
    );
  }
  const newer = canonicalName(name);
  const meant = ABBREVIATIONS[name.toUpperCase()];
  if (meant === undefined && newer !== undefined) {
    throw new UnknownTimeZone(`is an old name of a time zone: give ${newer}`);
  }
  if (meant !== undefined) {
    throw new UnknownTimeZone(
      `is an abbreviation, which does not say when clocks change: give the IANA name, such as ${meant}`,
    );
  }
  throw unknown();
}

/** Returns the IANA name for an old name of a zone: `Asia/Tokyo` for `Japan`. Undefined: it is not an old name. */
function canonicalName(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions();
    return timeZone.includes("/") ? timeZone : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the error for a name that no time zone has. */
function unknown(options?: ErrorOptions): UnknownTimeZone {
  return new UnknownTimeZone(`is not a time zone: give an IANA name, ${EXAMPLES}`, options);
}

/** Returns the format that writes a zone's offset, such as GMT-05:00. @throws UnknownTimeZone */
function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch (error) {
    throw unknown({ cause: error });
  }
}

/** When a trip started and ended: milliseconds since 1970, UTC. */
export interface TripTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  /** True: clocks showed the local time of the start twice, and the trip started at the second time. */
  readonly isSecondOccurrence: boolean;
}

/**
 * Milliseconds by which a row's duration may differ from the difference of its times. Too low: warns about files of 2013 to
 * 2017, which have times to the minute and durations to the second. Too high, such as an hour: a change of clocks is not
 * noticed.
 */
export const DURATION_TOLERANCE_MS = 60_000;

/**
 * Turns a trip's local times into instants. A local time near a change of clocks can mean two instants. Then the function
 * chooses the pair of instants that fits the duration best; without a duration, the shortest trip that does not end before
 * it starts. If two pairs fit equally, it chooses the first occurrence of the start. If no pair fits the duration, but the
 * difference of the two local times does, the clock that wrote them was not moved during the trip: the end is then the start
 * plus that difference.
 * @param duration milliseconds; undefined when the file has no duration
 */
export function resolveTripTimes(
  start: WallTime,
  end: WallTime,
  duration: number | undefined,
  zone: TimeZone,
): TripTimes {
  const starts = possibleInstants(start, zone);
  const ends = possibleInstants(end, zone);
  let best: TripTimes | undefined;
  let smallestError = Infinity;
  for (const [index, startedAt] of starts.entries()) {
    for (const endedAt of ends) {
      const error = durationError(endedAt - startedAt, duration);
      if (best !== undefined && error >= smallestError) continue;
      // The second instant of a skipped time is the earlier one, and is no second occurrence.
      best = { startedAt, endedAt, isSecondOccurrence: index === 1 && startedAt > (starts[0] ?? startedAt) };
      smallestError = error;
    }
  }
  if (best === undefined) throw new RangeError(`the zone ${zone.name} has no reading of ${start.local}`);
  if (duration === undefined || smallestError <= DURATION_TOLERANCE_MS) return best;
  return clockNotMoved(start, end, duration, best) ?? best;
}

/** The ambiguity of a local time near a clock change. */
type ClockChange = "time_never_shown" | "time_shown_twice";

/** Returns why a local time can mean two instants; undefined: it means one. */
export function clockChangeAt(time: WallTime, zone: TimeZone): ClockChange | undefined {
  const [first = 0, second = first] = possibleInstants(time, zone);
  // `instants` returns the later instant first only for a skipped time.
  if (first === second) return undefined;
  return first > second ? "time_never_shown" : "time_shown_twice";
}

/** Returns the instants that a time may mean: one if the file gives its offset, or else those of the zone. */
function possibleInstants(time: WallTime, zone: TimeZone): readonly number[] {
  return time.offset === undefined ? zone.instants(time.local) : [time.local - time.offset];
}

/**
 * Returns how badly a trip's length fits; 0 fits best. With a duration: the difference from it. Without one, the shortest
 * trip fits best, and an end before the start is worse than any length.
 */
function durationError(length: number, duration: number | undefined): number {
  if (duration !== undefined) return Math.abs(length - duration);
  return length >= 0 ? length : Number.MAX_SAFE_INTEGER / 2 - length;
}

/**
 * Returns the times of a trip whose clock was not moved during the trip, as `resolveTripTimes` explains. Undefined: the
 * difference of the local times does not fit the duration, no change of clocks lies between them, or the file gives offsets.
 */
function clockNotMoved(start: WallTime, end: WallTime, duration: number, times: TripTimes): TripTimes | undefined {
  if (start.offset !== undefined || end.offset !== undefined) return undefined;
  const shown = end.local - start.local;
  const moved = shown !== times.endedAt - times.startedAt;
  return moved && Math.abs(shown - duration) <= DURATION_TOLERANCE_MS
    ? { ...times, endedAt: times.startedAt + shown }
    : undefined;
}

/** A time as a trip file writes it. */
export interface WallTime {
  /** The local clock's time, as milliseconds since 1970-01-01 00:00 on that clock. */
  readonly local: number;
  /** The clock's offset from UTC in milliseconds, if the file contains it; undefined: the time zone determines it. */
  readonly offset: number | undefined;
}

// 2019-01-01 03:09:09.7110, 2023-06-05T13:34:12Z, 2019-04-01 04:02:20.493000+00:00
const YEAR_FIRST =
  /^(\d{4})-(\d{2})-(\d{2})[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?(Z|UTC|[+-]\d{2}:?\d{2})?$/;
// 1/31/2015 0:01, 6/30/2013 23:59:07: month first, as the American systems wrote it
const MONTH_FIRST = /^(\d{1,2})\/(\d{1,2})\/(\d{4}) (\d{1,2}):(\d{2})(?::(\d{2}))?$/;

/**
 * Reads a time. Digits after the millisecond are cut off.
 * @returns undefined when the text is not a date with a time, or the calendar does not have the date (February 30)
 */
export function readWallTime(text: string): WallTime | undefined {
  const match = YEAR_FIRST.exec(text);
  if (match !== null) {
    const [, year, month, day, hour, minute, second, fraction, zone] = match;
    const local = fromParts(year, month, day, hour, minute, second, milliseconds(fraction));
    return local === undefined ? undefined : { local, offset: zoneOffset(zone) };
  }
  const [, month, day, year, hour, minute, second] = MONTH_FIRST.exec(text) ?? [];
  const local = fromParts(year, month, day, hour, minute, second, 0);
  return local === undefined ? undefined : { local, offset: undefined };
}

/** Tells whether a text can only be a time with the day first: `25/01/2026 08:00`. */
export function isDayFirst(text: string): boolean {
  const swapped = text.replace(/^(\d{1,2})\/(\d{1,2})\//, "$2/$1/");
  return MONTH_FIRST.test(text) && readWallTime(text) === undefined && readWallTime(swapped) !== undefined;
}

/** Tells whether a text is a time that a spreadsheet program shortened to minutes and seconds ("06:17.5") or to "####". */
export function isSpreadsheetTime(text: string): boolean {
  return /^(?:\d{1,2}:\d{2}\.\d|#{3,})$/.test(text);
}

/** Writes a local time as ids contain it: `20190101T030909.711`. */
export function compactLocal(local: number): string {
  const iso = isoInstant(local);
  return `${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 13)}${iso.slice(14, 16)}${iso.slice(17, 23)}`;
}

function milliseconds(fraction: string | undefined): number {
  return fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, "0"));
}

/** Returns the offset that a time ends with, in milliseconds; undefined: it has none. */
function zoneOffset(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  if (zone === "Z" || zone === "UTC") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}

type Digits = string | undefined;

/** Returns a local time from its parts; undefined when there is no such time. */
function fromParts(
  year: Digits,
  month: Digits,
  day: Digits,
  hour: Digits,
  minute: Digits,
  second: Digits,
  ms: number,
): number | undefined {
  // Missing digits are NaN, and each comparison with NaN is false: so a text that did not match is rejected here.
  const [h, mi, s] = [Number(hour), Number(minute), Number(second ?? 0)];
  if (!(h < 24 && mi < 60 && s < 60)) return undefined;
  const midnight = midnightOf(Number(year), Number(month), Number(day));
  return midnight === undefined ? undefined : midnight + ((h * 60 + mi) * 60 + s) * 1000 + ms;
}

// Caches the date of the last time, because successive times are mostly on the same day. NaN equals no date.
let lastDate = { year: NaN, month: NaN, day: NaN, midnight: NaN };

/** Returns the local midnight at which a day begins; undefined when the calendar does not have the day. */
function midnightOf(year: number, month: number, day: number): number | undefined {
  if (day === lastDate.day && month === lastDate.month && year === lastDate.year) return lastDate.midnight;
  const midnight = Date.UTC(year, month - 1, day);
  const date = new Date(midnight);
  // Date.UTC turns February 30 into March 1 or 2, and years before 100 into 19xx.
  const isKept = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isKept) return undefined;
  lastDate = { year, month, day, midnight };
  return midnight;
}

/**
 * The finding that many rows were probably imported before with another time zone: they have the ids of stored rides, and
 * their times differ from those of the stored rides by quarters of an hour.
 */
export interface TimeShift {
  /** The number of these rows. */
  readonly rows: number;
  /** Seconds by which most of the stored rides are later (negative: earlier). */
  readonly seconds: number;
  /** The import that most of the stored rides came with. */
  readonly import_id: string | null;
}

const QUARTER_HOUR_SECONDS = 15 * 60;
/** Seconds between the clocks of the two zones that are furthest apart. */
const MAX_SHIFT_SECONDS = 26 * 3600;
/** Least number of rows whose times differ by quarters of an hour. One or two rides may do so for other reasons. */
const MIN_ROWS = 3;
/** Of ten rows that differ, at least this many must differ by quarters of an hour. Others may cross a change of clocks. */
const MIN_OF_TEN_ROWS = 9;

/**
 * Recognises rows that were imported before with another time zone: stored rides have the same ids, and times that differ by
 * a multiple of a quarter of an hour. Two zones differ by one or two amounts, because they may change their clocks in
 * different weeks.
 */
export function createShiftCounter() {
  const shifts = new Map<number, number>();
  const imports = new Map<string, number>();
  /** All rows that differ from stored rides, and those of them that differ by quarters of an hour. */
  let rows = 0;
  let shifted = 0;
  return {
    add({ shiftSeconds, importId }: DifferingRide): void {
      rows++;
      if (shiftSeconds === null || shiftSeconds === 0 || shiftSeconds % QUARTER_HOUR_SECONDS !== 0) return;
      if (Math.abs(shiftSeconds) > MAX_SHIFT_SECONDS) return;
      shifted++;
      shifts.set(shiftSeconds, (shifts.get(shiftSeconds) ?? 0) + 1);
      if (importId !== null) imports.set(importId, (imports.get(importId) ?? 0) + 1);
    },
    /** Returns the shift; undefined when another time zone does not explain the differences. */
    result(): TimeShift | undefined {
      const seconds = mostFrequent(shifts);
      if (seconds === undefined || shifted < MIN_ROWS || shifted * 10 < rows * MIN_OF_TEN_ROWS) return undefined;
      return { rows: shifted, seconds, import_id: mostFrequent(imports) ?? null };
    },
  };
}

function mostFrequent<Value>(numbers: ReadonlyMap<Value, number>): Value | undefined {
  let best: Value | undefined;
  let most = 0;
  for (const [value, n] of numbers) {
    if (n <= most) continue;
    best = value;
    most = n;
  }
  return best;
}

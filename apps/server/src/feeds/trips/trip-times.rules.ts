import type { DifferingRide } from "../../city/fleet/ride-import.ts";
import { isoInstant } from "../../iso-instant.ts";
import type { TimeZone } from "./time-zone.rules.ts";

/** When a trip started and ended: milliseconds since 1970, UTC. */
export interface TripTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  /** The start's local time is shown twice that day, and this is the second time. */
  readonly isSecondOccurrence: boolean;
}

/**
 * Milliseconds by which a given duration may differ from the times that it still confirms. Files of 2013 to 2017
 * have times to the minute and durations to the second; with an hour, a change of clocks would go unnoticed.
 */
export const DURATION_TOLERANCE_MS = 60_000;

/**
 * Turns a trip's local times into instants. Where clocks were moved there are several readings: a given duration
 * decides, else the shortest trip that does not end before it starts; where these tie, the first occurrence.
 * When no reading fits a given duration, but the difference of the two local times does (the clock that wrote them
 * was not moved during the trip), the end follows from the start.
 * @param duration milliseconds, where the file has it
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
      const issue = durationError(endedAt - startedAt, duration);
      if (best !== undefined && issue >= smallestError) continue;
      best = { startedAt, endedAt, isSecondOccurrence: index === 1 && startedAt > (starts[0] ?? startedAt) };
      smallestError = issue;
    }
  }
  if (best === undefined) throw new RangeError(`the zone ${zone.name} has no reading of ${start.local}`);
  if (duration === undefined || smallestError <= DURATION_TOLERANCE_MS) return best;
  return clockNotMoved(start, end, duration, best) ?? best;
}

/** The ambiguity of a local time near a clock change. */
type ClockChange = "time_never_shown" | "time_shown_twice";

/** Returns why a time has more than one reading; undefined: it has one. */
export function clockChangeAt(time: WallTime, zone: TimeZone): ClockChange | undefined {
  const [first = 0, second = first] = possibleInstants(time, zone);
  if (first === second) return undefined;
  return first > second ? "time_never_shown" : "time_shown_twice";
}

function possibleInstants(time: WallTime, zone: TimeZone): readonly number[] {
  return time.offset === undefined ? zone.instants(time.local) : [time.local - time.offset];
}

/** Returns how badly a reading fits; the smallest wins. An end before the start is worse than any length. */
function durationError(length: number, duration: number | undefined): number {
  if (duration !== undefined) return Math.abs(length - duration);
  return length >= 0 ? length : Number.MAX_SAFE_INTEGER / 2 - length;
}

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
  /** The clock's offset from UTC in milliseconds, if the file contains it; else the time zone decides. */
  readonly offset: number | undefined;
}

// 2019-01-01 03:09:09.7110, 2023-06-05T13:34:12Z, 2019-04-01 04:02:20.493000+00:00
const YEAR_FIRST =
  /^(\d{4})-(\d{2})-(\d{2})[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?(Z|UTC|[+-]\d{2}:?\d{2})?$/;
// 1/31/2015 0:01, 6/30/2013 23:59:07: month first, as the American systems wrote it
const MONTH_FIRST = /^(\d{1,2})\/(\d{1,2})\/(\d{4}) (\d{1,2}):(\d{2})(?::(\d{2}))?$/;

/**
 * Reads a time. Digits after the millisecond are cut off.
 * @returns undefined when the text is no date with a time, or names one that no calendar has (February 30)
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

/** Tells whether a text is a time that a spreadsheet has cut: minutes, seconds and tenths ("06:17.5"), or "####". */
export function isSpreadsheetTime(text: string): boolean {
  return /^(?:\d{1,2}:\d{2}\.\d|#{3,})$/.test(text);
}

/** `20190101T030909.711`: a local time as ids hold it. */
export function compactLocal(local: number): string {
  const iso = isoInstant(local);
  return `${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 13)}${iso.slice(14, 16)}${iso.slice(17, 23)}`;
}

function milliseconds(fraction: string | undefined): number {
  return fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, "0"));
}

function zoneOffset(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  if (zone === "Z" || zone === "UTC") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}

type Digits = string | undefined;

function fromParts(
  year: Digits,
  month: Digits,
  day: Digits,
  hour: Digits,
  minute: Digits,
  second: Digits,
  ms: number,
): number | undefined {
  const [h, mi, s] = [Number(hour), Number(minute), Number(second ?? 0)];
  if (!(h < 24 && mi < 60 && s < 60)) return undefined;
  const midnight = midnightOf(Number(year), Number(month), Number(day));
  return midnight === undefined ? undefined : midnight + ((h * 60 + mi) * 60 + s) * 1000 + ms;
}

// Times that are read one after the other mostly lie on one day.
let lastDate = { year: NaN, month: NaN, day: NaN, midnight: NaN };

/** Undefined: no calendar has the day. */
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

/** Many rows have the ids of rides that are stored with other times, all moved alike. */
export interface TimeShift {
  /** Rows of which this is so. */
  readonly rows: number;
  /** Seconds by which most of the stored rides are later (negative: earlier). */
  readonly seconds: number;
  /** The import that most of the stored rides came with. */
  readonly import_id: string | null;
}

const QUARTER_HOUR_SECONDS = 15 * 60;
/** Seconds between the clocks of the two zones that are furthest apart. */
const MAX_SHIFT_SECONDS = 26 * 3600;
/** Rows that must be moved alike. One or two rides may differ by whole hours for other reasons. */
const MIN_ROWS = 3;
/** Of ten rows that differ, at least this many must agree. A ride over a change of clocks may be shifted differently. */
const MIN_OF_TEN_ROWS = 9;

/**
 * Recognises rows that were imported before with another time zone: stored rides with their ids, moved by whole quarters of
 * an hour. Two zones differ by one amount or two, because they change their clocks in different weeks.
 */
export function createShiftCounter() {
  const shifts = new Map<number, number>();
  const imports = new Map<string, number>();
  let rows = 0;
  let moved = 0;
  return {
    add({ shiftSeconds, importId }: DifferingRide): void {
      rows++;
      if (shiftSeconds === null || shiftSeconds === 0 || shiftSeconds % QUARTER_HOUR_SECONDS !== 0) return;
      if (Math.abs(shiftSeconds) > MAX_SHIFT_SECONDS) return;
      moved++;
      shifts.set(shiftSeconds, (shifts.get(shiftSeconds) ?? 0) + 1);
      if (importId !== null) imports.set(importId, (imports.get(importId) ?? 0) + 1);
    },
    /** Undefined: another time zone does not explain the differences. */
    result(): TimeShift | undefined {
      const seconds = mostFrequent(shifts);
      if (seconds === undefined || moved < MIN_ROWS || moved * 10 < rows * MIN_OF_TEN_ROWS) return undefined;
      return { rows: moved, seconds, import_id: mostFrequent(imports) ?? null };
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

/** The time range of the charts of a page. The page's address contains it. */
import { cityText, DATE, dayOf, daysLater, dayStart } from "./times.ts";

/** The ranges that a reader can choose with one press. */
export const periods = ["day", "week", "month", "year"] as const;
export type Period = (typeof periods)[number];

/** A range of time, in steps that a chart can draw. */
export interface TimeRange {
  /** Undefined: the reader selected the range in a chart. */
  readonly period: Period | undefined;
  /** RFC 3339. The range ends just before `to`. */
  readonly from: string;
  readonly to: string;
  readonly step: "PT15M" | "PT1H" | "P1D";
}

const periodDays: Readonly<Record<Period, number>> = { day: 1, week: 7, month: 30, year: 365 };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The parameters of the address that give the range. Each is empty if the address does not have it. */
export interface RangeParameters {
  readonly range: string;
  /** The last day of a period: `2026-11-26`; empty: today. */
  readonly to: string;
  /** The start and end of a range that was selected in a chart, in RFC 3339. They take precedence over `range`. */
  readonly since: string;
  readonly until: string;
}

/**
 * Reads the range from an address. Periods consist of whole days in `timeZone`: a day is from midnight to midnight,
 * and a week has seven days.
 */
export function readRange({ range, to, since, until }: RangeParameters, timeZone: string, now: number): TimeRange {
  const [start, end] = [Date.parse(since), Date.parse(until)];
  // False if a parameter is missing or wrong: it is then NaN.
  if (start < end) return { period: undefined, from: iso(start), to: iso(end), step: stepOf(end - start) };
  const period = periods.find((one) => one === range) ?? "day";
  const today = dayOf(now, timeZone);
  const last = isDay(to) && to < today ? to : today;
  // The last day counts as one of the period's days.
  const first = daysLater(last, 1 - periodDays[period]);
  const [begin, finish] = [dayStart(first, timeZone), dayStart(daysLater(last, 1), timeZone)];
  return { period, from: iso(begin), to: iso(finish), step: stepOf(finish - begin) };
}

/** Tells whether a text is a day of the calendar: `2026-02-30` is none. */
function isDay(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && iso(at).startsWith(text) && text.length === 10;
}

const iso = (at: number) => new Date(at).toISOString();

type Values = readonly (number | null)[];

/** Returns one value for each step. Null: not known, for example because the step is in the future. */
export function valuesUntilNow<Step extends { readonly from: string }>(
  steps: readonly Step[],
  of: (step: Step) => number | null | undefined,
): Values {
  const now = new Date().toISOString();
  return steps.map((step) => (step.from > now ? null : (of(step) ?? null)));
}

/** Returns the sum of the known values. */
export const sumOf = (values: Values) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Returns the shortest step with which a range of this length still has few enough steps for a chart. */
function stepOf(lengthMs: number): TimeRange["step"] {
  if (lengthMs <= 2 * DAY_MS) return "PT15M";
  return lengthMs <= 15 * DAY_MS ? "PT1H" : "P1D";
}

/** Returns the parameters of the previous or next period; undefined if that period has not begun. */
export function neighbour(
  range: TimeRange,
  direction: -1 | 1,
  timeZone: string,
  now: number,
): RangeParameters | undefined {
  const today = dayOf(now, timeZone);
  if (range.period === undefined) {
    const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
    const shiftMs = (to - from) * direction;
    if (from + shiftMs >= now) return undefined;
    return { range: "", to: "", since: iso(from + shiftMs), until: iso(to + shiftMs) };
  }
  // The last day of the range, which ends at the midnight after it.
  const last = dayOf(Date.parse(range.to) - 1, timeZone);
  const to = daysLater(last, direction * periodDays[range.period]);
  if (direction === 1 && last >= today) return undefined;
  return { range: range.period, to: to >= today ? "" : to, since: "", until: "" };
}

/** Returns the name of a range: "Thu 26 Nov", "20 Nov – 26 Nov". */
export function rangeText({ from, to, period }: TimeRange, timeZone: string): string {
  const last = Date.parse(to) - 1;
  if (period === "day") return cityText(from, timeZone, DATE);
  if (period === undefined && dayOf(from, timeZone) === dayOf(last, timeZone)) {
    const clock = (at: string) => cityText(at, timeZone, { hour: "2-digit", minute: "2-digit" });
    return `${cityText(from, timeZone, DATE)}, ${clock(from)}–${clock(to)}`;
  }
  const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  if (period === "year") day.year = "numeric";
  return `${cityText(from, timeZone, day)} – ${cityText(last, timeZone, day)}`;
}

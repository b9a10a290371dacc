/** The scales, ticks and texts of a chart. */
import { lazily } from "./lazily.ts";
import { wallTime } from "./time-zone.ts";

/** Values over time that a chart draws in one colour. */
export interface Series {
  readonly label: string;
  /** One value for each of the chart's times; null: not known. */
  readonly values: readonly (number | null)[];
  /**
   * Default `bars`. `bars` and `area` are stacked. `line` and `before` are not: `before` draws the values that the other
   * series are compared with.
   */
  readonly kind?: SeriesKind;
  /** The meaning of the series, which decides its colour. Undefined: the colour follows from the position of the series. */
  readonly tone?: "attention" | "bad" | "off";
}

export type SeriesKind = "bars" | "area" | "line" | "before";

/** Returns the smallest round number that is at least `value` and at least 2, for the top of an axis. */
export function niceMaximum(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 5, 10].find((factor) => factor * magnitude >= value) ?? 10;
  return Math.max(step * magnitude, 2);
}

/** Returns the largest value of a chart: for stacked bars or areas, the largest sum. A chart has bars or areas, not both. */
export function highest(series: readonly Series[], count: number): number {
  const isStacked = ({ kind = "bars" }: Series) => kind === "bars" || kind === "area";
  const stacked = series.filter(isStacked);
  const totals = Array.from({ length: count }, (_, index) =>
    stacked.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  const lines = series.filter((each) => !isStacked(each)).flatMap(({ values }) => values.map((value) => value ?? 0));
  return [...totals, ...lines].reduce((most, value) => Math.max(most, value), 0);
}

/** Formats a day of a chart without a zone. Requests are counted by UTC day, so their days are named in UTC too. */
const day = lazily(() => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }));
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** The texts of a chart's times. */
export interface TimeTexts {
  /**
   * The text of a time where the chart names one alone: "Thu 26 Nov, 08:30". In a chart without a time zone as short as the
   * labels: "08:30" or "26 Nov".
   */
  readonly full: (time: string) => string;
  /** The labels below the chart, each with the index of its time. */
  readonly ticks: readonly { readonly index: number; readonly text: string }[];
}

/**
 * Returns a function that formats the times of a chart that has no system's zone: as a time of day (`08:30`), or as a date if
 * the times are days apart. `zonedTexts` formats those of a chart in a system's zone.
 */
export function unzonedText(times: readonly string[]): (time: string) => string {
  const isByDay = stepOf(times) >= DAY_MS;
  // `wallTime` returns `2026-11-26T08:46:18`.
  const timeOfDay = (time: string) => wallTime(new Date(time)).slice(11, 16);
  return (time) => (isByDay ? day().format(new Date(time)) : timeOfDay(time));
}

/** Returns the milliseconds between the first two times; 0 if there are fewer. */
function stepOf([first, second]: readonly string[]): number {
  return first === undefined || second === undefined ? 0 : Date.parse(second) - Date.parse(first);
}

/** Steps of at least this length count as days: a day on which the clocks change may have 23 hours. */
const ALMOST_DAY_MS = DAY_MS - 2 * HOUR_MS;
/** Pixels that the label of a time needs. */
const TICK_PX = 64;

/** Returns the texts of times in a system's zone, and chooses the labels that fit below a chart of this width. */
export function zonedTexts(times: readonly string[], timeZone: string, width: number): TimeTexts {
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
  const isByDay = stepOf(times) >= ALMOST_DAY_MS;
  const spanMs = times.length < 2 ? 0 : Date.parse(times.at(-1) ?? "") - Date.parse(times[0] ?? "");
  const localParts = format({
    month: "numeric",
    day: "numeric",
    weekday: "short",
    hour: "numeric",
    minute: "numeric",
    hourCycle: "h23",
  });
  const maxLabels = Math.max(2, Math.floor(width / TICK_PX));
  const rule =
    tickRules.find(({ maxSpanMs, perTickMs }) => spanMs <= maxSpanMs && spanMs / perTickMs <= maxLabels) ?? quarterly;
  const label = format(rule.format);
  const date = { weekday: "short", day: "numeric", month: "short" } as const;
  const full = format(isByDay ? { ...date, year: "numeric" } : { ...date, hour: "2-digit", minute: "2-digit" });
  const ticks = times.flatMap((time, index) => {
    const instant = new Date(time);
    return rule.isTick(localTimeOf(localParts, instant)) ? [{ index, text: label.format(instant) }] : [];
  });
  return { full: (time) => full.format(new Date(time)), ticks };
}

interface LocalTime {
  readonly month: number;
  readonly day: number;
  readonly weekday: string;
  readonly hour: number;
  readonly minute: number;
}

function localTimeOf(format: Intl.DateTimeFormat, instant: Date): LocalTime {
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]));
  const [month = 0, date = 0, hour = 0, minute = 0] = ["month", "day", "hour", "minute"].map((name) =>
    Number(parts[name]),
  );
  return { month, day: date, weekday: parts["weekday"] ?? "", hour, minute };
}

/**
 * How to label a time axis. A rule fits if the chart spans at most `maxSpanMs`, and a label for each `perTickMs` finds enough
 * space.
 */
interface TickRule {
  readonly maxSpanMs: number;
  readonly perTickMs: number;
  readonly isTick: (time: LocalTime) => boolean;
  readonly format: Intl.DateTimeFormatOptions;
}

const hours = (every: number): TickRule => ({
  maxSpanMs: 2 * DAY_MS,
  perTickMs: every * HOUR_MS,
  isTick: ({ hour, minute }) => minute === 0 && hour % every === 0,
  format: { hour: "2-digit", minute: "2-digit" },
});
const isMidnight = ({ hour, minute }: LocalTime) => hour === 0 && minute === 0;
/** The last resort, for any span: a label for each quarter of a year. */
const quarterly: TickRule = {
  maxSpanMs: Number.POSITIVE_INFINITY,
  perTickMs: 90 * DAY_MS,
  isTick: (time) => isMidnight(time) && time.day === 1 && time.month % 3 === 1,
  format: { month: "short", year: "2-digit" },
};
/** Sorted from the shortest span to the longest. The first rule that fits is used. */
const tickRules: readonly TickRule[] = [
  {
    maxSpanMs: 2 * HOUR_MS,
    perTickMs: HOUR_MS / 4,
    isTick: ({ minute }) => minute % 15 === 0,
    format: { hour: "2-digit", minute: "2-digit" },
  },
  ...[1, 2, 3, 6, 12].map(hours),
  { maxSpanMs: 15 * DAY_MS, perTickMs: DAY_MS, isTick: isMidnight, format: { weekday: "short", day: "numeric" } },
  {
    maxSpanMs: 15 * DAY_MS,
    perTickMs: 2 * DAY_MS,
    isTick: (time) => isMidnight(time) && time.day % 2 === 0,
    format: { weekday: "short", day: "numeric" },
  },
  {
    maxSpanMs: 100 * DAY_MS,
    perTickMs: 7 * DAY_MS,
    isTick: (time) => isMidnight(time) && time.weekday === "Mon",
    format: { day: "numeric", month: "short" },
  },
  {
    maxSpanMs: 800 * DAY_MS,
    perTickMs: 30 * DAY_MS,
    isTick: (time) => isMidnight(time) && time.day === 1,
    format: { month: "short" },
  },
  quarterly,
];

/** Returns the text of a value: `1,204`. Numbers below 100 have at most one decimal: `12.5`. */
export function valueText(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 100 ? 1 : 0 });
}

/** Returns the text of a point: `14:03: 12 requests`. */
export function pointText(timeText: string, series: readonly Series[], index: number, unit: string): string {
  const values = series.map(({ label, values: numbers }) => {
    const value = valueText(numbers[index]);
    return series.length === 1 ? `${value} ${unit}` : `${label} ${value}`;
  });
  return `${timeText}: ${values.join(", ")}`;
}

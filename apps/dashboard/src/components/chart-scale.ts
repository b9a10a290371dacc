/** The scale and the texts of a chart. */
import { lazily } from "./lazily.ts";

export interface Series {
  readonly label: string;
  /** One for each of the chart's times. */
  readonly values: readonly number[];
}

/** Returns the least round number that is not below: the top of an axis. */
export function niceMaximum(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 5, 10].find((factor) => factor * magnitude >= value) ?? 10;
  return Math.max(step * magnitude, 2);
}

const clock = lazily(() => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }));
// Days are counted in UTC: in the reader's zone they would begin at odd hours.
const day = lazily(() => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }));
const DAY_MS = 86_400_000;

/** Returns the format of a chart's times: with the clock's time, or by day when they are days apart. */
export function timeTexts(times: readonly string[]): (time: string) => string {
  const [first, second] = times;
  const isByDay = first !== undefined && second !== undefined && Date.parse(second) - Date.parse(first) >= DAY_MS;
  return (time) => (isByDay ? day() : clock()).format(new Date(time));
}

/** Returns the text of a bar: `14:03: 12 requests`. */
export function pointText(timeText: string, series: readonly Series[], index: number, unit: string): string {
  const values = series.map(({ label, values: numbers }) => {
    const value = (numbers[index] ?? 0).toLocaleString("en");
    return series.length === 1 ? `${value} ${unit}` : `${label} ${value}`;
  });
  return `${timeText}: ${values.join(", ")}`;
}

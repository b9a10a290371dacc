/** The series of a key's usage chart. */
import type { RequestCounts } from "@bikeshare/contract/console";
import type { Series } from "../../components/chart-scale.ts";

/** The periods that a reader can choose. `hour` is drawn by minute, the others by day. */
export const PERIODS = ["hour", "week", "month"] as const;
/** The period of a usage chart. */
export type Period = (typeof PERIODS)[number];

/** The periods in words. */
export const periodLabels: Readonly<Record<Period, string>> = {
  hour: "Last hour",
  week: "7 days",
  month: "30 days",
};

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MINUTES_OF_HOUR = 60;

/** The number of days in each period that is drawn by day. Today is the last. */
export const periodDays = { week: 7, month: 30 } as const;

/** Returns when the first minute of the last hour began, in milliseconds since 1970. */
export function hourStart(now: number): number {
  return Math.floor(now / MINUTE_MS) * MINUTE_MS - (MINUTES_OF_HOUR - 1) * MINUTE_MS;
}

/** What `Chart` draws: the starts of the steps, and the values of each series. */
export interface UsageChart {
  /** RFC 3339, oldest first. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
}

/** Returns the chart of the last hour by minute. `minutes` omits minutes without a request. */
export function minuteSeries(
  minutes: readonly (RequestCounts & { readonly minute: string })[],
  now: number,
): UsageChart {
  const first = hourStart(now);
  const times = Array.from({ length: MINUTES_OF_HOUR }, (_, index) =>
    new Date(first + index * MINUTE_MS).toISOString(),
  );
  const found = new Map(minutes.map((each) => [Date.parse(each.minute), each]));
  return { times, series: seriesOf(times.map((time) => found.get(Date.parse(time)))) };
}

/** Returns the chart of the last days, in UTC. `rows` has one row for each day and route. */
export function daySeries(
  rows: readonly (RequestCounts & { readonly day: string })[],
  days: number,
  now: number,
): UsageChart {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  const names = Array.from({ length: days }, (_, index) =>
    new Date(now - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
  return {
    times: names.map((day) => `${day}T00:00:00.000Z`),
    series: seriesOf(names.map((day) => addCounts(byDay.get(day) ?? []))),
  };
}

function seriesOf(counts: readonly (RequestCounts | undefined)[]): readonly Series[] {
  const failed = (each: RequestCounts) => each.client_errors + each.server_errors;
  const valuesOf = (value: (each: RequestCounts) => number) =>
    counts.map((each) => (each === undefined ? 0 : value(each)));
  return [
    { label: "succeeded", values: valuesOf((each) => each.requests - failed(each) - each.rate_limited) },
    { label: "failed", values: valuesOf(failed) },
    { label: "refused by the limit", values: valuesOf((each) => each.rate_limited) },
  ];
}

/** Returns the sums of the counts. */
function addCounts(all: readonly RequestCounts[]): RequestCounts {
  const sum = (name: keyof RequestCounts) => all.reduce((total, counts) => total + counts[name], 0);
  return {
    requests: sum("requests"),
    client_errors: sum("client_errors"),
    server_errors: sum("server_errors"),
    rate_limited: sum("rate_limited"),
  };
}

/** Returns the routes that were called, the most called first. */
export function routeTotals(
  rows: readonly (RequestCounts & { readonly route: string })[],
): readonly (RequestCounts & { readonly route: string })[] {
  return [...Map.groupBy(rows, ({ route }) => route)]
    .map(([route, each]) => ({ route, ...addCounts(each) }))
    .toSorted((one, other) => other.requests - one.requests || one.route.localeCompare(other.route));
}

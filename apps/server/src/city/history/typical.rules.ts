import type { DayKind, StationForecast, StationTypical } from "@bikeshare/contract";
import { addDays } from "@bikeshare/rules";

// Computes a station's usual day, and forecasts of its bikes and docks, from past hours. A forecast adds past changes, over
// the same time (the horizon) at the same time of the day, to the present number. It is used only if such forecasts of the
// last two weeks were better than "as now", the forecast that nothing changes.

/** An hour in which a station's state is known. */
export interface KnownHour {
  /** The beginning of the hour, milliseconds since 1970. */
  readonly at: number;
  /** The day and the minute of the day at which the hour begins, in the system's time zone. */
  readonly day: string;
  readonly minute: number;
  /** Bikes and free docks at the beginning of each quarter; null: not online. */
  readonly bikes: readonly (number | null)[];
  readonly docks: readonly (number | null)[];
}

/** A station at the beginning of a quarter of an hour. */
export interface KnownQuarter {
  /** Quarters since 1970. */
  readonly index: number;
  readonly day: string;
  readonly kind: DayKind;
  readonly minute: number;
  readonly bikes: number | null;
  readonly docks: number | null;
}

const QUARTER_MS = 900_000;
const QUARTER_MINUTES = 15;
const DAY_MINUTES = 24 * 60;

/** Returns whether a day is a weekday or on a weekend. */
export function kindOfDay(day: string): DayKind {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  return weekday === 0 || weekday === 6 ? "weekend" : "weekday";
}

/** Returns the quarters of hours, in their order. */
export function quartersOf(hours: readonly KnownHour[]): KnownQuarter[] {
  return hours.flatMap(({ at, day, minute, bikes, docks }) =>
    [0, 1, 2, 3].map((quarter) => {
      const local = minute + quarter * QUARTER_MINUTES;
      // In time zones with an offset of half an hour, an hour (UTC) may begin before midnight and end after it.
      const itsDay = local < DAY_MINUTES ? day : addDays(day, 1);
      return {
        index: at / QUARTER_MS + quarter,
        day: itsDay,
        kind: kindOfDay(itsDay),
        minute: local % DAY_MINUTES,
        bikes: bikes[quarter] ?? null,
        docks: docks[quarter] ?? null,
      };
    }),
  );
}

/** Returns how many days are known. */
export function countDays(quarters: readonly KnownQuarter[]): number {
  return new Set(quarters.map(({ day }) => day)).size;
}

/** Returns the smallest of the values that at least `share` of them do not exceed. @param sorted ascending, not empty */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

const LOW = 0.1;
const MEDIAN = 0.5;
const HIGH = 0.9;

/** Returns the three quantiles of values by which a forecast or a usual value is given. */
function spreadOf(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  return { low: quantile(sorted, LOW), median: quantile(sorted, MEDIAN), high: quantile(sorted, HIGH) };
}

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

function withoutNulls(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

/** Returns the usual day of each kind of day of which any day is known. */
export function usualDays(quarters: readonly KnownQuarter[]): StationTypical["data"] {
  return (["weekday", "weekend"] as const).flatMap((kind) => {
    const ofKind = quarters.filter((quarter) => quarter.kind === kind);
    if (ofKind.length === 0) return [];
    const byMinute = Map.groupBy(ofKind, ({ minute }) => minute);
    return [
      { kind, days: countDays(ofKind), quarters: Array.from({ length: 96 }, (_, n) => usualQuarter(n, byMinute)) },
    ];
  });
}

/** Returns the usual bikes and docks in the quarter `n` of a day, from 0. */
function usualQuarter(n: number, byMinute: ReadonlyMap<number, readonly KnownQuarter[]>) {
  const minute = n * QUARTER_MINUTES;
  const seen = byMinute.get(minute) ?? [];
  const bikes = withoutNulls(seen.map((quarter) => quarter.bikes));
  const docks = withoutNulls(seen.map((quarter) => quarter.docks));
  const shareOfNone = (values: readonly number[]) =>
    values.length === 0 ? null : round(values.filter((value) => value === 0).length / values.length, 3);
  return {
    time: `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`,
    bikes: bikes.length === 0 ? null : spreadOf(bikes),
    docks: docks.length === 0 ? null : spreadOf(docks),
    empty: shareOfNone(bikes),
    full: shareOfNone(docks),
  };
}

/** The possible numbers of bikes or docks after a horizon, ascending and equally likely. */
type Outcomes = readonly number[];

/** How a number of bikes or docks changed within the time that a forecast looks ahead. */
interface Change {
  /** The quarter of an hour, counted since 1970, at which that time began. */
  readonly index: number;
  /** The difference. */
  readonly by: number;
}

/** The changes of a station over a horizon, by the kind of day and minute (`keyOf`) at which they began. */
export type Changes = ReadonlyMap<string, readonly Change[]>;

/**
 * Returns the key of a kind of day and a minute in `Changes`.
 * @param minute may be a quarter of an hour before or after the day; it then counts as the other end of a day of this
 * kind
 */
const keyOf = (kind: DayKind, minute: number) => `${kind} ${(minute + DAY_MINUTES) % DAY_MINUTES}`;

/** Returns how a number changed from each quarter to the one a horizon later. */
export function changesOver(
  quarters: readonly KnownQuarter[],
  field: "bikes" | "docks",
  horizonQuarters: number,
): Changes {
  const values = new Map(quarters.map((quarter) => [quarter.index, quarter[field]]));
  const changes = new Map<string, Change[]>();
  for (const { index, kind, minute, [field]: from } of quarters) {
    const to = values.get(index + horizonQuarters) ?? null;
    if (from === null || to === null) continue;
    const key = keyOf(kind, minute);
    const list = changes.get(key);
    if (list === undefined) changes.set(key, [{ index, by: to - from }]);
    else list.push({ index, by: to - from });
  }
  return changes;
}

/**
 * Returns what a number may become, from its past changes on days of this kind that began at this time of the day, a quarter
 * before it or a quarter after it. Three quarters give three times as many changes.
 * @param before only changes that began before this quarter
 */
export function outcomesOf(
  changes: Changes,
  { kind, minute }: Pick<KnownQuarter, "kind" | "minute">,
  { now, most, before = Infinity }: { readonly now: number; readonly most: number; readonly before?: number },
): Outcomes {
  const outcomes: number[] = [];
  for (const offset of [-QUARTER_MINUTES, 0, QUARTER_MINUTES]) {
    for (const { index, by } of changes.get(keyOf(kind, minute + offset)) ?? []) {
      // The changes of a key are in the order of time.
      if (index >= before) break;
      outcomes.push(Math.min(most, Math.max(0, now + by)));
    }
  }
  return outcomes.sort((a, b) => a - b);
}

type ForecastNumber = StationForecast["bikes"];

/** Returns a forecast from what a number may become. */
export function forecastFrom(now: number, outcomes: Outcomes): ForecastNumber {
  return {
    now,
    low: quantile(outcomes, LOW),
    median: quantile(outcomes, MEDIAN),
    high: quantile(outcomes, HIGH),
    at_least_one: round(shareOfSome(outcomes), 3),
  };
}

/** Returns the forecast that a number stays as it is. */
export function forecastAsNow(now: number): ForecastNumber {
  return { now, low: now, median: now, high: now, at_least_one: now > 0 ? 1 : 0 };
}

/** Returns the chance of at least one bike or dock. */
function shareOfSome(outcomes: Outcomes): number {
  return outcomes.filter((outcome) => outcome > 0).length / outcomes.length;
}

const DAY_QUARTERS = 96;
/** Number of past days for which forecasts are compared with the actual numbers. */
const SCORED_DAYS = 14;
/** Minimum number of changes for a forecast: three quarters on each of the five weekdays of a week. */
const MIN_OUTCOMES = 15;

type Score = NonNullable<StationForecast["score"]>;

/**
 * Compares forecasts of bikes of the last two weeks with the actual numbers, both for forecasts from changes and for "as
 * now". Each forecast uses only what was known before its day, so it cannot contain the number that it forecasts.
 * @param most the largest number of bikes that the station can have
 * @returns null when no forecast could be compared
 */
export function scoreForecasts(
  quarters: readonly KnownQuarter[],
  changes: Changes,
  { horizonQuarters, most }: { readonly horizonQuarters: number; readonly most: number },
): Score | null {
  const last = quarters.at(-1)?.index ?? 0;
  const values = new Map(quarters.map(({ index, bikes }) => [index, bikes]));
  const loss = { change: { brier: 0, pinball: 0 }, as_now: { brier: 0, pinball: 0 } };
  let tried = 0;
  for (const quarter of quarters) {
    if (quarter.index < last - SCORED_DAYS * DAY_QUARTERS || quarter.bikes === null) continue;
    const came = values.get(quarter.index + horizonQuarters) ?? null;
    if (came === null) continue;
    // A change that began a horizon before the day is complete when the day begins.
    const dayBegan = quarter.index - quarter.minute / QUARTER_MINUTES;
    const known = { now: quarter.bikes, most, before: dayBegan - horizonQuarters };
    const outcomes = outcomesOf(changes, quarter, known);
    if (outcomes.length < MIN_OUTCOMES) continue;
    tried++;
    addLoss(loss.change, outcomes, came);
    addLoss(loss.as_now, [quarter.bikes], came);
  }
  if (tried === 0) return null;
  const mean = ({ brier, pinball }: Loss) => ({ brier: round(brier / tried, 4), pinball: round(pinball / tried, 4) });
  return { tried, change: mean(loss.change), as_now: mean(loss.as_now) };
}

/** How far forecasts were off, in two measures. */
interface Loss {
  /** Of the chance of at least one bike: the square of its difference to what came, 0 or 1. */
  brier: number;
  /** Of the numbers of bikes: the mean error of the three quantiles, weighted by their shares. */
  pinball: number;
}

/** Adds the loss of one forecast. @param came the actual number */
function addLoss(loss: Loss, outcomes: Outcomes, came: number): void {
  loss.brier += (shareOfSome(outcomes) - Number(came > 0)) ** 2;
  const shares = [LOW, MEDIAN, HIGH];
  for (const share of shares) {
    const error = came - quantile(outcomes, share);
    loss.pinball += Math.max(share * error, (share - 1) * error) / shares.length;
  }
}

/**
 * Tells whether forecasts from changes were better than "as now": their numbers of bikes were closer to the true numbers
 * (pinball), and their chances of at least one bike no less accurate (brier).
 */
export function isBetter({ change, as_now }: Score): boolean {
  return change.pinball < as_now.pinball && change.brier <= as_now.brier;
}

/** Tells whether there are enough changes at a time to make a forecast of. */
export function areEnough(outcomes: Outcomes): boolean {
  return outcomes.length >= MIN_OUTCOMES;
}

import { HISTORY_RETENTION_DAYS, type SummaryQuery, type SummaryStep, type SystemSummary } from "@bikeshare/contract";
import type {
  ConsoleSummary,
  ConsoleSummaryQuery,
  Glance,
  StationSumsList,
  StationSumsQuery,
} from "@bikeshare/contract/console";
import { readSummaryRange, serviceError, type SummaryRange } from "@bikeshare/rules";
import type { Database, QueryRunner } from "../../storage/db/database.ts";
import { timeZoneOfSystem } from "../descriptions/service.ts";
import { systemsOf } from "../systems/service.ts";
import {
  countRidesUnderWay,
  countStartedInHour,
  findDayBounds,
  findLatestSample,
  type LastingState,
  listLastingStations,
  listRidesOfWeeks,
  listStationSums,
  listSteps,
  type StepRow,
} from "./queries.ts";
import { findFleetNow, findSumProgress, type SumProgress } from "./sums-queries.ts";

/*
 * Reads summaries of a system for the API, the console and monitors: rides, fleet and stations by steps of time, the present
 * state, and the sums of each station. Rides come from sums, and the fleet of past times from samples (`sums-queries.ts`).
 */

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

interface SummaryContext {
  readonly db: QueryRunner;
  readonly clock: () => number;
}

/** Returns the fleet, rides and stations of a system step by step. @throws ServiceError `invalid_parameter` */
export async function systemSummary(
  { db, clock }: SummaryContext,
  systemId: string,
  query: SummaryQuery,
): Promise<SystemSummary> {
  const range = readSummaryRange(query, clock());
  const timeZone = await timeZoneOfSystem(db, systemId);
  const progress = await findSumProgress(db, systemId);
  const rows = await listSteps(db, systemId, await boundsOf(db, range, timeZone));
  return summaryOf(range, timeZone, progress, rows);
}

/** Returns the fleet, rides and stations of a system step by step and, on request, the steps of the period before. */
export async function summaryAgainst(
  { db, clock }: SummaryContext,
  systemId: string,
  { against = "none", ...query }: ConsoleSummaryQuery,
): Promise<ConsoleSummary> {
  const range = readSummaryRange(query, clock());
  const timeZone = await timeZoneOfSystem(db, systemId);
  const progress = await findSumProgress(db, systemId);
  const bounds = await boundsOf(db, range, timeZone);
  const summary = summaryOf(range, timeZone, progress, await listSteps(db, systemId, bounds));
  if (against === "none") return { ...summary, before: [] };
  const rows = await listSteps(db, systemId, await boundsBefore(db, range, timeZone, bounds));
  return { ...summary, before: rows.map((row) => stepOf(row, progress)) };
}

/** Makes the contract's summary from the sums of its steps. */
function summaryOf(
  { step }: SummaryRange,
  timeZone: string,
  progress: SumProgress | undefined,
  rows: readonly StepRow[],
): SystemSummary {
  const data = rows.map((row) => stepOf(row, progress));
  return { step, time_zone: timeZone, summed_to: progress?.summed_to?.toISOString() ?? null, data };
}

/** The bounds of steps in a system's time zone: the start of each step, and the end of the last. */
export interface StepBounds {
  readonly timeZone: string;
  readonly bounds: readonly Date[];
}

/** Returns the bounds of the steps that the system's summary has for a range. @throws ServiceError `invalid_parameter` */
export async function stepBounds(
  { db, clock }: SummaryContext,
  systemId: string,
  query: SummaryQuery,
): Promise<StepBounds> {
  const range = readSummaryRange(query, clock());
  const timeZone = await timeZoneOfSystem(db, systemId);
  return { timeZone, bounds: await boundsOf(db, range, timeZone) };
}

/** Returns the start of each step, and the end of the last. */
async function boundsOf(db: QueryRunner, { step, from, to }: SummaryRange, timeZone: string): Promise<Date[]> {
  if (step === "P1D") return findDayBounds(db, timeZone, new Date(from), new Date(to));
  const length = step === "PT1H" ? HOUR_MS : QUARTER_MS;
  return Array.from({ length: (to - from) / length + 1 }, (_, index) => new Date(from + index * length));
}

/** Returns the bounds of as many steps immediately before `bounds`. */
async function boundsBefore(
  db: QueryRunner,
  { step, from, to }: SummaryRange,
  timeZone: string,
  bounds: readonly Date[],
): Promise<Date[]> {
  if (step !== "P1D") return bounds.map((bound) => new Date(bound.getTime() - (to - from)));
  const [first] = bounds;
  if (first === undefined) return [];
  // Reads one day more, because days differ in length, and keeps the last ones.
  const days = bounds.length - 1;
  const before = await findDayBounds(db, timeZone, new Date(first.getTime() - (days + 1) * DAY_MS), first);
  return before.slice(-(days + 1));
}

/**
 * Converts the sums of a step. Rides are null if the step is not summed; fleet and stations are null without a sample.
 */
function stepOf(
  { from, to, started, ended, is_unsummed, ...means }: StepRow,
  progress: SumProgress | undefined,
): SummaryStep {
  const isSummed =
    progress !== undefined &&
    progress.summed_to !== null &&
    from < progress.summed_to &&
    to > progress.summed_from &&
    !is_unsummed;
  const { available, reserved, on_trip, disabled, missing, online, empty, full, offline } = means;
  // Every sample has all four numbers of stations: if `online` is not null, the others are not, and `?? 0` has no
  // effect.
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    rides_started: isSummed ? started : null,
    rides_ended: isSummed ? ended : null,
    fleet: online === null ? null : { available, reserved, on_trip, disabled, missing },
    stations: online === null ? null : { online, empty: empty ?? 0, full: full ?? 0, offline: offline ?? 0 },
  };
}

/**
 * Returns the present state of the city, and compares the rides of today with the usual number.
 * @param longAfterMs the duration from which a ride counts as under way for too long
 */
export async function cityAtAGlance(
  { db, clock }: SummaryContext,
  systemId: string,
  longAfterMs: number,
): Promise<Glance> {
  const now = new Date(clock());
  const timeZone = await timeZoneOfSystem(db, systemId);
  const progress = await findSumProgress(db, systemId);
  const { online, available, reserved, on_trip, disabled, missing } = await findFleetNow(db, systemId);
  const underWay = await countRidesUnderWay(db, systemId, new Date(now.getTime() - longAfterMs));
  const weeks = { now, timeZone, summedFrom: progress?.summed_from ?? now };
  // The first row is today. There always is one; the default is only for the type.
  const [today = { day: "", until_now: 0, whole_day: null }, ...before] = await listRidesOfWeeks(db, systemId, weeks);
  // The last 24 hours, and the quarter of an hour that is under way.
  const lastDay = { from: floorTo(QUARTER_MS, now) - DAY_MS, to: floorTo(QUARTER_MS, now) + QUARTER_MS } as const;
  const recent = await listSteps(db, systemId, await boundsOf(db, { step: "PT15M", ...lastDay }, timeZone));
  const total = before.reduce((sum, { until_now: rides }) => sum + rides, 0);
  return {
    at: now.toISOString(),
    time_zone: timeZone,
    fleet: { available, reserved, on_trip, disabled, missing },
    stations: {
      online,
      empty: await lastingStations(db, systemId, "empty", now),
      full: await lastingStations(db, systemId, "full", now),
      offline: await lastingStations(db, systemId, "offline", now),
    },
    rides: {
      under_way: underWay.n,
      under_way_long: underWay.long,
      long_after_seconds: Math.round(longAfterMs / 1000),
      today,
      before,
      usual_until_now: before.length === 0 ? null : Math.round((total / before.length) * 10) / 10,
      summed_to: progress?.summed_to?.toISOString() ?? null,
    },
    recent: recent.map((row) => stepOf(row, progress)),
  };
}

/** Returns the latest multiple of `length` (milliseconds since 1970) that is not after an instant. */
function floorTo(length: number, at: Date): number {
  return Math.floor(at.getTime() / length) * length;
}

/** Returns how many stations have a state now, and those that have had it longest, with the time since when. */
async function lastingStations(
  db: QueryRunner,
  systemId: string,
  state: LastingState,
  now: Date,
): Promise<Glance["stations"]["empty"]> {
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const monthOf = (offset: number) => dayOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset));
  const oldest = dayOf(now.getTime() - HISTORY_RETENTION_DAYS * DAY_MS);
  const days = { oldest, lastMonth: monthOf(-1), thisMonth: monthOf(0), nextMonth: monthOf(1) };
  const rows = await listLastingStations(db, systemId, state, days);
  return {
    count: rows[0]?.n ?? 0,
    data: rows.map(({ id, name, bikes, docks, since }) => ({
      id,
      name,
      bikes,
      docks,
      since: since?.toISOString() ?? null,
    })),
  };
}

/**
 * Maximum number of days in a request for the sums of all stations. One more is accepted, because the period is rounded to
 * whole hours.
 */
const MAX_STATION_SUM_DAYS = 7;

/**
 * Returns the sums of each station over a period, which is widened to whole hours.
 * @throws ServiceError `invalid_parameter`
 */
export async function sumsOfStations(
  { db, clock }: SummaryContext,
  systemId: string,
  query: StationSumsQuery,
): Promise<StationSumsList> {
  const now = clock();
  const to = query.to === undefined ? now : Date.parse(query.to);
  const timeZone = await timeZoneOfSystem(db, systemId);
  // Without `from`, the period begins with the day in which it ends.
  const midnight = (await findDayBounds(db, timeZone, new Date(to - 1), new Date(to)))[0]?.getTime() ?? to - DAY_MS;
  const from = query.from === undefined ? midnight : Date.parse(query.from);
  if (from >= to) throw serviceError("invalid_parameter", "timesReversed");
  const range = {
    from: new Date(Math.floor(from / HOUR_MS) * HOUR_MS),
    to: new Date(Math.ceil(to / HOUR_MS) * HOUR_MS),
  };
  const days = Math.ceil((range.to.getTime() - range.from.getTime()) / DAY_MS);
  if (days > MAX_STATION_SUM_DAYS + 1) {
    throw serviceError("invalid_parameter", "tooManyDays", { days, limit: MAX_STATION_SUM_DAYS });
  }
  const progress = await findSumProgress(db, systemId);
  return {
    from: range.from.toISOString(),
    to: range.to.toISOString(),
    summed_to: progress?.summed_to?.toISOString() ?? null,
    data: await listStationSums(db, systemId, range.from, range.to),
  };
}

/** A figure of a system for monitors. */
export interface CityFigure {
  readonly systemId: string;
  readonly of: "bikes" | "stations" | "rides started";
  /** The state of the bikes or stations, such as `available`; empty for rides, which are those started within an hour. */
  readonly state: string;
  readonly n: number;
}

/** Maximum age of a sample that still describes the present. */
const FRESH_MS = 15 * 60_000;

/**
 * Returns the figures of the operator's systems with a fresh sample, from that sample and from sums, so that a scrape does
 * not count rows.
 */
export async function cityFigures(db: Database, now: number): Promise<CityFigure[]> {
  const figures: CityFigure[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    const sample = await findLatestSample(db, systemId);
    if (sample === undefined || now - sample.at.getTime() > FRESH_MS) continue;
    const { available, reserved, on_trip, disabled, missing, online, empty, full, offline } = sample;
    const add = (of: CityFigure["of"], states: Readonly<Record<string, number | null>>) => {
      for (const [state, n] of Object.entries(states)) if (n !== null) figures.push({ systemId, of, state, n });
    };
    add("bikes", { available, reserved, on_trip, disabled, missing });
    add("stations", { online, empty, full, offline });
    add("rides started", { "": await countStartedInHour(db, systemId, new Date(now)) });
  }
  return figures;
}

import { setTimeout } from "node:timers/promises";
import { HISTORY_RETENTION_DAYS, SYSTEM_SUM_RETENTION_YEARS } from "@bikeshare/contract";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import type { Database, Transaction } from "../../storage/db/database.ts";
import { readContextOn } from "../../storage/lists/read-context.ts";
import { horizonOfList } from "../changes/service.ts";
import { timeZoneOfSystem } from "../descriptions/service.ts";
import { hourOf } from "./sum-marks.ts";
import {
  deletePastSums,
  expandOpenMarks,
  findChangedHours,
  hasFlowMarks,
  hasSumMarks,
  insertAllFlowMarks,
  insertFleetSample,
  insertFlowMarks,
  insertMarksBetween,
  insertProgress,
  insertRideMarks,
  lockSumProgress,
  makeFleetSamples,
  sumFlowDay,
  type SumProgress,
  sumRideQuarters,
  sumStationHours,
  type SumTable,
  takeDueFlowDay,
  takeSumMarks,
  updateSumProgress,
} from "./sums-queries.ts";

/*
 * Keeps the sums up to date: rides and states of each station by hour, rides between pairs of stations by day (flows), rides
 * by quarter of an hour, and samples of the fleet. A mark asks for an hour, or a day of flows, to be summed again. An open
 * mark stands for its hour and all later ones. A mark of an hour with `of_flows` also asks for the day of flows, which is
 * marked once the hour is summed. Marks of written rides lack it, because rides mark their days themselves.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Time between two runs. The numbers of rides are about this much behind. */
const INTERVAL_MS = MINUTE_MS;
/** Time between two samples of the fleet, and between two sums of the stations' current hour. */
const SAMPLE_MS = 5 * MINUTE_MS;
/** Time between two sums of today's flows, which read every ride of the day. */
const TODAY_FLOWS_MS = 10 * MINUTE_MS;
/** How long an hour is still summed after its end, because transactions that were open at its end commit later. */
const SETTLING_MS = 15 * MINUTE_MS;
/** Maximum time for which one system is summed before the next system has its turn. */
const TURN_MS = 20_000;
/** Time between two tries of `sumWholePast` while other processes sum the system. */
const RETRY_MS = 100;
/** Maximum number of written rides that one transaction reads to mark their hours. */
const CHANGED_RIDES = 20_000;
/** Intended duration of a transaction. Too low: beginning transactions costs most. Too high: a stopping process waits. */
const BATCH_MS = 1_000;
/** Past hours in the first transaction of a turn. Their number then follows the time that a transaction takes. */
const FIRST_BATCH_HOURS = 4;
/** Maximum number of past hours in one transaction. */
const MAX_BATCH_HOURS = 48;

/** The dependencies of the functions that sum. */
export interface SumContext {
  readonly db: Database;
  readonly clock: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /** Maximum number of written rides that one transaction reads to mark their hours; tests lower it. */
  readonly changedRides?: number;
}

/**
 * Starts to sum every system repeatedly. Several processes may do so: the one that has locked a system's progress sums the
 * system, and the others skip it. Each transaction writes sums and deletes their marks together, so a crash loses nothing.
 */
export function startSumming({
  db,
  clock,
  monotonic,
  ...options
}: SweeperSurroundings & Omit<SumContext, "changedRides">): PeriodicWork<number> {
  const summing = startSweeper({
    ...options,
    intervalMs: INTERVAL_MS,
    batchSize: 1,
    sweep: async (systemId) => {
      const swept = await sumSystem(
        { db, clock, monotonic },
        systemId,
        options.watch && (() => options.watch?.gotOn()),
      );
      // `sumSystem` limits its own duration. The next run sums the rest.
      return { swept, isMore: false };
    },
  });
  // Also runs at the start: a city that was created just before would show no numbers for a minute.
  summing.runOnce().catch((error: unknown) => options.onError(error));
  return summing;
}

/** Sums what has changed in a system, the newest hours first. @returns how many past hours and days were summed */
export async function sumSystem(
  context: SumContext,
  systemId: string,
  onProgress: () => void = () => undefined,
): Promise<number> {
  const begun = context.monotonic();
  const isOver = () => context.monotonic() - begun > TURN_MS;
  if (!(await markChangedHours(context, systemId, isOver))) return 0;
  await sumCurrentHour(context, systemId);
  const hours = await sumMarkedHours(context, systemId, { isOver, onProgress });
  return hours + (await sumDueFlows(context, systemId, { isOver, onProgress }));
}

/** Sums a system until no past hour is marked, or the signal aborts. Other processes may sum the system, too. */
export async function sumWholePast(context: SumContext, systemId: string, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    await sumSystem(context, systemId);
    if (!(await hasSumMarks(context.db, systemId, hourOf(context.clock())))) return;
    // Another process may be summing the remaining hours.
    await setTimeout(RETRY_MS);
  }
}

/** Runs work on a system's sums while they are locked. @returns its result; undefined when another process sums */
function whileLocked<Result>(
  { db }: SumContext,
  systemId: string,
  work: (tx: Transaction, progress: SumProgress) => Promise<Result>,
): Promise<Result | undefined> {
  return db.transaction(async (tx) => {
    await tx.liftStatementTimeout();
    const progress = await lockSumProgress(tx, systemId);
    return progress === undefined ? undefined : work(tx, progress);
  });
}

/**
 * Marks what has changed since the last run: the hours that have ended, the hours of written rides, and the past hours from
 * an open mark on. After a change of the time zone also marks all days of flows.
 * @returns false when another process sums
 */
async function markChangedHours(context: SumContext, systemId: string, isOver: () => boolean): Promise<boolean> {
  const { db, clock, changedRides = CHANGED_RIDES } = context;
  const timeZone = await timeZoneOfSystem(db, systemId);
  const oldest = hourOf(yearsBefore(clock(), SYSTEM_SUM_RETENTION_YEARS));
  for (;;) {
    // The horizon is the position before which all written rides are committed. It is read before the rides, so that
    // rides that are written meanwhile have later positions. A horizon is uncertain while a transaction with an unknown
    // start writes rides: no ride is read then.
    const horizon = await horizonOfList(readContextOn(db).readPool, "rides");
    const isMore = await db.transaction(async (tx) => {
      const now = new Date(clock());
      await insertProgress(tx, systemId, { timeZone, oldest, now });
      const progress = await lockSumProgress(tx, systemId);
      if (progress === undefined) return undefined;
      const next = { ...progress, time_zone: timeZone, next_hour: hourOf(now) };
      // The hours that have ended since the last run. Of those after `summed_to`, no current hour was summed.
      if (progress.next_hour < next.next_hour) {
        const hours = { from: progress.next_hour, to: next.next_hour };
        await insertMarksBetween(tx, systemId, { ...hours, summedTo: progress.summed_to });
      }
      // Replaces open marks, which changes of stations in the past leave, by one mark for each hour.
      const since = await expandOpenMarks(tx, systemId, { oldest: keptFrom(clock()), nextHour: next.next_hour });
      // Marks all days after a change of the time zone. When the sums begin, the marks of all hours lead to their days.
      if (progress.time_zone !== timeZone) {
        const from = new Date(Math.max(progress.summed_from.getTime(), keptFrom(clock()).getTime()));
        await insertAllFlowMarks(tx, systemId, { from, to: now, timeZone, dueAt: now });
      }
      let isFull = false;
      if (!horizon.isUncertain && horizon.position > progress.position) {
        const read = { after: progress.position, before: horizon.position, limit: changedRides };
        const marked = await markWrittenRides(tx, next, read, { oldest, now });
        next.position = marked.position;
        next.summed_from = earliest(next.summed_from, ...marked.hours);
        isFull = marked.n >= changedRides;
      }
      // Hours before `oldest` are never summed: readers would take them for hours without rides.
      if (since !== null) next.summed_from = earliest(next.summed_from, since < oldest ? oldest : since);
      updateSumProgress(tx, next);
      return isFull;
    });
    // Another process sums.
    if (isMore === undefined) return false;
    if (!isMore || isOver()) return true;
  }
}

/**
 * Marks the hours since `oldest` in which rides that were written between two positions start or end, and their days of
 * flows.
 * @returns the position and the number of the rides that were read, and these hours
 */
async function markWrittenRides(
  tx: Transaction,
  { system_id: systemId, next_hour: nextHour, time_zone: timeZone }: SumProgress,
  read: Parameters<typeof findChangedHours>[2],
  { oldest, now }: { readonly oldest: Date; readonly now: Date },
) {
  const { position, n, hours: all } = await findChangedHours(tx, systemId, read);
  const hours = all.filter((hour) => hour >= oldest);
  // The current hour needs no mark, because each run sums it.
  const past = hours.filter((hour) => hour < nextHour);
  await insertRideMarks(tx, systemId, past);
  const ofFlows = hours.filter((hour) => hour >= keptFrom(now.getTime()));
  await insertFlowMarks(tx, systemId, ofFlows, flowTimes(now, timeZone));
  return { position, n, hours };
}

/** Returns the earliest of some instants. */
function earliest(...instants: readonly Date[]): Date {
  return new Date(Math.min(...instants.map((instant) => instant.getTime())));
}

/** Returns when flows are due: those of past days now, those of today only after `TODAY_FLOWS_MS`. */
function flowTimes(now: Date, timeZone: string) {
  return { timeZone, now, todayAt: new Date(now.getTime() + TODAY_FLOWS_MS) };
}

/** Sums the current hour, and the last one while it settles: rides in each run, stations with each sample of the fleet. */
async function sumCurrentHour(context: SumContext, systemId: string): Promise<void> {
  await whileLocked(context, systemId, async (tx, progress) => {
    const now = new Date(context.clock());
    const hour = hourOf(now);
    const isSettling = now.getTime() - hour.getTime() < SETTLING_MS;
    const hours = isSettling ? [new Date(hour.getTime() - HOUR_MS), hour] : [hour];
    await sumRideQuarters(tx, systemId, hours, now);
    const sampledAt = new Date(Math.floor(now.getTime() / SAMPLE_MS) * SAMPLE_MS);
    if (await insertFleetSample(tx, systemId, sampledAt)) await sumStationHours(tx, systemId, hours, now);
    // Makes missing samples when no run has taken any for a while, for example before the service started.
    if (now.getTime() - (progress.summed_to?.getTime() ?? 0) > SAMPLE_MS)
      await makeFleetSamples(tx, systemId, hours, now);
    updateSumProgress(tx, { ...progress, summed_to: now });
  });
}

/** One system's turn of summing. */
interface Turn {
  /** Whether the turn has lasted for `TURN_MS`. */
  readonly isOver: () => boolean;
  readonly onProgress: () => void;
}

/** Sums marked past hours, in batches whose size follows the time that a batch takes. @returns how many hours it summed */
async function sumMarkedHours(context: SumContext, systemId: string, { isOver, onProgress }: Turn): Promise<number> {
  const { clock, monotonic } = context;
  let summed = 0;
  for (let batch = FIRST_BATCH_HOURS; !isOver();) {
    const begun = monotonic();
    const hours = await whileLocked(context, systemId, async (tx, progress) => {
      const now = new Date(clock());
      const marked = await takeSumMarks(tx, systemId, hourOf(now), batch);
      const all = marked.map(({ hour }) => hour);
      const ofStations = all.filter((hour) => hour >= keptFrom(clock()));
      await sumRideQuarters(tx, systemId, all, now);
      await sumStationHours(tx, systemId, ofStations, now);
      await makeFleetSamples(tx, systemId, ofStations, now);
      const ofFlows = marked.filter(({ hour, of_flows: isOfFlows }) => isOfFlows && hour >= keptFrom(clock()));
      await insertFlowMarks(
        tx,
        systemId,
        ofFlows.map(({ hour }) => hour),
        flowTimes(now, progress.time_zone),
      );
      return all.length;
    });
    if (hours === undefined || hours === 0) break;
    summed += hours;
    onProgress();
    const factor = monotonic() - begun > BATCH_MS ? 0.5 : 2;
    batch = Math.min(MAX_BATCH_HOURS, Math.max(1, Math.floor(batch * factor)));
  }
  return summed;
}

/** Sums the flows of the marked days that are due, a day in each transaction. @returns how many days it summed */
async function sumDueFlows(context: SumContext, systemId: string, { isOver, onProgress }: Turn): Promise<number> {
  for (let summed = 0; ; summed++) {
    const isDone = await whileLocked(context, systemId, async (tx, progress) => {
      const now = new Date(context.clock());
      const day = await takeDueFlowDay(tx, systemId, now);
      if (day !== undefined) await sumFlowDay(tx, systemId, day, progress.time_zone);
      else if (!(await hasFlowMarks(tx, systemId))) updateSumProgress(tx, { ...progress, flows_to: now });
      return day === undefined;
    });
    // `isDone` is undefined when another process sums.
    if (isDone !== false || isOver()) return summed;
    onProgress();
  }
}

/** Returns the hour from which sums by station are kept. */
function keptFrom(now: number): Date {
  return hourOf(now - HISTORY_RETENTION_DAYS * DAY_MS);
}

/** Returns the instant some years before another. */
function yearsBefore(now: number, years: number): Date {
  const date = new Date(now);
  date.setUTCFullYear(date.getUTCFullYear() - years);
  return date;
}

const SWEEP_INTERVAL_MS = HOUR_MS;
const SWEEP_ROWS = 5_000;

/** Deletes sums a day after the end of their retention. */
export function startPastSumsSweeper({
  db,
  clock,
  ...options
}: SweeperSurroundings & Pick<SumContext, "db" | "clock">): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: SWEEP_ROWS,
    sweep: async (systemId, limit) => {
      const ofStations = new Date(keptFrom(clock()).getTime() - DAY_MS);
      const ofSystem = new Date(yearsBefore(clock(), SYSTEM_SUM_RETENTION_YEARS).getTime() - DAY_MS);
      const pasts: readonly (readonly [SumTable, Date])[] = [
        ["station_hours", ofStations],
        ["flow_days", ofStations],
        ["ride_quarters", ofSystem],
        ["fleet_samples", ofSystem],
      ];
      let swept = 0;
      let isMore = false;
      for (const [table, before] of pasts) {
        const n = await deletePastSums(db, table, systemId, before, limit);
        swept += n;
        isMore ||= n === limit;
      }
      return { swept, isMore };
    },
  });
}

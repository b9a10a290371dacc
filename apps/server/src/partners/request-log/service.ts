import { REQUEST_LOG_DAYS, USAGE_RETENTION_DAYS } from "@bikeshare/contract";
import {
  type PeriodicWork,
  startPeriodic,
  startSweeper,
  type SweeperSurroundings,
} from "../../storage/background/periodic.ts";
import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import { countedSteps, cutOf } from "../../storage/lists/counted-steps.rules.ts";
import { addDays, dayOf } from "../../storage/partitions/partition.rules.ts";
import { isOfUnits } from "../../storage/set-aside/units.ts";
import {
  type DayUsage,
  deletePastUsage,
  findDayUsage,
  findRequest,
  insertRequests,
  listDayUsage,
  listKeyMinutes,
  listUsageSteps,
  MAX_CHARTED_MINUTES,
  listKeyTotals,
  listMinuteUsage,
  listRequests,
  listRouteCallers,
  type LogPosition,
  type MinuteUsage,
  type RequestFilters,
  type RequestRow,
  updateDayUsage,
  updateMinuteUsage,
  type UsageRange,
  type WholeRequestRow,
} from "./queries.ts";
import { NO_DETAILS } from "./refused-details.rules.ts";
import { createRequestBuffer, createUsageCounter, type LoggedRequest } from "./usage.rules.ts";

export type { LogPosition, WholeRequestRow } from "./queries.ts";
export type { KeyTotal, UsageRange } from "./queries.ts";

/*
 * Reads and writes the request log and the usage. The log has one row for each request that carried an API key, up to a
 * bound. The usage counts all these requests: by key and minute, and by key, day and route.
 */

interface ReadContext {
  readonly db: Queryable;
  readonly clock: () => number;
}

/**
 * Maximum number of requests that one page reads. Too low: a rare request takes more pages. Too high: it takes over 50 ms.
 */
const SCAN_LIMIT = 20_000;
const DAY_MS = 86_400_000;

/** Part of the log, the newest request first. */
export interface RequestPage {
  readonly requests: readonly RequestRow[];
  /** The position of the next page; null: nothing older matches. */
  readonly next: LogPosition | null;
  /**
   * The time of the oldest request that was read, if the page ends at the scan limit: older ones may match. Otherwise null.
   */
  readonly searchedTo: Date | null;
}

type Optional<Filters> = { readonly [Name in keyof Filters]?: Filters[Name] | undefined };

/** A search of the request log. Omitted filters match everything. */
export interface RequestSearch extends Optional<Omit<RequestFilters, "errorsOnly">> {
  /** The position behind which the page begins; undefined: the newest request. */
  readonly after?: LogPosition | undefined;
  readonly limit: number;
  /** Maximum number of requests that the page may read. */
  readonly scanLimit?: number;
}

/** Returns the requests of a system, or of one of its partners or keys. A page ends early at the scan limit. */
export async function searchRequests(
  { db, clock }: ReadContext,
  systemId: string,
  search: RequestSearch,
): Promise<RequestPage> {
  const {
    limit,
    after,
    scanLimit = SCAN_LIMIT,
    // Every HTTP status.
    statusFrom = 100,
    statusTo = 599,
    // Later than every request, even if the clock of the process that logged it is ahead of this one.
    until = new Date(clock() + DAY_MS),
  } = search;
  const filters: RequestFilters = {
    partnerId: search.partnerId,
    keyId: search.keyId,
    errorsOnly: statusFrom >= 400,
    statusFrom,
    statusTo,
    error: search.error ?? null,
    method: search.method ?? null,
    route: search.route ?? null,
    since: search.since ?? new Date(Date.parse(addDays(dayOf(clock()), -REQUEST_LOG_DAYS))),
    until,
  };
  // Without `after`, the page begins with the whole day of `until`; `until` itself leaves out what is later.
  const start = after ?? { day: dayOf(until.getTime()), id: LAST_ID };
  // One more than the page shows: it tells whether another page follows.
  const bounds = { scanLimit, limit: limit + 1 };
  const { matches, scanned, last } = await listRequests(db, systemId, filters, start, bounds);
  const requests = matches.slice(0, limit);
  if (matches.length > limit) return { requests, next: positionOf(requests.at(-1)), searchedTo: null };
  if (last === null || scanned < scanLimit) return { requests, next: null, searchedTo: null };
  return { requests, next: { day: last.day, id: last.id }, searchedTo: new Date(last.at) };
}

/** Sorts after every id, so a search that begins with it includes its whole first day. */
const LAST_ID = "~";

function positionOf(row: RequestRow | undefined): LogPosition | null {
  return row === undefined ? null : { day: row.logged_on, id: row.id };
}

/**
 * Returns the request with a Request-Id; undefined when the request carried no key of the system, was left out of the log,
 * or is too old.
 */
export function requestWithId(
  { db, clock }: ReadContext,
  systemId: string,
  id: string,
): Promise<WholeRequestRow | undefined> {
  // From tomorrow, in case another process's clock is ahead, to the oldest stored day.
  const days = Array.from({ length: REQUEST_LOG_DAYS + 2 }, (_, n) => addDays(dayOf(clock()), 1 - n));
  return findRequest(db, systemId, days, id);
}

/** Returns the usage in each step of time. Steps that were not counted, or only in part, have no counts. */
export async function usageOverTime(
  { db }: Pick<ReadContext, "db">,
  systemId: string,
  owner: Pick<UsageRange, "partnerId" | "keyId">,
  bounds: readonly Date[],
) {
  const rows = await listUsageSteps(db, systemId, owner, bounds);
  // The time before which nothing was counted, because there are too many rows; null: everything was counted.
  const cut = cutOf(rows, MAX_CHARTED_MINUTES);
  const { steps, countedFrom } = countedSteps(bounds, rows, cut);
  const data = steps.map(({ from, to, isCounted, row }) => {
    const { requests = 0, client_errors = 0, server_errors = 0, rate_limited = 0 } = row ?? {};
    return { from, to, counts: isCounted ? { requests, client_errors, server_errors, rate_limited } : null };
  });
  return { data, counted_from: countedFrom };
}

/** Returns the usage by minute, the first minute first. Minutes without requests are left out. */
export function usageByMinute({ db }: Pick<ReadContext, "db">, systemId: string, range: UsageRange) {
  return listMinuteUsage(db, systemId, range);
}

/** Returns the usage by day, key and route, the first day first. */
export function usageByDay({ db }: Pick<ReadContext, "db">, systemId: string, range: UsageRange) {
  return listDayUsage(db, systemId, range);
}

/** Returns the usage of each key of a partner by minute since an instant. */
export function keyMinutesOf({ db, clock }: ReadContext, systemId: string, partnerId: string, since: Date) {
  return listKeyMinutes(db, systemId, partnerId, since, new Date(clock()));
}

/** Returns the total usage of each key of a system since an instant. */
export function keyTotals({ db, clock }: ReadContext, systemId: string, since: Date) {
  return listKeyTotals(db, systemId, since, new Date(clock()));
}

/** Returns the usage of some keys today (UTC). */
export function usageToday({ db, clock }: ReadContext, systemId: string, keyIds: readonly string[]) {
  return findDayUsage(db, systemId, keyIds, dayOf(clock()));
}

/** Returns the keys, of one partner or of all, that called any of some routes (`GET /v1/rides`) in the last `days` days. */
export function callersOf(
  { db, clock }: ReadContext,
  systemId: string,
  routes: readonly string[],
  days: number,
  partnerId: string | null = null,
) {
  return listRouteCallers(db, systemId, addDays(dayOf(clock()), -days), routes, partnerId);
}

/** Time between two sweeps. Counts are kept for over a year, so an hour more does no harm. */
const SWEEP_INTERVAL_MS = 3_600_000;
/** Rows deleted in one transaction. */
const SWEEP_BATCH = 1_000;

/** Starts the sweeper that deletes counts by day after their retention. */
export function startUsageSweeper({ db, clock, ...options }: ReadContext & SweeperSurroundings): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: SWEEP_BATCH,
    sweep: async (systemId, limit) => {
      const swept = await deletePastUsage(db, systemId, addDays(dayOf(clock()), -USAGE_RETENTION_DAYS), limit);
      return { swept, isMore: swept === limit };
    },
  });
}

/** Logs requests and their outcomes, outside of the request's path. */
export interface RequestLog {
  /** Records a request, in memory. */
  record(request: LoggedRequest): void;
  /** Writes the records since the last call. */
  flush(): Promise<void>;
  /** Stops, and writes the remaining records. */
  close(): Promise<void>;
}

interface RequestLogOptions {
  readonly db: Database;
  /** Called with the number of requests that were left out of the log: there were too many, or they could not be written. */
  readonly onUnlogged: (count: number) => void;
  /** Called when a write failed: the log or the counts have a gap. The write is not repeated: it might count twice. */
  readonly onError: (error: unknown) => void;
}

/** Milliseconds between two writes. Too high: a partner does not find its latest request. */
const FLUSH_INTERVAL_MS = 1_000;
/** Writes of the log for each write of the counts, which rewrites a row for every key that called. */
const FLUSHES_PER_COUNT = 5;

/**
 * Logs requests and counts them by key. The log is bounded: further requests are counted but not logged. A process that is
 * killed loses unwritten records, at most five seconds of counts.
 */
export function openRequestLog({ db, onUnlogged, onError }: RequestLogOptions): RequestLog {
  const usage = createUsageCounter();
  const buffer = createRequestBuffer();
  let flushes = 0;

  /** Writes requests to the log. A row that cannot be stored is left out; the others are written. */
  const writeRequests = async (systemId: string, rows: LoggedRequest[]): Promise<void> => {
    try {
      await inBackground(db, (tx) => insertSystemRequests(tx, systemId, rows));
    } catch (error) {
      // The rows themselves are the cause (`isOfUnits`), not the database's state: halves them until the row that
      // PostgreSQL refuses is alone.
      if (rows.length > 1 && isOfUnits(error)) {
        const half = Math.ceil(rows.length / 2);
        await writeRequests(systemId, rows.slice(0, half));
        return writeRequests(systemId, rows.slice(half));
      }
      onUnlogged(rows.length);
      onError(error);
    }
  };
  const writeLog = async () => {
    const { requests, unlogged } = buffer.take();
    if (unlogged > 0) onUnlogged(unlogged);
    for (const [systemId, rows] of Map.groupBy(requests, (request) => request.systemId))
      await writeRequests(systemId, rows);
  };
  const writeCounts = async () => {
    // Each system separately: a failure of one must not affect the others.
    for (const counts of usage.take())
      await inBackground(db, (tx) => addSystemUsage(tx, counts.systemId, counts)).catch(onError);
  };
  /** @param mustCount whether the counts are written too. Otherwise only every FLUSHES_PER_COUNT-th call writes them */
  const write = async (mustCount: boolean) => {
    const isCounting = mustCount || ++flushes % FLUSHES_PER_COUNT === 0;
    // Log and counts are written separately, so that the counts are written even if the log cannot be.
    await writeLog().catch(onError);
    if (isCounting) await writeCounts().catch(onError);
  };
  const periodic = startPeriodic({ intervalMs: FLUSH_INTERVAL_MS, work: () => write(false), onError });

  return {
    record: (request) => usage.count(request, buffer.add(request)),
    flush: () => write(true),
    async close() {
      await periodic.close();
      await write(true);
    },
  };
}

/** Writes in a transaction that does not wait for the disk: a log may lose its end in a crash. */
function inBackground(db: Database, write: (tx: Transaction) => void): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.run("set local synchronous_commit = off");
    write(tx);
  });
}

function insertSystemRequests(tx: Transaction, systemId: string, requests: LoggedRequest[]): void {
  const rows = requests.map(({ id, at, keyId, partnerId, method, route, status, error, ms, address, details }) => ({
    logged_on: dayOf(at),
    id,
    at: new Date(at),
    key_id: keyId,
    partner_id: partnerId,
    method,
    route,
    status,
    error,
    ms,
    address,
    ...(details ?? NO_DETAILS),
  }));
  insertRequests(tx, systemId, rows);
}

/** Writes the counts of a system. */
function addSystemUsage(
  tx: Transaction,
  systemId: string,
  { minutes, days }: { readonly minutes: readonly MinuteUsage[]; readonly days: readonly DayUsage[] },
): void {
  if (minutes.length > 0) updateMinuteUsage(tx, systemId, minutes);
  if (days.length > 0) updateDayUsage(tx, systemId, days);
}

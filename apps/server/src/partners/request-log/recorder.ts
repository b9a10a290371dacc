import { startPeriodic } from "../../storage/background/periodic.ts";
import type { Database } from "../../storage/db/database.ts";
import { dayOf } from "../../storage/partitions/partition.rules.ts";
import { isOfUnits } from "../../storage/set-aside/units.ts";
import { type DayUsage, insertRequests, type MinuteUsage, updateDayUsage, updateMinuteUsage } from "./queries.ts";
import { NO_DETAILS } from "./refused-details.rules.ts";
import { createRequestBuffer, createUsageCounter, type LoggedRequest } from "./usage.rules.ts";

/** Keeps what callers ask for and how they are answered, off the request's path. */
export interface RequestLog {
  record(request: LoggedRequest): void;
  /** Writes what was recorded since the last time. */
  flush(): Promise<void>;
  /** Writes the rest. */
  close(): Promise<void>;
}

export interface RequestLogOptions {
  readonly db: Database;
  /** Requests were left out of the log, because there were too many or they could not be written. */
  readonly onUnlogged: (count: number) => void;
  /** A write failed: the log or the counts have a gap. Written twice, they would be wrong as well. */
  readonly onError: (error: unknown) => void;
}

/** Time between two writes. Longer, and a partner who looks for its request does not find it yet. */
const FLUSH_INTERVAL_MS = 1_000;
/** Writes of the log for each write of the counts, which rewrites a row for every key that called. */
const FLUSHES_PER_COUNT = 5;

/**
 * Logs requests and counts them by key. The log has a bound: what is above it is counted, and left out. A process that is
 * killed loses what it has not written, at most five seconds of counts.
 */
export function openRequestLog({ db, onUnlogged, onError }: RequestLogOptions): RequestLog {
  const usage = createUsageCounter();
  const buffer = createRequestBuffer();
  let flushes = 0;

  /** A row that cannot be stored is left out; the others are written. */
  const writeRequests = async (systemId: string, rows: LoggedRequest[]): Promise<void> => {
    try {
      await inBackground(db, (tx) => insertSystemRequests(tx, systemId, rows));
    } catch (error) {
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
    // Each system by itself: what cannot be written of one must not cost the others.
    for (const counts of usage.take())
      await inBackground(db, (tx) => addSystemUsage(tx, counts.systemId, counts)).catch(onError);
  };
  const write = async (isLast: boolean) => {
    const isCounting = isLast || ++flushes % FLUSHES_PER_COUNT === 0;
    // Each by itself: a log that cannot be written must not cost the counts.
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

type Writing = Parameters<typeof insertRequests>[0];

/** Writes in a transaction that does not wait for the disk: a log may lose its end in a crash. */
function inBackground(db: Database, write: (tx: Writing) => void): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.run("set local synchronous_commit = off");
    write(tx);
  });
}

function insertSystemRequests(tx: Writing, systemId: string, requests: LoggedRequest[]): void {
  const rows = requests.map(({ id, at, keyId, partnerId, method, route, status, error, ms, address, details }) => ({
    ...{ logged_on: dayOf(at), id, at: new Date(at), key_id: keyId, partner_id: partnerId },
    ...{ method, route, status, error, ms, address },
    ...(details ?? NO_DETAILS),
  }));
  insertRequests(tx, systemId, rows);
}

function addSystemUsage(
  tx: Writing,
  systemId: string,
  { minutes, days }: { readonly minutes: readonly MinuteUsage[]; readonly days: readonly DayUsage[] },
): void {
  if (minutes.length > 0) updateMinuteUsage(tx, systemId, minutes);
  if (days.length > 0) updateDayUsage(tx, systemId, days);
}

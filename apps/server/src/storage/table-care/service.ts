import { setTimeout } from "node:timers/promises";
import { type PeriodicWork, startPeriodic } from "../background/periodic.ts";
import type { WorkWatch } from "../background/work-watch.ts";
import type { Database } from "../db/database.ts";
import { vacuumTables, withoutTimeout } from "../db/vacuum.ts";
import { findProcess, listNeglectedTables, notifyToCancel } from "./queries.ts";

/** Between two searches for neglected tables. Too high: lists stay slow for longer after a program wrote many rows. */
const INTERVAL_MS = 5_000;
/** Between two attempts to cancel a vacuum on closing. Too low: costs statements. Too high: delays the process's end. */
const CANCEL_INTERVAL_MS = 100;
/** Minimum pages of a table to vacuum. PostgreSQL reads smaller tables quickly even without statistics. */
const MIN_PAGES = 100;
/**
 * A table is left alone for this many times as long as its vacuum took, and all tables for as many times as their search
 * took: each uses at most a twentieth of one core. A distributed database searches thousands of shards on every node.
 */
const REST_FACTOR = 20;
/**
 * Minimum time for which a table is left alone after a vacuum. Doubled after each vacuum in a row that leaves the table
 * neglected: then an old open transaction keeps the vacuum from working.
 */
const MIN_REST_MS = 10_000;
const MAX_REST_MS = 15 * 60_000;

export interface TableCareOptions {
  readonly db: Database;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  readonly onError: (error: unknown) => void;
  readonly watch?: WorkWatch | undefined;
  /** Smaller tables, in pages of 8 KiB, are left out. Tests pass a small number. */
  readonly minPages?: number;
}

/** For how long a table is left alone after a vacuum. */
interface Rest {
  /** Milliseconds of the clock `monotonic`. */
  readonly until: number;
  /** The minimum that applied to this rest. It doubles for the next one in a row, up to `MAX_REST_MS`. */
  readonly minMs: number;
}

/**
 * Vacuums and analyses, one after the other, neglected tables (queries.ts): PostgreSQL would read them slowly. Any number of
 * processes may do so.
 */
export function startTableCare(options: TableCareOptions): PeriodicWork {
  const { db, monotonic, onError, watch, minPages = MIN_PAGES } = options;
  const rests = new Map<string, Rest>();
  let searchAfter = -Infinity;
  let cancel: (() => Promise<unknown>) | undefined;
  let isClosed = false;

  const care = (name: string) =>
    withoutTimeout(db.connectionString, async (own) => {
      const pid = await findProcess(own);
      cancel = () => notifyToCancel(db, pid);
      // A vacuum may take any time. PostgreSQL is working meanwhile, so it must not count as a hang.
      const alive = setInterval(() => watch?.gotOn(), INTERVAL_MS);
      try {
        if (!isClosed) await vacuumTables(own, [name], { isLockAwaited: false });
      } catch (error) {
        if (!isClosed) throw error;
      } finally {
        clearInterval(alive);
        cancel = undefined;
      }
    });
  const work = async () => {
    const searchBegun = monotonic();
    if (searchBegun < searchAfter) return;
    const neglected = await listNeglectedTables(db, { minPages });
    searchAfter = searchBegun + REST_FACTOR * (monotonic() - searchBegun);
    const names = new Set(neglected.map(({ name }) => name));
    // A table that is no longer neglected begins with the minimum again, once its rest is over.
    for (const [name, { until }] of rests) if (!names.has(name) && monotonic() >= until) rests.delete(name);
    for (const { name } of neglected) {
      const rest = rests.get(name);
      const begun = monotonic();
      if (isClosed || (rest !== undefined && begun < rest.until)) continue;
      await care(name);
      const minMs = rest === undefined ? MIN_REST_MS : Math.min(MAX_REST_MS, 2 * rest.minMs);
      const now = monotonic();
      rests.set(name, { until: now + Math.max(minMs, REST_FACTOR * (now - begun)), minMs });
    }
  };
  const periodic = startPeriodic({ intervalMs: INTERVAL_MS, work, onError, watch, immediately: true });
  return {
    runOnce: () => periodic.runOnce(),
    async close() {
      isClosed = true;
      const closed = periodic.close().then(() => true);
      // PostgreSQL ignores a cancellation that arrives before the vacuum begins, so it is repeated until the work has ended.
      const wait = () => setTimeout(CANCEL_INTERVAL_MS, false, { ref: false });
      do {
        await cancel?.().catch(() => undefined);
      } while (!(await Promise.race([closed, wait()])));
    },
  };
}

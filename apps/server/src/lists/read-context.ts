import { type ServiceError, serviceError } from "@bikeshare/rules";
import type { QueryRunner } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import type { ReadPool } from "../db/read-pool.ts";

/** What reading lists needs: the pipelined reader for what is quick, places of their own for what may take long. */
export interface ReadContext {
  readonly readPool: ReadPool;
  readonly filtered: FilteredReads;
}

/** The same over one pool, for a program of its own that reads a list now and then. */
export function readContextOn(db: QueryRunner): ReadContext {
  return {
    readPool: { read: (statement, values) => db.query(statement, values), close: () => Promise.resolve() },
    filtered: { read: (_, work) => work(db), usage: () => ({ running: 0, waiting: 0 }) },
  };
}

/** The partner that reads a list. */
export interface ListReader {
  readonly systemId: string;
  readonly partnerId: string;
}

/**
 * Reads whose cost depends on what is asked for: filtered lists, and others without a kept length. They have a few
 * connections of their own, so that however much is asked of them, every other request finds one.
 */
export interface FilteredReads {
  /**
   * Runs a read as soon as fewer than `maxRunning` run. A partner has one at a time, whatever number of keys it uses.
   * @throws ServiceError `unavailable` when the read cannot begin in time, or takes too long
   */
  read<Result>(whose: ListReader, work: (db: QueryRunner) => Promise<Result>): Promise<Result>;
  readonly usage: () => { readonly running: number; readonly waiting: number };
}

/** Does work on connections for filtered reads. */
export type RunFiltered = <Result>(work: (db: QueryRunner) => Promise<Result>) => Promise<Result>;

export interface FilteredReadsOptions {
  /** On a pool of `maxRunning` connections for these reads alone, with a statement timeout. */
  readonly run: RunFiltered;
  readonly maxRunning: number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  readonly onRefused: (reason: "full" | "slow") => void;
  /** Milliseconds that a read may wait before it begins. */
  readonly maxWaitMs?: number;
}

/** Milliseconds after which PostgreSQL cancels a statement of a filtered list. */
export const FILTERED_STATEMENT_TIMEOUT_MS = 1_500;

/** Long enough that quick reads sent side by side all run; a caller who would wait longer should retry later. */
const MAX_WAIT_MS = 500;
/** Reads of one partner that may wait. */
const MAX_WAITING = 8;
/**
 * A partner whose reads have recently run for more than so many milliseconds leaves the last connection to others:
 * partners who read a lot cannot occupy all connections, and quick reads always find one.
 */
const HEAVY_USE_MS = 1_000;
/** The share of passing time that is subtracted from past use: a partner that uses less of one connection never stays heavy. */
const FORGOTTEN_SHARE = 0.1;

/** `Retry-After` of a rejected caller. */
const RETRY_FULL_SECONDS = 1;
const RETRY_SLOW_SECONDS = 5;

export function createFilteredReads(options: FilteredReadsOptions): FilteredReads {
  const { run, monotonic, onRefused } = options;
  const queue = createQueue(options);
  return {
    usage: queue.usage,
    async read({ systemId, partnerId }, work) {
      const reader = `${systemId}\n${partnerId}`;
      await queue.enter(reader);
      const begun = monotonic();
      try {
        return await run(work);
      } catch (error) {
        if (codeOf(error) !== sqlState.queryCanceled) throw error;
        onRefused("slow");
        throw tooSlow(error);
      } finally {
        queue.leave(reader, monotonic() - begun);
      }
    },
  };
}

/** Lets readers run, each once at a time and `maxRunning` in all. */
interface ReadQueue {
  /** Resolves when the reader may run. @throws ServiceError when it has waited too long */
  enter(reader: string): Promise<void>;
  /** @param ms for how long the read ran */
  leave(reader: string, ms: number): void;
  readonly usage: FilteredReads["usage"];
}

interface Waiting {
  readonly reader: string;
  readonly begin: () => void;
}

function createQueue({ maxRunning, monotonic, onRefused, maxWaitMs = MAX_WAIT_MS }: FilteredReadsOptions): ReadQueue {
  const running = new Set<string>();
  const uses = createUses(monotonic);
  let waiting: Waiting[] = [];

  const canRun = (reader: string) =>
    !running.has(reader) && running.size < (uses.of(reader) > HEAVY_USE_MS ? maxRunning - 1 : maxRunning);
  const refuse = (reader: string) => {
    onRefused("full");
    return tooMany(running.has(reader));
  };
  return {
    usage: () => ({ running: running.size, waiting: waiting.length }),
    enter(reader) {
      if (canRun(reader)) {
        running.add(reader);
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        if (waiting.filter((each) => each.reader === reader).length >= MAX_WAITING) throw refuse(reader);
        const timer = setTimeout(() => {
          waiting = waiting.filter((each) => each !== entry);
          reject(refuse(reader));
        }, maxWaitMs);
        const entry = { reader, begin: () => (clearTimeout(timer), resolve()) };
        waiting.push(entry);
      });
    },
    leave(reader, ms) {
      uses.add(reader, ms);
      running.delete(reader);
      const able = waiting.filter((each) => canRun(each.reader));
      // The reader with the least use comes first; of several, the one that has waited longest.
      const [next] = able.toSorted((one, other) => uses.of(one.reader) - uses.of(other.reader));
      if (next === undefined) return;
      waiting = waiting.filter((each) => each !== next);
      running.add(next.reader);
      next.begin();
    },
  };
}

function tooMany(hasAnother: boolean): ServiceError {
  const message = hasAnother ? "ownFilteredLists" : "filteredLists";
  return serviceError("unavailable", message, { retryAfterSeconds: RETRY_FULL_SECONDS });
}

function tooSlow(cause: unknown): ServiceError {
  return serviceError(
    "unavailable",
    "slowFilter",
    { limitSeconds: FILTERED_STATEMENT_TIMEOUT_MS / 1000, retryAfterSeconds: RETRY_SLOW_SECONDS },
    { cause },
  );
}

/** How many milliseconds of places each reader has used lately. */
function createUses(monotonic: () => number) {
  const used = new Map<string, { ms: number; at: number }>();
  const of = (reader: string): number => {
    const use = used.get(reader);
    return use === undefined ? 0 : Math.max(0, use.ms - (monotonic() - use.at) * FORGOTTEN_SHARE);
  };
  return {
    of,
    add(reader: string, ms: number): void {
      used.set(reader, { ms: of(reader) + ms, at: monotonic() });
      // As many as there are partners at most; those who have used nothing for long are forgotten.
      if (used.size > 1_000) for (const each of used.keys()) if (of(each) === 0) used.delete(each);
    },
  };
}

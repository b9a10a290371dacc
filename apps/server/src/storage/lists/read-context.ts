import { type ServiceError, serviceError } from "@bikeshare/rules";
import type { Queryable, QueryRunner } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import type { ReadPool } from "../db/read-pool.ts";
import type { RowMemory } from "./row-memory.ts";

/*
 * Runs the reads of lists whose cost depends on the request (filtered reads). They share a few connections, and partners
 * take turns.
 */

/** The dependencies of reading lists: the pipelined reader for fast statements, and separate connections for slow ones. */
export interface ReadContext {
  readonly readPool: ReadPool;
  readonly filtered: FilteredReads;
  /** Without it the database counts filtered lists. */
  readonly rowMemory?: RowMemory | undefined;
}

/** Returns a read context over one pool, for a separate program that reads a list now and then. */
export function readContextOn(db: Queryable): ReadContext {
  return {
    readPool: { read: (statement, values) => db.query(statement, values), close: () => Promise.resolve() },
    filtered: {
      read: (_, work) => work(db),
      hold: (_, work) => work(),
      databaseFor: () => db,
      usage: () => ({ running: 0, waiting: 0 }),
    },
  };
}

/** The partner that reads a list. */
export interface ListReader {
  readonly systemId: string;
  readonly partnerId: string;
  /** Aborted when the caller has disconnected: then no further read begins. */
  readonly signal?: AbortSignal;
  /**
   * Whether the read comes after the partner's other reads, and may wait for longer: that of a dashboard page, or of the next
   * part of an answer that has begun, which would break off.
   */
  readonly isPatient?: boolean;
}

/**
 * Reads whose cost depends on the request: filtered lists, and others without a stored length. They use a few separate
 * connections, so that they cannot delay other requests.
 */
export interface FilteredReads {
  /**
   * Runs a read as soon as fewer than `maxRunning` reads run (fewer still for a partner that reads a lot: `HEAVY_USE_MS`). A
   * partner has one running read, however many keys it uses.
   * @throws ServiceError `unavailable` when the read cannot begin in time, too many reads of the partner wait, or it takes
   * too long; `invalid_request` when the caller has disconnected before it begins
   */
  read<Result>(whose: ListReader, work: (db: QueryRunner) => Promise<Result>): Promise<Result>;
  /** Counts `work` as such a read although it uses other connections, because it takes as long. */
  hold<Result>(whose: ListReader, work: () => Promise<Result>): Promise<Result>;
  /** The primary, for services that run several statements. Each statement, or transaction, counts as one such read. */
  databaseFor(whose: ListReader): Queryable;
  readonly usage: () => { readonly running: number; readonly waiting: number };
}

/** Runs work on connections for filtered reads. */
export type RunFiltered = <Result>(work: (db: QueryRunner) => Promise<Result>) => Promise<Result>;

/** The connections of filtered reads, and how many may run and wait. */
export interface FilteredReadsOptions {
  /** Runs work on a pool of `maxRunning` connections that only these reads use, with a statement timeout. */
  readonly run: RunFiltered;
  /** The pool for such reads on the primary. */
  readonly primary: Queryable;
  readonly maxRunning: number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /**
   * Called when a read is refused. `full`: it could not begin in time, or too many of the partner's reads waited. `slow`:
   * PostgreSQL cancelled it.
   */
  readonly onRefused: (reason: "full" | "slow") => void;
  /** Milliseconds that a read may wait before it begins. */
  readonly maxWaitMs?: number;
}

/** Milliseconds after which PostgreSQL cancels a statement of a filtered list. */
export const FILTERED_STATEMENT_TIMEOUT_MS = 1_500;

/** Long enough that several quick reads sent at once all run. A caller that would wait longer should retry later. */
const MAX_WAIT_MS = 500;
/** The most reads of one partner that may wait. */
const MAX_WAITING = 8;
/**
 * Patient reads may wait so many times longer, and so many times as many of a partner may wait: a change makes all open pages
 * of the dashboard read at once.
 */
const PATIENT_FACTOR = 10;
/**
 * A partner whose reads have recently run for longer than this cannot use the last free connection. Partners that read a lot
 * thus cannot occupy all connections, and leave one to the quick reads of others.
 */
const HEAVY_USE_MS = 1_000;
/**
 * Share of the elapsed time that is subtracted from past use: a partner that uses less than this of a connection does not
 * stay heavy.
 */
const FORGOTTEN_SHARE = 0.1;

/** `Retry-After` of a rejected caller. */
const RETRY_FULL_SECONDS = 1;
const RETRY_SLOW_SECONDS = 5;

/** Creates the reads of a process, which share `maxRunning` connections. */
export function createFilteredReads(options: FilteredReadsOptions): FilteredReads {
  const { run, primary, monotonic, onRefused } = options;
  const queue = createQueue(options);
  const hold: FilteredReads["hold"] = async (whose, work) => {
    const reader = `${whose.systemId}\n${whose.partnerId}`;
    await queue.enter(reader, whose);
    const begun = monotonic();
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== sqlState.queryCanceled) throw error;
      onRefused("slow");
      throw tooSlow(error);
    } finally {
      queue.leave(reader, monotonic() - begun);
    }
  };
  return {
    usage: queue.usage,
    hold,
    read: (whose, work) => hold(whose, () => run(work)),
    databaseFor: (whose) => ({
      query: (...sent) => hold(whose, () => primary.query(...sent)),
      transaction: (...given) => hold(whose, () => primary.transaction(...given)),
    }),
  };
}

/** Lets readers run, each once at a time and `maxRunning` in all. A `reader` is a partner: its system's id and its own. */
interface ReadQueue {
  /** Resolves when the reader may run. @throws ServiceError when it has to wait too long, or has disconnected */
  enter(reader: string, how: Pick<ListReader, "signal" | "isPatient">): Promise<void>;
  /** @param ms for how long the read ran */
  leave(reader: string, ms: number): void;
  readonly usage: FilteredReads["usage"];
}

/** A read that waits for its turn. */
interface Waiting {
  readonly reader: string;
  readonly isPatient: boolean;
  readonly begin: () => void;
}

/** Creates the queue of the reads. */
function createQueue({ maxRunning, monotonic, onRefused, maxWaitMs = MAX_WAIT_MS }: FilteredReadsOptions): ReadQueue {
  const running = new Set<string>();
  const uses = createUses(monotonic);
  let waiting: Waiting[] = [];

  const canRun = (reader: string) => {
    const isHeavy = uses.of(reader) > HEAVY_USE_MS;
    return !running.has(reader) && running.size < (isHeavy ? maxRunning - 1 : maxRunning);
  };
  const refuse = (reader: string) => {
    onRefused("full");
    return tooMany(running.has(reader));
  };
  return {
    usage: () => ({ running: running.size, waiting: waiting.length }),
    enter(reader, { signal, isPatient = false }) {
      if (signal?.aborted === true) return Promise.reject(gone());
      if (canRun(reader)) {
        running.add(reader);
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        const factor = isPatient ? PATIENT_FACTOR : 1;
        const before = waiting.filter((each) => each.reader === reader && each.isPatient === isPatient);
        if (before.length >= MAX_WAITING * factor) throw refuse(reader);
        /**
         * Returns a function that removes this read from the waiting ones, and then settles its promise. It is called only
         * after all constants below are set.
         */
        const ending = (settle: () => void) => () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", giveUp);
          waiting = waiting.filter((each) => each !== entry);
          settle();
        };
        const giveUp = ending(() => reject(gone()));
        const timeOut = ending(() => reject(refuse(reader)));
        const timer = setTimeout(timeOut, maxWaitMs * factor);
        const entry: Waiting = { reader, isPatient, begin: ending(() => resolve()) };
        signal?.addEventListener("abort", giveUp);
        waiting.push(entry);
      });
    },
    leave(reader, ms) {
      uses.add(reader, ms);
      running.delete(reader);
      const able = waiting.filter((each) => canRun(each.reader));
      const [next] = inOrder(able, uses.of);
      if (next === undefined) return;
      running.add(next.reader);
      next.begin();
    },
  };
}

/**
 * Returns waiting reads in the order in which they may run: first those of the reader with the least use. Of readers with
 * equal use, reads that are not patient come first, and of these the one that has waited longest, because the sort is stable.
 */
function inOrder(reads: readonly Waiting[], useOf: (reader: string) => number): Waiting[] {
  return reads.toSorted(
    (one, other) => useOf(one.reader) - useOf(other.reader) || Number(one.isPatient) - Number(other.isPatient),
  );
}

/**
 * Returns the error for a caller that has disconnected. Nobody receives it; it counts as the caller's fault, not as ours.
 */
function gone(): ServiceError {
  return serviceError("invalid_request", "readerGone");
}

/** Returns the error for a read that could not begin. @param hasAnother whether another read of the same partner runs */
function tooMany(hasAnother: boolean): ServiceError {
  const message = hasAnother ? "ownFilteredLists" : "filteredLists";
  return serviceError("unavailable", message, { retryAfterSeconds: RETRY_FULL_SECONDS });
}

/** Returns the error for a read that PostgreSQL cancelled. */
function tooSlow(cause: unknown): ServiceError {
  return serviceError(
    "unavailable",
    "slowFilter",
    { limitSeconds: FILTERED_STATEMENT_TIMEOUT_MS / 1000, retryAfterSeconds: RETRY_SLOW_SECONDS },
    { cause },
  );
}

/** Counts for how many milliseconds each reader has recently used a connection. */
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
      // There is at most one entry for each partner. Entries without recent use are removed.
      if (used.size > 1_000) for (const each of used.keys()) if (of(each) === 0) used.delete(each);
    },
  };
}

import { setTimeout as sleep } from "node:timers/promises";
import { closeWithin, createQuestionClient, type Database, ping } from "./database.ts";
import { CommitOutcomeUnknown, isOutage, wasNeverRun } from "./errors.ts";
import type { Statement } from "./statement.ts";

/**
 * Makes statements wait during a short outage of the database, such as a restart or a failover, so that callers get their
 * answer a little later instead of an error. One connection attempt at a time checks whether the database is back, however
 * many statements wait.
 */
export interface OutageGate {
  /** Whether statements wait at present: the database is unreachable, but not yet for longer than the tolerance. */
  readonly isHolding: () => boolean;
  /** Whether an error is that of an outage for which statements wait at present. The first such error begins the outage. */
  readonly tolerates: (error: unknown) => boolean;
  /**
   * Runs work, and repeats it after an outage if that is safe: up to `MAX_ATTEMPTS` runs, within `MAX_REPEAT_AGE_MS`.
   * @param mayRepeat whether the work may be repeated after an error: it had no effect, or repeating adds no further
   * effect
   * @throws the last error of the work; the outage's if the work was not run, because the outage takes too long, too many
   * statements wait already, or the gate is closed
   */
  run<Result>(work: () => Promise<Result>, mayRepeat: (error: unknown) => boolean): Promise<Result>;
  close(): Promise<void>;
}

export interface OutageGateOptions {
  readonly connectionString: string;
  /** Milliseconds from the beginning of an outage for which statements wait. Default: `OUTAGE_TOLERANCE_MS`. */
  readonly toleranceMs?: number;
  /** Called at the beginning of an outage. */
  readonly onOutage?: (error: unknown) => void;
}

/**
 * How long callers wait for the database. PostgreSQL restarts within this time, also after a crash, and a switchover by
 * Patroni takes no longer. Too high: statements wait whose callers have given up.
 */
const OUTAGE_TOLERANCE_MS = 4_000;
/** The most statements that wait at one time; further ones fail at once. Each keeps its request in memory, some 10 kB. */
const MAX_WAITING = 2_000;
/**
 * Milliseconds between two checks whether the database is back. Too low: burdens a machine that recovers. Too high: delays
 * all waiting statements.
 */
const CHECK_INTERVAL_MS = 50;
/** Limits the attempts of one piece of work. Too high: a statement that crashes PostgreSQL crashes it again and again. */
const MAX_ATTEMPTS = 3;
/**
 * Milliseconds from the call of `run` for which work may be repeated. Later the caller may have given up and asked another
 * process. This matters for a process that was frozen: on resuming, it finds its transactions ended.
 */
const MAX_REPEAT_AGE_MS = 10_000;
/** Time limit of connecting for a check, and of its query. */
const CHECK_TIMEOUT_MS = 1_000;

/** An outage under way: when it began, and when it is over. */
interface Outage {
  readonly since: number;
  readonly error: unknown;
  readonly end: Promise<void>;
}

/** Creates the gate of a process. It connects only during an outage, to check whether the database is back. */
export function createOutageGate(options: OutageGateOptions): OutageGate {
  const { connectionString, toleranceMs = OUTAGE_TOLERANCE_MS, onOutage = () => undefined } = options;
  let outage: Outage | undefined;
  let waiting = 0;
  let isClosed = false;

  const begin = (error: unknown): Outage => {
    onOutage(error);
    const end = untilServing(connectionString, () => isClosed).finally(() => (outage = undefined));
    return (outage = { since: performance.now(), error, end });
  };
  const leftOf = ({ since }: Outage) => toleranceMs - (performance.now() - since);
  /** Waits for the end of an outage. @returns whether it ended in time; false at once if too many wait or it is closed */
  const waitFor = async (current: Outage): Promise<boolean> => {
    if (waiting >= MAX_WAITING || leftOf(current) <= 0 || isClosed) return false;
    waiting++;
    try {
      return await endsWithin(current.end, leftOf(current));
    } finally {
      waiting--;
    }
  };
  return {
    isHolding: () => outage !== undefined && leftOf(outage) > 0,
    tolerates: (error) => isOutage(error) && !isClosed && leftOf(outage ?? begin(error)) > 0,
    async run(work, mayRepeat) {
      const askedAt = performance.now();
      const current = outage;
      if (current !== undefined && !(await waitFor(current))) throw current.error;
      for (let attempt = 1; ; attempt++) {
        try {
          return await work();
        } catch (error) {
          if (attempt >= MAX_ATTEMPTS || !isOutage(error) || !mayRepeat(error)) throw error;
          if (performance.now() - askedAt > MAX_REPEAT_AGE_MS) throw error;
          if (!(await waitFor(outage ?? begin(error)))) throw error;
        }
      }
    },
    async close() {
      isClosed = true;
      await outage?.end;
    },
  };
}

/** Waits for the end of an outage. @returns false if it has not ended within `timeoutMs` */
async function endsWithin(end: Promise<void>, timeoutMs: number): Promise<boolean> {
  const over = new AbortController();
  const late = sleep(timeoutMs, false, { signal: over.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([end.then(() => true), late]);
  } finally {
    over.abort();
  }
}

/**
 * Resolves when the database accepts connections and writes, or the gate is closed. A standby that is about to be promoted
 * accepts no writes.
 */
async function untilServing(connectionString: string, isClosed: () => boolean): Promise<void> {
  while (!isClosed() && !(await isServing(connectionString))) await sleep(CHECK_INTERVAL_MS, undefined, { ref: false });
}

/** Tells, over a new connection, whether the database accepts writes. */
async function isServing(connectionString: string): Promise<boolean> {
  const client = createQuestionClient(connectionString, CHECK_TIMEOUT_MS);
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ is_standby: boolean }>("select pg_is_in_recovery() as is_standby");
    return rows[0]?.is_standby === false;
  } catch {
    return false;
  } finally {
    await closeWithin(client.end());
  }
}

/**
 * Returns a view of the same database whose statements and transactions wait during an outage. A transaction whose commit
 * was under way is not repeated, nor is a writing statement that may have run, because it may have taken effect.
 */
export function holdDuringOutages(db: Database, gate: OutageGate): Database {
  return {
    ...db,
    query: (statement, values) =>
      gate.run(
        () => db.query(statement, values),
        (error) => wasNeverRun(error) || onlyReads(statement),
      ),
    transaction: (work, transactionOptions) =>
      gate.run(
        () => db.transaction(work, transactionOptions),
        (error) => !(error instanceof CommitOutcomeUnknown),
      ),
  };
}

/** Throws while requests fail because of the database. Does not throw in a short outage, during which requests wait. */
export async function checkServing(db: Database, gate: OutageGate | undefined): Promise<void> {
  if (gate?.isHolding()) return;
  await ping(db).catch((error: unknown) => {
    if (!gate?.tolerates(error)) throw error;
  });
}

/** Tells whether a statement has no effect, so that it may run twice. */
function onlyReads({ text }: Statement): boolean {
  return (
    /^\s*(?:select|with)\b/i.test(text) && !/\b(?:insert|update|delete|nextval|pg_notify|set_config)\b/i.test(text)
  );
}

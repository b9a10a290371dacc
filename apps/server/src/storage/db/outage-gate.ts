import { setTimeout as sleep } from "node:timers/promises";
import { closeWithin, createQuestionClient, type Database, ping } from "./database.ts";
import { CommitOutcomeUnknown, isOutage, wasNeverRun } from "./errors.ts";
import type { Statement } from "./statement.ts";

/**
 * Has statements wait while the database is away for a moment, as it is for a restart or a failover, so that callers get
 * their answer a little later instead of an error. One connection attempt at a time checks whether it is back, however many
 * wait.
 */
export interface OutageGate {
  /** Whether the database is away, for so short that statements wait for it. */
  readonly isHolding: () => boolean;
  /** Whether a failure with this error is one that statements wait out at present. */
  readonly tolerates: (error: unknown) => boolean;
  /**
   * Runs work, and again after an outage where that is safe.
   * @param mayRepeat whether a failure with this error has had no effect, or one that a repetition does not add to
   * @throws the work's last error, when the outage takes too long or too many wait already
   */
  run<Result>(work: () => Promise<Result>, mayRepeat: (error: unknown) => boolean): Promise<Result>;
  close(): Promise<void>;
}

export interface OutageGateOptions {
  readonly connectionString: string;
  /** For how long an outage is waited for, from its beginning. Default: `OUTAGE_TOLERANCE_MS`. */
  readonly toleranceMs?: number;
  /** Hears of an outage at its beginning. */
  readonly onOutage?: (error: unknown) => void;
}

/**
 * How long callers wait for the database. PostgreSQL is back in this time after a crash or an orderly restart, and
 * Patroni's switchover takes no longer. Too high: callers wait although many of them have given up.
 */
const OUTAGE_TOLERANCE_MS = 4_000;
/** Statements that wait at once; those beyond fail at once. Each keeps its request in memory, some 10 kB. */
const MAX_WAITING = 2_000;
/**
 * Milliseconds between two checks whether the database is back. Too low: burdens a machine that recovers. Too high: delays
 * everybody who waits.
 */
const CHECK_INTERVAL_MS = 50;
/** Limits the attempts of one piece of work. Too high: a statement that crashes PostgreSQL does so again and again. */
const MAX_ATTEMPTS = 3;
/**
 * Milliseconds after its request for which work may be run again: later the caller may have given up and used another
 * process. A process that stood still finds its transactions ended when it resumes.
 */
const MAX_REPEAT_AGE_MS = 10_000;
/** For one check. */
const CHECK_TIMEOUT_MS = 1_000;

/** An outage under way: when it began, and when it is over. */
interface Outage {
  readonly since: number;
  readonly error: unknown;
  readonly end: Promise<void>;
}

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
  /** Whether the outage ended in time. */
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

async function endsWithin(end: Promise<void>, timeoutMs: number): Promise<boolean> {
  const over = new AbortController();
  const late = sleep(timeoutMs, false, { signal: over.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([end.then(() => true), late]);
  } finally {
    over.abort();
  }
}

/** Resolves when the database takes connections and writes: a standby that is about to be promoted takes none. */
async function untilServing(connectionString: string, isClosed: () => boolean): Promise<void> {
  while (!isClosed() && !(await isServing(connectionString))) await sleep(CHECK_INTERVAL_MS, undefined, { ref: false });
}

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
 * Returns the same database, whose statements and transactions wait during an outage. A transaction whose commit was under
 * way is not repeated, since it is unknown whether it took effect.
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

/** Fails while requests fail because of the database: not in a short outage, which they wait out. */
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

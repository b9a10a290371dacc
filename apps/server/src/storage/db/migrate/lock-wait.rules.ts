import type { LockHolder } from "./queries.ts";

/** Time after `deadlock_timeout` for a cancelled autovacuum to end and for the lock to be taken. */
const AUTOVACUUM_ENDS_MS = 300;
/** Limits one wait for a lock. Too high: requests that use the table meanwhile fail. */
const MAX_LOCK_WAIT_MS = 2_000;

/**
 * Returns how long an attempt waits for its locks. An autovacuum of a big table holds its lock for hours, and PostgreSQL
 * cancels the autovacuum only for a transaction that has waited for `deadlock_timeout`. Attempts 4, 8, 16, … therefore wait
 * that long when only an autovacuum holds a lock for more than a moment. PostgreSQL never cancels an autovacuum against
 * wraparound: then these attempts only make requests wait for a second now and then.
 */
export function lockWaitMs({
  attempt,
  holders,
  lockTimeoutMs,
  deadlockTimeoutMs,
}: {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** The holders of the locks after the previous attempt. */
  readonly holders: readonly Pick<LockHolder, "isAutovacuum" | "seconds">[];
  readonly lockTimeoutMs: number;
  readonly deadlockTimeoutMs: number;
}): number {
  const isTurn = attempt >= 4 && Number.isInteger(Math.log2(attempt));
  const isAutovacuum =
    holders.some((each) => each.isAutovacuum) && holders.every((each) => each.isAutovacuum || each.seconds === 0);
  const waitMs = deadlockTimeoutMs + AUTOVACUUM_ENDS_MS;
  return isTurn && isAutovacuum && waitMs <= MAX_LOCK_WAIT_MS ? Math.max(lockTimeoutMs, waitMs) : lockTimeoutMs;
}

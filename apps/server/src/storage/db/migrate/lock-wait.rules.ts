import type { LockHolder } from "./queries.ts";

/** After `deadlock_timeout`, for an autovacuum to end and for the lock to be taken. */
const AUTOVACUUM_ENDS_MS = 300;
/** Too high: an outage for the requests that use the table meanwhile. */
const MAX_LOCK_WAIT_MS = 2_000;

/**
 * Returns how long an attempt waits for its locks. An autovacuum of a big table holds one for hours, and PostgreSQL cancels
 * it only for a transaction that has waited for `deadlock_timeout`. Attempts 4, 8, 16, … therefore wait that long when only
 * an autovacuum holds a lock for more than a moment. An autovacuum against wraparound is never cancelled: it costs requests
 * a second now and then.
 */
export function lockWaitMs({
  attempt,
  holders,
  lockTimeoutMs,
  deadlockTimeoutMs,
}: {
  /** From 1. */
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

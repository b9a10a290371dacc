import type { LockHolder } from "./queries.ts";

/** After `deadlock_timeout`, for an autovacuum to end and for the lock to be taken. */
const AUTOVACUUM_ENDS_MS = 300;
/** Longer would be an outage for the requests that want the table meanwhile. */
const MAX_LOCK_WAIT_MS = 2_000;

/**
 * How long an attempt waits for its locks. An autovacuum of a big table holds one for hours, and PostgreSQL ends it for the
 * sake of whoever has waited for `deadlock_timeout`, and of nobody who waits for less. Attempts 4, 8, 16, … therefore wait
 * for that long where nobody but an autovacuum is in the way for longer than a moment. One that no `deadlock_timeout` ends,
 * because it keeps transaction numbers from running out, so costs requests a second now and then, and no more.
 */
export function lockWaitMs({
  attempt,
  holders,
  lockTimeoutMs,
  deadlockTimeoutMs,
}: {
  /** From 1. */
  readonly attempt: number;
  /** Who held the locks after the attempt before. */
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

/** The health of one followed feed. Instants are milliseconds since 1970. */
export interface FeedHealth {
  /** When it was last fetched and read whole, changed or not; undefined: never. */
  readonly goodAt: number | undefined;
  /** Failures since then. */
  readonly failures: number;
  readonly failingSince: number | undefined;
  /** The reason of the latest failure. */
  readonly message: string | undefined;
  /** The feed is not fetched before. */
  readonly retryAt: number;
}

export const UNKNOWN_HEALTH: FeedHealth = {
  goodAt: undefined,
  failures: 0,
  failingSince: undefined,
  message: undefined,
  retryAt: 0,
};

/**
 * Maximum pause without a `Retry-After`. Too low: burdens a failing server. Too high: delays updates from a recovered
 * feed.
 */
const MAX_BACKOFF_MS = 5 * 60_000;
/** Maximum `Retry-After` that is obeyed. Too high: one wrong header stops the updates of a city for a day. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;
/** After so many doublings any interval exceeds the longest pause. */
const MAX_DOUBLINGS = 20;

interface PollFailure {
  readonly now: number;
  readonly message: string;
  /** Milliseconds for which the server asked us to wait; null where it did not. */
  readonly retryAfterMs: number | null;
  readonly intervalMs: number;
}

export function afterSuccess(now: number): FeedHealth {
  return { ...UNKNOWN_HEALTH, goodAt: now };
}

/** The feed is fetched again at the next poll; then the pause doubles with each failure. It is never below `Retry-After`. */
export function afterFailure(before: FeedHealth, { now, message, retryAfterMs, intervalMs }: PollFailure): FeedHealth {
  const failures = before.failures + 1;
  const pause = Math.min((2 ** Math.min(before.failures, MAX_DOUBLINGS) - 1) * intervalMs, MAX_BACKOFF_MS);
  const asked = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return {
    goodAt: before.goodAt,
    failures,
    failingSince: before.failingSince ?? now,
    message,
    retryAt: now + Math.max(pause, asked),
  };
}

/** Twice the longest `ttl` that is honoured: an older feed has failed. */
const TOO_OLD_MS = 20 * 60_000;
/**
 * Milliseconds without a poll after which a source or feed is no longer followed. Too low: hides a follower that has died.
 */
export const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** Polls that must have been missed before a source counts as silent. */
const MISSED_POLLS = 3;

/** Returns how long a source may go without a poll, and its feeds may fail. */
export function maxPollSilenceMs(intervalMs: number): number {
  return Math.max(TOO_OLD_MS, MISSED_POLLS * intervalMs);
}

/** Beyond two intervals, for a poll that takes long. */
const POLL_SLACK_MS = 60_000;

/**
 * Returns until when a process may still poll a source that was polled last at an instant. Too early: a poll recreates what
 * was removed. Too late: somebody who stops following waits for nothing.
 */
export function mayPollUntil(polledAt: number, intervalMs: number): number {
  return polledAt + 2 * intervalMs + POLL_SLACK_MS;
}

export function isFailing({ failures }: FeedHealth): boolean {
  return failures > 0;
}

/** Limits how much a client adds to the load of a service that fails. */
export interface RetryBudget {
  /** Whether one more retry may be sent; takes it. */
  take(): boolean;
  /** A request succeeded. */
  earn(): void;
}

/** Retries that a client may spend in a row. Lower and a short outage fails calls; higher prolongs a long one. */
const MOST = 20;
/** What a success earns: in the long run one retry for ten successes. */
const EARNED = 0.1;

/** A full budget. */
export function createRetryBudget(): RetryBudget {
  let tokens = MOST;
  return {
    take: () => tokens >= 1 && tokens-- >= 1,
    earn: () => void (tokens = Math.min(MOST, tokens + EARNED)),
  };
}

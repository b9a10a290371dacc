import { type BikeShareError, ConnectionError, TimeoutError } from "../errors/errors.ts";

/** Maximum of the first delay. Too low: burdens a service that is recovering. Too high: makes a short failure noticeable. */
const FIRST_DELAY_MS = 500;
/** Maximum delay, unless the service asks for a longer one. */
const MAX_DELAY_MS = 8_000;
/** Maximum random extra delay, so that callers that got the same `Retry-After` do not all return at the same instant. */
const RETRY_AFTER_JITTER_MS = 250;

/** Retries that a client may spend in a row. Too low: a short outage fails calls. Too high: prolongs a long outage. */
const BUDGET = 20;
/** The amount that a success adds to the budget: in the long run one retry for ten successes. */
const BUDGET_PER_SUCCESS = 0.1;

/** Tells whether sending the same request again may help. It does not tell whether that is safe. */
export function isRetryable(error: BikeShareError): boolean {
  const { status = 0, code } = error;
  const isNetwork = error instanceof ConnectionError || error instanceof TimeoutError;
  return isNetwork || status >= 500 || status === 408 || status === 429 || code === "idempotency_in_progress";
}

/**
 * Returns the milliseconds to wait before the next attempt: the service's `Retry-After`, or without it an exponential
 * backoff with full jitter, so that callers that failed together do not return together.
 *
 * @param attempts requests sent so far
 * @param random a random number from 0 up to 1
 */
export function retryDelayMs(attempts: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + random * RETRY_AFTER_JITTER_MS;
  return random * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1));
}

/** A token bucket that limits how many retries a client adds to the load of a failing service. It is full at first. */
export type RetryBudget = ReturnType<typeof createRetryBudget>;

export function createRetryBudget() {
  let tokens = BUDGET;
  return {
    /** Takes a token for one retry. @returns false when there is none */
    spend() {
      if (tokens < 1) return false;
      tokens--;
      return true;
    },
    /** Adds a part of a token, because a request succeeded. */
    earn() {
      tokens = Math.min(BUDGET, tokens + BUDGET_PER_SUCCESS);
    },
  };
}

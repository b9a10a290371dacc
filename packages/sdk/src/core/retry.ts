import { type BikeShareError, ConnectionError, TimeoutError } from "../errors/errors.ts";

/** Maximum first delay. Too low: burdens a service that is recovering. Too high: makes a short failure noticeable. */
const FIRST_DELAY_MS = 500;
/** No delay is longer, unless the service asks for it. */
const MAX_DELAY_MS = 8_000;
/** Spreads callers that got the same `Retry-After`, so that they do not all return in the same instant. */
const RETRY_AFTER_JITTER_MS = 250;

/** Retries that a client may spend in a row. Too low: a short outage fails calls. Too high: prolongs a long outage. */
const BUDGET = 20;
/** The amount that a success adds to the budget: in the long run one retry for ten successes. */
const BUDGET_PER_SUCCESS = 0.1;

/** Tells whether sending the same request again may help, where that is safe. */
export function isRetryable(error: BikeShareError): boolean {
  const { status = 0, code } = error;
  const isNetwork = error instanceof ConnectionError || error instanceof TimeoutError;
  return isNetwork || status >= 500 || status === 408 || status === 429 || code === "idempotency_in_progress";
}

/**
 * Milliseconds to wait before the next attempt. The service's `Retry-After` comes first; without it, exponential
 * backoff with full jitter, so that callers who failed together do not return together.
 *
 * @param attempts requests sent so far
 * @param random from 0 up to 1
 */
export function retryDelayMs(attempts: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + random * RETRY_AFTER_JITTER_MS;
  return random * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1));
}

/** Limits how much a client adds to the load of a service that fails: a bucket of tokens, full at the start. */
export type RetryBudget = ReturnType<typeof createRetryBudget>;

export function createRetryBudget() {
  let tokens = BUDGET;
  return {
    /** Takes a token for one more retry; false when there is none. */
    spend() {
      if (tokens < 1) return false;
      tokens--;
      return true;
    },
    /** A request succeeded. */
    earn() {
      tokens = Math.min(BUDGET, tokens + BUDGET_PER_SUCCESS);
    },
  };
}

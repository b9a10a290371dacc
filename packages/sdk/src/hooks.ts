import type { RateLimit } from "./core/rate-limiter.ts";
import type { BikeShareError } from "./errors/errors.ts";

/** A request, as hooks get it: without the key. */
export interface RequestDetails {
  /** Method and path: `GET /v1/rides/:id`. */
  readonly operation: string;
  /** `GET`, `POST`, `PATCH` or `DELETE`. */
  readonly method: string;
  /** The full address, with the query. */
  readonly url: string;
  /** Names in lower case; `authorization`, if a key is needed, is `Bearer [redacted]`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The number of the attempt, counted from 1. */
  readonly attempt: number;
}

/** A response, as hooks get it. */
export interface ResponseDetails {
  /** The request of this response. */
  readonly request: RequestDetails;
  /** HTTP status, of a success or of an error. */
  readonly status: number;
  /** All headers of the response. */
  readonly headers: Headers;
  /** `Request-Id`: give it to the operator when you report a problem. */
  readonly requestId: string | undefined;
  /** Milliseconds from sending to the last byte. */
  readonly durationMs: number;
  /** The key's rate limit, as the response reports it. */
  readonly rateLimit: RateLimit | undefined;
}

/** A request that is about to be sent again. */
export interface RetryDetails {
  /** The request that failed. */
  readonly request: RequestDetails;
  /** Why the request failed. */
  readonly error: BikeShareError;
  /** Milliseconds until it is sent again, without the wait for the rate limit. */
  readonly delayMs: number;
}

/** A request that waits for the rate limit, or was rejected by it. */
export interface RateLimitDetails {
  /** Method and path: `GET /v1/rides/:id`. */
  readonly operation: string;
  /** `throttled`: the client waits, so that it is not rejected. `rejected`: the service answered 429. */
  readonly reason: "throttled" | "rejected";
  /**
   * `throttled`: maximum milliseconds of the wait; a response that comes meanwhile may end it earlier. `rejected`:
   * milliseconds for which the client sends nothing.
   */
  readonly waitMs: number;
}

/** Functions that the client calls. An error that a hook throws ends the call. A promise that it returns is not awaited. */
export interface Hooks {
  /** Called before a request is sent, or sent again. */
  readonly onRequest?: ((details: RequestDetails) => void) | undefined;
  /** Called for each response, with any status. When no response comes, `onRetry` or the call itself gets the error. */
  readonly onResponse?: ((details: ResponseDetails) => void) | undefined;
  /** Called when a request has failed and will be sent again. */
  readonly onRetry?: ((details: RetryDetails) => void) | undefined;
  /** Called when a request waits for the key's rate limit, or was rejected by it. */
  readonly onRateLimit?: ((details: RateLimitDetails) => void) | undefined;
}

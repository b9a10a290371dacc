import type { RateLimit } from "./core/rate-limiter.ts";
import type { BikeShareError } from "./errors/errors.ts";

/** A request, as hooks see it: without the key. */
export interface RequestDetails {
  /** Method and path: `GET /v1/rides/:id`. */
  readonly operation: string;
  /** `GET`, `POST`, `PATCH` or `DELETE`. */
  readonly method: string;
  /** With its query. */
  readonly url: string;
  /** Names in lower case; `authorization` is `Bearer [redacted]`. */
  readonly headers: Readonly<Record<string, string>>;
  /** 1 for the first. */
  readonly attempt: number;
}

/** A response, as hooks see it. */
export interface ResponseDetails {
  /** The request that it answers. */
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
  /** The one that failed. */
  readonly request: RequestDetails;
  /** Why it failed. */
  readonly error: BikeShareError;
  /** Milliseconds until it is sent again, without the wait for the rate limit. */
  readonly delayMs: number;
}

/** A request that waits for the rate limit. */
export interface RateLimitDetails {
  /** Method and path: `GET /v1/rides/:id`. */
  readonly operation: string;
  /** `throttled`: the client waits, so that it is not rejected. `rejected`: the service answered 429. */
  readonly reason: "throttled" | "rejected";
  /** Milliseconds of the wait; a response that comes meanwhile may end it. */
  readonly waitMs: number;
}

/** Functions that are called when something happens. An error that one throws ends the call. Promises are not awaited. */
export interface Hooks {
  /** A request is about to be sent, or sent again. */
  readonly onRequest?: ((details: RequestDetails) => void) | undefined;
  /** A response has come, with any status. Without a response, `onRetry` or the call has the error. */
  readonly onResponse?: ((details: ResponseDetails) => void) | undefined;
  /** A request has failed and will be sent again. */
  readonly onRetry?: ((details: RetryDetails) => void) | undefined;
  /** A request waits for the key's rate limit, or was rejected by it. */
  readonly onRateLimit?: ((details: RateLimitDetails) => void) | undefined;
}

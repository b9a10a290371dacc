import type { RateLimit } from "./core/pacer.ts";
import type { BikeShareError } from "./errors/errors.ts";

/** A request, as hooks see it. The key is taken out. */
export interface RequestNote {
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

/** An answer, as hooks see it. */
export interface ResponseNote {
  /** What it answers. */
  readonly request: RequestNote;
  /** HTTP status, be it of a success or of an error. */
  readonly status: number;
  /** All headers of the answer. */
  readonly headers: Headers;
  /** `Request-Id`: name it when you ask the operator. */
  readonly requestId: string | undefined;
  /** Milliseconds from sending to the last byte. */
  readonly durationMs: number;
  /** What the answer says of the key's limit. */
  readonly rateLimit: RateLimit | undefined;
}

/** A request that is about to be sent again. */
export interface RetryNote {
  /** The one that failed. */
  readonly request: RequestNote;
  /** What went wrong. */
  readonly error: BikeShareError;
  /** Milliseconds until it is sent again, not counting a wait for the limit. */
  readonly delayMs: number;
}

/** A request that waits for the limit. */
export interface RateLimitNote {
  /** Method and path: `GET /v1/rides/:id`. */
  readonly operation: string;
  /** `ahead`: it waits so as not to be refused. `refused`: the service answered 429. */
  readonly reason: "ahead" | "refused";
  /** Milliseconds of the wait; an answer that comes meanwhile may end it. */
  readonly waitMs: number;
}

/** Functions that are told what happens. What one throws ends the call. What one promises is not waited for. */
export interface Hooks {
  /** A request is about to be sent; retries are told too. */
  readonly onRequest?: ((note: RequestNote) => void) | undefined;
  /** An answer has come, with any status. Not told where none came: that is an error of `onRetry`, or of the call. */
  readonly onResponse?: ((note: ResponseNote) => void) | undefined;
  /** A request has failed and will be sent again. */
  readonly onRetry?: ((note: RetryNote) => void) | undefined;
  /** A request waits for the key's limit, or was refused by it. */
  readonly onRateLimit?: ((note: RateLimitNote) => void) | undefined;
}

import type { RateLimit } from "./core/pacer.ts";
import type { BikeShareError } from "./errors/errors.ts";

/** A request, as hooks see it. The key is taken out. */
export interface RequestNote {
  /** Method and path: `GET /v1/rides/:id`. */
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** Names in lower case; `authorization` is `Bearer [redacted]`. */
  readonly headers: Readonly<Record<string, string>>;
  /** 1 for the first. */
  readonly attempt: number;
}

/** An answer, as hooks see it. */
export interface ResponseNote {
  readonly request: RequestNote;
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string | undefined;
  /** Milliseconds from sending to the last byte. */
  readonly durationMs: number;
  /** What the answer says of the key's limit. */
  readonly rateLimit: RateLimit | undefined;
}

/** A request that is about to be sent again. */
export interface RetryNote {
  readonly request: RequestNote;
  /** What went wrong. */
  readonly error: BikeShareError;
  /** Milliseconds until it is sent again, not counting a wait for the limit. */
  readonly delayMs: number;
}

/** A request that waits for the limit. */
export interface RateLimitNote {
  readonly operation: string;
  /** `ahead`: it waits so as not to be refused. `refused`: the service answered 429. */
  readonly reason: "ahead" | "refused";
  /** Milliseconds of the wait; an answer that comes meanwhile may end it. */
  readonly waitMs: number;
}

/** Functions that are told what happens. What one throws ends the call. */
export interface Hooks {
  readonly onRequest?: (note: RequestNote) => void;
  readonly onResponse?: (note: ResponseNote) => void;
  readonly onRetry?: (note: RetryNote) => void;
  readonly onRateLimit?: (note: RateLimitNote) => void;
}

import type { ErrorCode, Open } from "../wire.generated.ts";

/** What is known of a failure beside its message. */
export interface ErrorFacts {
  readonly cause?: unknown;
  readonly attempts?: number;
  readonly status?: number | undefined;
  readonly code?: Open<ErrorCode> | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Under this symbol, which all copies of this package share, an error tells the guards that it is one of ours: true where
 * the service answered with it.
 */
export const FAMILY: unique symbol = Symbol.for("@bikeshare/sdk/error");

/** Every error of this package. Each kind is a class of its own. None holds the key. */
export class BikeShareError extends Error {
  override readonly name: string = "BikeShareError";
  /** Requests that were sent; 0 when the fault was found before. */
  readonly attempts: number = 0;
  /** The answer's HTTP status; undefined where there was no answer. */
  declare readonly status: number | undefined;
  /** The service's code for what went wrong. Codes are only ever added: one may be newer than this package. */
  declare readonly code: Open<ErrorCode> | undefined;
  /** The answer's `Request-Id`: name it when you ask the operator. */
  declare readonly requestId: string | undefined;
  /** Milliseconds after which the service, or the key's limit, lets it be tried again. */
  declare readonly retryAfterMs: number | undefined;
  /** Of a call that creates something: give it again to finish what may have been done already. */
  declare readonly idempotencyKey: string | undefined;

  constructor(message: string, facts?: ErrorFacts) {
    super(message, facts);
    Object.assign(this, facts);
  }

  /** @internal */
  get [FAMILY](): boolean {
    return false;
  }
}

/** The call or the options are wrong. Nothing was sent. */
export class UsageError extends BikeShareError {
  override readonly name = "UsageError";
}

/** No answer came: no connection, or one that broke. What the request was to do may have been done. */
export class ConnectionError extends BikeShareError {
  override readonly name = "ConnectionError";
}

/**
 * No answer came in time. What the request was to do may have been done, unless `attempts` is 0: the wait for the limit
 * would have ended after the deadline, and `retryAfterMs` says how long it is.
 */
export class TimeoutError extends BikeShareError {
  override readonly name = "TimeoutError";
}

/** An answer that is not the service's: a redirect, a page of a proxy, or a list without its marks. */
export class UnexpectedAnswerError extends BikeShareError {
  override readonly name = "UnexpectedAnswerError";
}

/** The service, or something before it, answered with an error status. */
export class ApiError extends BikeShareError {
  override readonly name: string = "ApiError";
  declare readonly status: number;

  /** @internal */
  override get [FAMILY](): boolean {
    return true;
  }
}

/** 400, 405, 410, 413, 415, 422 and other 4xx: the request is wrong; the message says where. */
export class InvalidRequestError extends ApiError {
  override readonly name: string = "InvalidRequestError";
}

/** 410: the event to go on behind is no longer kept, or is none that the key may see: read the resources anew. */
export class CheckpointLostError extends InvalidRequestError {
  override readonly name = "CheckpointLostError";
}

/** 401: the key is unknown, expired or revoked. */
export class UnauthorizedError extends ApiError {
  override readonly name = "UnauthorizedError";
}

/** 403: the key's scopes do not cover this. */
export class ForbiddenError extends ApiError {
  override readonly name = "ForbiddenError";
}

/** 404: there is no such thing. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}

/** 409: the state of things does not allow it; `code` says which. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}

/** 429: the key has used up its requests, and `retryAfterMs` was longer than the deadline allows. */
export class RateLimitedError extends ApiError {
  override readonly name = "RateLimitedError";
}

/** 5xx: the service failed, or cannot answer at present. */
export class ServerError extends ApiError {
  override readonly name = "ServerError";
}

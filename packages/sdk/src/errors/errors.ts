import type { ErrorCode, Open } from "../json-types.generated.ts";

/** The details of an error in addition to its message. */
export interface ErrorDetails {
  readonly cause?: unknown;
  readonly attempts?: number;
  readonly status?: number | undefined;
  readonly code?: Open<ErrorCode> | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/**
 * The property by which `isBikeShareError` recognises errors, also those of another copy of this package. True: the service
 * answered with the error.
 */
const BRAND: unique symbol = Symbol.for("@bikeshare/sdk/error");

/** The base class of all errors of this package. No error contains the key. */
export class BikeShareError extends Error {
  override readonly name: string = "BikeShareError";
  /** How many requests were sent; 0 when the error was found before. */
  readonly attempts: number = 0;
  /** The response's HTTP status; undefined if there was no response. */
  declare readonly status: number | undefined;
  /** The service's error code. It may be newer than this package, because codes are added over time. */
  declare readonly code: Open<ErrorCode> | undefined;
  /** The response's `Request-Id`: give it to the operator when you report a problem. */
  declare readonly requestId: string | undefined;
  /** Milliseconds after which the service or the key's rate limit allows another attempt. */
  declare readonly retryAfterMs: number | undefined;
  /**
   * The idempotency key of a call that takes one. Pass it to a new call to repeat the change without doing it twice.
   */
  declare readonly idempotencyKey: string | undefined;

  constructor(message: string, details?: ErrorDetails) {
    super(message, details);
    Object.assign(this, details);
  }

  /** @internal */
  get [BRAND](): boolean {
    return false;
  }
}

/** The call or the options are wrong. Nothing was sent. */
export class UsageError extends BikeShareError {
  override readonly name = "UsageError";
}

/** No response came, because there was no connection or it broke. The service may have carried the request out. */
export class ConnectionError extends BikeShareError {
  override readonly name = "ConnectionError";
}

/**
 * No response came in time. The service may have carried the request out, unless a call has 0 `attempts`: then it only
 * waited for the rate limit. If `retryAfterMs` is set, that wait would have exceeded `totalTimeoutMs`, and was not begun.
 * `waitUntilReady` and `advanceAndWait` of a sandbox may throw it with 0 `attempts` although they have sent requests.
 */
export class TimeoutError extends BikeShareError {
  override readonly name = "TimeoutError";
}

/**
 * A response that is not as the service's should be: a redirect, a proxy's page, a list without its page numbers or cursor,
 * a response that `validate` rejects, or an export with another checksum.
 */
export class UnexpectedResponseError extends BikeShareError {
  override readonly name = "UnexpectedResponseError";
}

/** The service, or a proxy in front of it, answered with an error status. 408 has no class of its own. */
export class ApiError extends BikeShareError {
  override readonly name: string = "ApiError";
  declare readonly status: number;

  /** @internal */
  override get [BRAND](): boolean {
    return true;
  }
}

/**
 * 400, 405, 410, 413, 415, 422 and each other 4xx but 408 that has no class below: the request is wrong; the message
 * says where.
 */
export class InvalidRequestError extends ApiError {
  override readonly name: string = "InvalidRequestError";
}

/**
 * 410: what came after the checkpoint may be incomplete. Its event is no longer kept, the key may not see it, or rows that
 * changed since were deleted or restored. Read the resources again.
 */
export class CheckpointLostError extends InvalidRequestError {
  override readonly name = "CheckpointLostError";
}

/** 401: the key is malformed, unknown, expired or revoked. */
export class UnauthorizedError extends ApiError {
  override readonly name = "UnauthorizedError";
}

/** 403: the key's scopes do not cover this. */
export class ForbiddenError extends ApiError {
  override readonly name = "ForbiddenError";
}

/** 404: the resource does not exist. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}

/** 409: the resource's state does not allow it; `code` says why. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}

/** 429: the key has used up its rate limit, and `maxRetries` or `totalTimeoutMs` did not allow another attempt. */
export class RateLimitError extends ApiError {
  override readonly name = "RateLimitError";
}

/** 5xx: the service failed, or cannot answer at present. */
export class ServerError extends ApiError {
  override readonly name = "ServerError";
}

/**
 * Tells whether a value is an error of this package. It also recognises errors of another copy of the package, for which
 * `instanceof` fails. The error's `name` is the name of its class.
 */
export function isBikeShareError(value: unknown): value is BikeShareError {
  return brandOf(value) !== undefined;
}

/**
 * Tells whether a value is an error that the service answered with, and if a code is given, whether it has this code. It
 * also recognises errors of another copy of this package.
 *
 * @example if (isApiError(error, "no_bike_available")) return tryAnotherStation();
 */
export function isApiError<Code extends ErrorCode>(
  value: unknown,
  code?: Code,
): value is ApiError & { readonly code: Code } {
  return brandOf(value) === true && (!code || (value as ApiError).code === code);
}

function brandOf(value: unknown): boolean | undefined {
  return (value as { readonly [BRAND]?: boolean } | null | undefined)?.[BRAND];
}

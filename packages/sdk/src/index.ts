export { BikeShare } from "./client.ts";
export type { ApiPromise } from "./core/api-promise.ts";
export type { ApiResponse } from "./core/attempt.ts";
export type { List, Page } from "./core/list.ts";
export type { ListIterator } from "./core/list-iterator.ts";
export type { RateLimit } from "./core/rate-limiter.ts";
export { downloadExport } from "./download.ts";
export {
  ApiError,
  BikeShareError,
  CheckpointLostError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidRequestError,
  isApiError,
  isBikeShareError,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnauthorizedError,
  UnexpectedResponseError,
  UsageError,
} from "./errors/errors.ts";
export type { Hooks, RateLimitDetails, RequestDetails, ResponseDetails, RetryDetails } from "./hooks.ts";
export type { ClientOptions, IdempotentRequestOptions, RequestOptions, RetryOptions } from "./options.ts";
export type { ChangesQuery, SinceQuery } from "./resources.ts";
export type * from "./json-types.generated.ts";

export { BikeShare } from "./client.ts";
export type { Call } from "./core/call.ts";
export type { List } from "./core/list.ts";
export type { RateLimit } from "./core/pacer.ts";
export type { Page, Rest } from "./core/page.ts";
export type { Answered } from "./core/attempt.ts";
export type { Walk } from "./core/walk.ts";
export {
  ApiError,
  BikeShareError,
  CheckpointLostError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  ServerError,
  TimeoutError,
  UnauthorizedError,
  UnexpectedAnswerError,
  UsageError,
} from "./errors/errors.ts";
export { isApiError, isBikeShareError } from "./errors/guards.ts";
export type { Hooks, RateLimitNote, RequestNote, ResponseNote, RetryNote } from "./hooks.ts";
export type { CallOptions, ClientOptions, CreateOptions, Patience } from "./options.ts";
export type { SinceQuery } from "./resources/events.ts";
export type * from "./wire.generated.ts";

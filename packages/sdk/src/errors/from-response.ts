import type { ErrorBody } from "../json-types.generated.ts";
import {
  ApiError,
  CheckpointLostError,
  ConflictError,
  type ErrorDetails,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  UnauthorizedError,
} from "./errors.ts";

/** The class of an error, by its code or its HTTP status. */
const classes: Readonly<Record<string, typeof ApiError>> = {
  // The object has no prototype, because a code may be any word, such as `constructor`.
  __proto__: null as never,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  408: ApiError,
  409: ConflictError,
  checkpoint_lost: CheckpointLostError,
  429: RateLimitError,
};

/**
 * Returns the error for an error response. Its class depends on the code or, for most codes and all unknown ones, on the
 * status.
 *
 * @param body the response's body, if it was JSON
 * @param redact removes the key from the message
 */
export function apiError(
  status: number,
  body: unknown,
  details: ErrorDetails,
  redact: (text: string) => string,
): ApiError {
  // A proxy's response may be anything, so each field is checked.
  const { error, message } = (body ?? {}) as Partial<Readonly<Record<keyof ErrorBody, unknown>>>;
  // A code has no digits, so a key cannot pass for a code.
  const code = typeof error === "string" && /^[a-z_]+$/.test(error) ? error : undefined;
  const Class = classes[code ?? ""] ?? classes[status] ?? (status < 500 ? InvalidRequestError : ServerError);
  return code
    ? new Class(`${status} ${code}: ${redact(String(message))}`, { ...details, code })
    : new Class(`${status} without an error code (a proxy?)`, details);
}

/** How many causes of causes are followed. The reason of an error of `fetch` is two levels deep. */
const MAX_CAUSE_DEPTH = 5;

/**
 * Returns the innermost cause of a thrown value as a new error that cannot contain the key. It copies only the message and
 * the code, because a custom `fetch` may keep the request in other properties.
 *
 * @param redact removes the key from a text
 */
export function safeCause(thrown: unknown, redact: (text: string) => string, depth = MAX_CAUSE_DEPTH): Error {
  const { message, code, cause } = (thrown ?? {}) as { message?: unknown; code?: unknown; cause?: unknown };
  if (cause && depth > 0) return safeCause(cause, redact, depth - 1);
  const copy = new Error(redact(String(message || code || thrown)));
  return Object.assign(copy, typeof code === "string" && { code: redact(code) });
}

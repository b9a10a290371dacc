import type { ErrorBody } from "../wire.generated.ts";
import {
  ApiError,
  ConflictError,
  type ErrorFacts,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  ServerError,
  UnauthorizedError,
} from "./errors.ts";

const classes: Readonly<Record<number, typeof ApiError>> = {
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  408: ApiError,
  409: ConflictError,
  429: RateLimitedError,
};

/**
 * The error that an answer stands for: its class by the status, so that codes which are newer than this package find
 * one too.
 *
 * @param body what the answer held, if it was JSON
 */
export function apiError(status: number, body: unknown, facts: ErrorFacts): ApiError {
  // A proxy's answer may be anything, so each field is looked at before it is believed.
  const { error, message } = (body ?? {}) as Partial<Readonly<Record<keyof ErrorBody, unknown>>>;
  const code = typeof error === "string" && error;
  const Kind = classes[status] ?? (status < 500 ? InvalidRequestError : ServerError);
  return new Kind(
    `${status} ${code ? `${code}: ${message as string}` : "without a reason: a proxy?"}`,
    code ? { ...facts, code } : facts,
  );
}

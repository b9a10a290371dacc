import type { ErrorBody } from "../wire.generated.ts";
import {
  ApiError,
  CheckpointLostError,
  ConflictError,
  type ErrorFacts,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  ServerError,
  UnauthorizedError,
} from "./errors.ts";

const classes: Readonly<Record<string, typeof ApiError>> = {
  // Without what every object inherits: a code may be any text, `constructor` too.
  __proto__: null as never,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  408: ApiError,
  409: ConflictError,
  checkpoint_lost: CheckpointLostError,
  429: RateLimitedError,
};

/**
 * The error that an answer stands for: its class by the code where that has one of its own, else by the status, so
 * that codes which are newer than this package find one too.
 *
 * @param body what the answer held, if it was JSON
 * @param redact takes the key out of the message
 */
export function apiError(status: number, body: unknown, facts: ErrorFacts, redact: (text: string) => string): ApiError {
  // A proxy's answer may be anything, so each field is looked at before it is believed.
  const { error, message } = (body ?? {}) as Partial<Readonly<Record<keyof ErrorBody, unknown>>>;
  // A code has no digit, so that no key passes for one.
  const code = typeof error === "string" && /^[a-z_]+$/.test(error) && error;
  const Kind = classes[code || 0] ?? classes[status] ?? (status < 500 ? InvalidRequestError : ServerError);
  return new Kind(
    `${status} ${code ? `${code}: ${redact(String(message))}` : "without a reason: a proxy?"}`,
    code ? { ...facts, code } : facts,
  );
}

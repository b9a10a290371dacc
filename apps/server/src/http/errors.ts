import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { codeOf, isDiskFull, isUnavailable } from "../db/errors.ts";
import { Refusal } from "../refusal.ts";
import { ApiError } from "./api-error.ts";
import { errorJson } from "./error-body.ts";

/** Seconds after which a caller should try again when the service is unavailable: about what a restart takes. */
const RETRY_SECONDS = 5;

/**
 * Answers every failure behind a request in the one shape that errors have.
 * @param onUnavailable hears why a request could not be served at present
 */
export function handleErrors(app: FastifyInstance, onUnavailable: (error: unknown) => void = () => undefined): void {
  app.setErrorHandler((error, request, reply) => {
    if (isUnavailable(error)) onUnavailable(error);
    return sendError(reply, request, error);
  });
  // What Node would refuse by itself, without a body: `admitRequests` refuses a request without Host, and an
  // expectation that nobody knows may be ignored (RFC 9110, 10.1.1).
  Object.assign(app.server, { requireHostHeader: false });
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
}

/** Answers `error` as the catalogue says. What the catalogue does not know is logged, and never shown. */
export function sendError(reply: FastifyReply, request: FastifyRequest, error: unknown): FastifyReply {
  const known = toApiError(error);
  if (known.code === "internal") request.log.error({ err: error }, "request failed");
  return (
    reply
      .code(known.status)
      .headers(known.headers)
      .header("content-type", "application/json")
      // As bytes: to a text Fastify adds a charset, and no hook takes it away again where the router itself failed.
      .send(Buffer.from(errorJson(known.code, known.message)))
  );
}

/** The catalogue's word for any failure. */
function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Refusal) {
    const { retryAfterSeconds: seconds } = error;
    return new ApiError(
      error.code,
      error.message,
      seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } },
    );
  }
  if (isDiskFull(error)) return unavailable("The database's disk is full. Nothing was changed.", error);
  if (isUnavailable(error)) return unavailable("The database cannot be reached. Nothing was changed.", error);
  const cause = { cause: error };
  switch (codeOf(error)) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new ApiError("payload_too_large", "The body is larger than 1 MiB. Send less at once.", cause);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new ApiError(
        "unsupported_media_type",
        "The body must be JSON, sent with Content-Type: application/json.",
        cause,
      );
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return new ApiError("invalid_request", "The body is empty, but Content-Type announces JSON.", cause);
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new ApiError("invalid_request", "The body is not the JSON that the headers announce.", cause);
    default:
      return isClientFault(error)
        ? new ApiError("invalid_request", "The request could not be read.", cause)
        : new ApiError(
            "internal",
            "Something went wrong on our side. Try again; if it stays, tell the operator the Request-Id.",
            cause,
          );
  }
}

export function unavailable(message: string, cause?: unknown): ApiError {
  return new ApiError("unavailable", message, { headers: { "retry-after": String(RETRY_SECONDS) }, cause });
}

/** Fastify and the JSON parser mark what the caller did wrong with a 4xx status. */
function isClientFault(error: unknown): boolean {
  if (!(error instanceof Error) || !("statusCode" in error)) return false;
  return typeof error.statusCode === "number" && error.statusCode >= 400 && error.statusCode < 500;
}

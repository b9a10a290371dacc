import { errorCatalogue, type ErrorCode } from "@bikeshare/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { codeOf, isDiskFull, isUnavailable } from "../db/errors.ts";
import { ServiceError } from "../errors/service-error.ts";
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
  const known = toServiceError(error);
  const code = isErrorCode(known.code) ? known.code : "internal";
  if (code === "internal") request.log.error({ err: error }, "request failed");
  return (
    reply
      .code(errorCatalogue[code].status)
      .headers(known.headers)
      .headers(known.retryAfterSeconds === undefined ? {} : { "retry-after": String(known.retryAfterSeconds) })
      .header("content-type", "application/json")
      // As bytes: to a text Fastify adds a charset, and no hook takes it away again where the router itself failed.
      .send(Buffer.from(errorJson(code, known.message)))
  );
}

/** The catalogue's word for any failure. */
function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError && isErrorCode(error.code)) return error;
  if (isDiskFull(error)) return unavailable("The database's disk is full. Nothing was changed.", error);
  if (isUnavailable(error)) return unavailable("The database cannot be reached. Nothing was changed.", error);
  const cause = { cause: error };
  switch (codeOf(error)) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new ServiceError("payload_too_large", "The body is larger than 1 MiB. Send less at once.", cause);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new ServiceError(
        "unsupported_media_type",
        "The body must be JSON, sent with Content-Type: application/json.",
        cause,
      );
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return new ServiceError("invalid_request", "The body is empty, but Content-Type announces JSON.", cause);
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new ServiceError("invalid_request", "The body is not the JSON that the headers announce.", cause);
    default:
      return isClientError(error)
        ? new ServiceError("invalid_request", "The request could not be read.", cause)
        : new ServiceError(
            "internal",
            "Something went wrong on our side. Try again; if it stays, tell the operator the Request-Id.",
            cause,
          );
  }
}

export function unavailable(message: string, cause?: unknown): ServiceError {
  return new ServiceError("unavailable", message, { retryAfterSeconds: RETRY_SECONDS, cause });
}

function isErrorCode(code: string): code is ErrorCode {
  return code in errorCatalogue;
}

/** Fastify and the JSON parser mark what the caller did wrong with a 4xx status. */
function isClientError(error: unknown): boolean {
  if (!(error instanceof Error) || !("statusCode" in error)) return false;
  return typeof error.statusCode === "number" && error.statusCode >= 400 && error.statusCode < 500;
}

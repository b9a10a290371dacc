import { type ErrorBody, errorCatalogue, type ErrorCode, MDS_MEDIA_TYPE } from "@bikeshare/contract";
import { bodyTooLarge, methodNotAllowed, ServiceError, serviceError } from "@bikeshare/rules";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { codeOf, CommitOutcomeUnknown, isDiskFull, isRefusedNul, isUnavailable } from "../storage/db/errors.ts";

/* Answers failed requests with errors of the catalogue, and reads the `Retry-After` of other servers. */

/** Seconds after which a caller should retry when the service is unavailable: about the duration of a restart. */
const RETRY_SECONDS = 5;

/**
 * Answers every failed request with an error of the one standard form, or of the form of MDS.
 * @param onUnavailable receives the reason when a request could not be served because the database is unavailable
 */
export function handleErrors(app: FastifyInstance, onUnavailable: (error: unknown) => void = () => undefined): void {
  app.decorateRequest("errorCode");
  app.decorateRequest("errorMessage");
  app.decorateRequest("routeOfPath");
  app.setErrorHandler((error, request, reply) => {
    if (isUnavailable(error) && !isAborted(request, error)) onUnavailable(error);
    return sendError(reply, request, error);
  });
  // Node would refuse a request without Host or with an unknown expectation, by an answer that has no body. Instead,
  // `framingError` rejects the one without Host, and an unknown expectation may be ignored (RFC 9110, 10.1.1).
  Object.assign(app.server, { requireHostHeader: false });
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
}

/** Answers with `error` as the error catalogue describes it. An error without an entry is logged and not shown. */
export function sendError(reply: FastifyReply, request: FastifyRequest, error: unknown): FastifyReply {
  const known = isAborted(request, error) ? unreadable(error) : toServiceError(error);
  const code = isErrorCode(known.code) ? known.code : "internal";
  request.errorCode = code;
  request.errorMessage = known.httpMessage;
  // A partner may set faults in its sandbox, so that requests fail on purpose. Only such a failure is thrown as a
  // `ServiceError` with the code `internal`, which `toServiceError` returns unchanged. It is not logged.
  const isSimulated = known === error;
  if (code === "internal" && !isSimulated) request.log.error({ err: error, reqId: request.id }, "request failed");
  const toMds = isMds(request);
  const body = toMds ? mdsErrorJson(code, known.httpMessage) : errorJson(code, known.httpMessage);
  return (
    reply
      .code(errorCatalogue[code].status)
      .headers(known.headers)
      .header("content-type", toMds ? MDS_MEDIA_TYPE : "application/json")
      // Sent as bytes: Fastify adds a charset to a text, and no hook can remove it when the router itself failed.
      .send(Buffer.from(body))
  );
}

/**
 * Tells whether the caller disconnected while its body was read. The error's code alone does not show that, because a lost
 * connection to the database has the same code.
 */
function isAborted({ raw }: FastifyRequest, error: unknown): boolean {
  return error instanceof Error && raw.errored === error;
}

/**
 * Returns the error of a request whose caller disconnected. Nobody receives it; it is counted and logged as the request's
 * failure, not the service's.
 */
function unreadable(cause: unknown): ServiceError {
  return serviceError("invalid_request", "unreadable", {}, { cause });
}

declare module "fastify" {
  interface FastifyRequest {
    /** The code of the error that the request was answered with. */
    errorCode: ErrorCode | undefined;
    /** The error's message. */
    errorMessage: string | undefined;
    /** The route of the path, if it does not take the request's method; undefined otherwise. */
    routeOfPath: string | undefined;
  }
}

/** Converts any failure to an error of the catalogue. */
function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError && isErrorCode(error.code)) return error;
  const cause = { cause: error };
  if (isDiskFull(error)) return unavailable("diskFull", cause);
  if (error instanceof CommitOutcomeUnknown) return unavailable("outcomeUnknown", cause);
  if (isUnavailable(error)) return unavailable("database", cause);
  if (isRefusedNul(error)) return serviceError("invalid_request", "nul", {}, cause);
  switch (codeOf(error)) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return bodyTooLarge(cause);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return serviceError("unsupported_media_type", "notJson", {}, cause);
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return serviceError("invalid_request", "emptyBody", {}, cause);
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return serviceError("invalid_request", "bodyNotJson", {}, cause);
    default:
      return isClientError(error) ? unreadable(error) : serviceError("internal", "default", {}, cause);
  }
}

/** Returns the error of a service that cannot answer at present. */
export function unavailable(
  why: "database" | "outcomeUnknown" | "diskFull" | "stopping",
  options: ErrorOptions = {},
): ServiceError {
  return serviceError("unavailable", why, { retryAfterSeconds: RETRY_SECONDS }, options);
}

function isErrorCode(code: string): code is ErrorCode {
  return code in errorCatalogue;
}

/** Tells whether the caller caused an error: Fastify and the JSON parser give such errors a 4xx status. */
function isClientError(error: unknown): boolean {
  if (!(error instanceof Error) || !("statusCode" in error)) return false;
  return typeof error.statusCode === "number" && error.statusCode >= 400 && error.statusCode < 500;
}

/** Returns the JSON text of an error's body: exactly `error` and `message`. */
export function errorJson(error: ErrorCode, message: string): string {
  const body: ErrorBody = { error, message };
  return JSON.stringify(body);
}

/** Tells whether a request is one of the Mobility Data Specification (MDS), whose errors have another form. */
function isMds({ url }: FastifyRequest): boolean {
  return url.startsWith("/mds/");
}

/** Returns the text of an error's body in the form of MDS. */
export function mdsErrorJson(error: string, message: string): string {
  return JSON.stringify({ error, error_description: message, error_details: [message] });
}

/** Answers paths that do not exist (404) and methods that a path does not take (405, with `Allow`). */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const methodsByRoute = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ url, method }) => {
    const methods = methodsByRoute.get(url) ?? new Set<string>();
    for (const name of Array.isArray(method) ? method : [method]) methods.add(name);
    methodsByRoute.set(url, methods);
  });
  /** Made at the first unknown path, when all routes are registered. Most services that tests start never need them. */
  let patterns:
    | readonly { readonly route: string; readonly pattern: RegExp; readonly methods: Set<string> }[]
    | undefined;
  app.setNotFoundHandler((request, reply) => {
    patterns ??= [...methodsByRoute].map(([route, methods]) => ({ route, pattern: toPattern(route), methods }));
    const path = request.url.split("?", 1)[0] ?? "";
    const found = patterns.find(({ pattern }) => pattern.test(path));
    if (found === undefined) {
      return sendError(reply, request, serviceError("not_found", "path"));
    }
    request.routeOfPath = found.route;
    return sendError(reply, request, methodNotAllowed(request.method, found.methods));
  });
}

function toPattern(url: string): RegExp {
  const path = url.split("/").map(partPattern).join("/");
  return new RegExp(`^${path}$`);
}

function partPattern(part: string): string {
  if (part.startsWith(":")) return "[^/]+";
  // A fixed part matches itself: characters with a meaning in regular expressions are escaped.
  return part === "*" ? ".*" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

type Header = readonly [name: string, value: string];

/** The longest result, a year. The caller of `readRetryAfter` decides how long to wait, but needs a finite number. */
const MAX_RETRY_AFTER_MS = 365 * 24 * 3600 * 1000;

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that RFC 9110 allows servers to send. */
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Returns for how many milliseconds an answer of another server asks us to wait (`Retry-After`, seconds or a date); null: it
 * does not, or in an unreadable form. A date is counted from the answer's `Date` header, so that a wrong clock of the server
 * does no harm.
 *
 * @param now returns milliseconds since 1970, for an answer without `Date`. Undefined: a date in such an answer gives
 * null.
 */
export function readRetryAfter(headers: readonly Header[], now: (() => number) | undefined): number | null {
  const value = valueOf(headers, "retry-after");
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS);
  const until = readDate(value);
  if (until === undefined) return null;
  const from = readDate(valueOf(headers, "date") ?? "") ?? now?.();
  return from === undefined ? null : Math.min(Math.max(0, until - from), MAX_RETRY_AFTER_MS);
}

function valueOf(headers: readonly Header[], wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1].trim();
}

function readDate(text: string): number | undefined {
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

import type { Idempotency, Keys } from "./access.ts";
import { endPastAlerts } from "./alerts.ts";
import { type Answer, answer, errorAnswer } from "./answer.ts";
import type { City } from "./city.ts";
import { endpoints, type Operation } from "./contract.generated.ts";
import { type Asked, type OpenOperation, operations } from "./operations.ts";
import { checkHeaders, type Endpoint, readBody, readId, readQuery } from "./parameters.ts";
import { expireReservations } from "./reservations.ts";
import {
  bodyTooLarge,
  isDecodable,
  isUtf8Charset,
  MAX_BODY_BYTES,
  type MemoryRateLimiter,
  methodNotAllowed,
  missingScope,
  queryEncodingError,
  rateHeaders,
  rateLimited,
  scopeOfPath,
  ServiceError,
  serviceError,
} from "./rules.ts";

/** A request that the fake gets. */
export interface Incoming {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty when there is none. */
  readonly body: string;
}

/** The parts of a fake: its data, its API keys, their rate limits, and the answers by idempotency key. */
export interface Parts {
  readonly city: City;
  readonly keys: Keys;
  readonly limiter: MemoryRateLimiter;
  readonly idempotency: Idempotency;
}

/** All operations, each with a pattern of its path. */
const routes = Object.entries(endpoints).map(([name, endpoint]) => {
  const [method = "", path = ""] = name.split(" ");
  const pattern = new RegExp(`^${path.replace(":id", "([^/]*)")}$`);
  return { operation: name as Operation, endpoint, method, pattern };
});

/** The operation that a request asks for, and the id in its path. */
interface Matched {
  readonly operation: Operation;
  readonly endpoint: Endpoint;
  readonly id: string;
}

/** Finds the operation of a request; undefined for an unknown path or method. HEAD is a GET without a body. */
export function match({ method, url }: Pick<Incoming, "method" | "url">): Matched | undefined {
  const wanted = method === "HEAD" ? "GET" : method;
  const route = routes.find(({ method: own, pattern }) => own === wanted && pattern.test(url.pathname));
  return route && { ...route, id: route.pattern.exec(url.pathname)?.[1] ?? "" };
}

/**
 * Answers a request as the service does, step by step: transport, key, scope, rate, parameters, work. A request that one
 * step rejects does not reach the next step.
 *
 * @param instead a scripted answer, which replaces the last two steps: the check of the parameters, and the work
 */
export function serve(parts: Parts, incoming: Incoming, instead?: Answer): Answer {
  /** The rate-limit headers. Every answer after the check of the key has them, even an error. */
  const headers: Record<string, string> = {};
  const respond = (): Answer => {
    checkTransport(parts, incoming);
    const matched = match(incoming);
    // Most unknown paths need a scope too (`scopeOfPath`), so that only a caller with a key learns that it is unknown.
    const scope = matched?.endpoint.scope ?? scopeOfPath(incoming.url.pathname);
    const scopes = [scope, ...parameterScopesOf(matched?.endpoint, incoming)];
    const caller = scope === "none" ? undefined : authenticate(parts, incoming, scopes, headers);
    return instead ?? work(parts, incoming, matched, caller);
  };
  const answered = answerOrError(respond);
  // A scripted answer may have other rate-limit headers.
  return { ...answered, headers: { ...headers, ...answered.headers } };
}

function answerOrError(respond: () => Answer): Answer {
  try {
    return respond();
  } catch (error) {
    if (error instanceof ServiceError) return errorAnswer(error);
    throw error;
  }
}

/** Rejects plain HTTP, over which others could read a key, and a key in a URL, because logs contain URLs. */
function checkTransport({ keys }: Parts, { url }: Incoming): void {
  const isLoopback = /^(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLoopback) throw serviceError("https_required");
  if (keys.isIn(url.pathname + url.search)) throw serviceError("invalid_parameter", "keyInUrl");
}

/** The key of a request, and the state of its rate limit. */
type Caller = Pick<Asked, "key" | "rate">;

/** Checks a request's key, scopes and rate. @param answerHeaders gets the rate-limit headers */
function authenticate(
  { keys, limiter }: Parts,
  { headers }: Incoming,
  scopes: readonly string[],
  answerHeaders: Record<string, string>,
): Caller {
  const key = keys.authenticate(headers.get("authorization"));
  const missing = scopes.find((scope) => scope !== "any" && !key.scopes.some((name) => name === scope));
  // A request without the needed scope does not count towards the rate limit.
  const rate = missing === undefined ? limiter.take(key.id, key.rateLimit) : limiter.peek(key.id, key.rateLimit);
  Object.assign(answerHeaders, rateHeaders(rate));
  if (missing !== undefined) throw missingScope(missing);
  if (!rate.allowed) throw rateLimited(rate);
  return { key, rate };
}

/** Returns the scopes that the query parameters of a request need. */
function parameterScopesOf(endpoint: Endpoint | undefined, { url }: Incoming): string[] {
  const scopes = Object.entries(endpoint?.parameterScopes ?? {});
  return scopes.flatMap(([name, scope]) => (url.searchParams.has(name) ? [scope] : []));
}

/** Checks the parameters and carries out the operation. @param caller undefined: the endpoint needs no key */
function work(
  { city, idempotency }: Parts,
  incoming: Incoming,
  matched: Matched | undefined,
  caller: Caller | undefined,
): Answer {
  const { headers, url } = incoming;
  // This check comes after the key, so that only a caller with a key learns that a URL is badly encoded.
  if (!isDecodable(url.pathname)) throw serviceError("invalid_request", "invalidPath");
  const encodingError = queryEncodingError(url.search.slice(1));
  if (encodingError !== undefined) throw encodingError;
  if (matched === undefined) throw noRoute(incoming);
  const { operation, endpoint } = matched;
  expireReservations(city);
  endPastAlerts(city);
  checkNotCompressed(incoming);
  const json = endpoint.body && readJson(incoming);
  const id = readId(matched.id, endpoint.path);
  const query = readQuery(url.searchParams, endpoint.query);
  checkHeaders(headers, endpoint.headers);
  if (caller === undefined || isOpen(operation)) return answer({ status: "ok" });
  const body = endpoint.body ? readBody(json, endpoint.body) : {};
  return operations[operation]({ city, idempotency, ...caller, id, query, path: url.pathname, headers, body });
}

function isOpen(operation: Operation): operation is OpenOperation {
  return endpoints[operation].scope === "none";
}

/** Returns the error for a request without an operation: 405 when the path has other methods, else 404. */
function noRoute({ method, url }: Incoming): ServiceError {
  // A pattern also matches an empty id.
  const isIdMissing = url.pathname.endsWith("/");
  const routesHere = routes.filter(({ pattern }) => !isIdMissing && pattern.test(url.pathname));
  const methods = routesHere.flatMap((route) => (route.method === "GET" ? ["GET", "HEAD"] : route.method));
  return methods.length === 0 ? serviceError("not_found", "path") : methodNotAllowed(method, methods);
}

/** Rejects a compressed body, even if the operation takes no body. */
function checkNotCompressed({ method, headers, body }: Incoming): void {
  // Whether the service reads the body: it ignores the body of a GET or HEAD.
  const isRead = method !== "GET" && method !== "HEAD" && body !== "";
  if (isRead && !/^(identity)?$/i.test(headers.get("content-encoding") ?? "")) {
    throw serviceError("unsupported_media_type", "compressed");
  }
}

/**
 * Parses the body of an operation that takes one; undefined: there is no body.
 * @throws ServiceError `unsupported_media_type`, `payload_too_large`, `invalid_request`
 */
function readJson({ headers, body }: Incoming): unknown {
  const type = headers.get("content-type");
  if (type === null && body === "") return undefined;
  if (!/^application\/json\s*(;|$)/i.test(type ?? "")) throw serviceError("unsupported_media_type", "notJson");
  if (!isUtf8Charset(type ?? "")) throw serviceError("unsupported_media_type", "charset");
  if (new TextEncoder().encode(body).length > MAX_BODY_BYTES) throw bodyTooLarge();
  if (body === "") throw serviceError("invalid_request", "emptyBody");
  try {
    return JSON.parse(body);
  } catch {
    throw serviceError("invalid_request", "bodyNotJson");
  }
}

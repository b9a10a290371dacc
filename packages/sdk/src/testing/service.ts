import { routes } from "../routes.generated.ts";
import type { FakeKey, Idempotency, Keys } from "./access.ts";
import type { City } from "./city.ts";
import { endpoints } from "./contract.generated.ts";
import { type Answer, errorAnswer, ServiceError, serviceError } from "./errors.ts";
import { answer, type Asked, type Operation, operations, type OpenOperation } from "./operations.ts";
import { checkHeaders, type Endpoint, parameterIssues, readQuery, type Schemas } from "./parameters.ts";
import { expireReservations } from "./reservations.ts";
import {
  errorMessage,
  MAX_BODY_BYTES,
  type MemoryRateLimiter,
  RATE_WINDOW_SECONDS,
  type RateDecision,
  rateHeaders,
} from "./rules.ts";

/** A request as it comes in. */
export interface Incoming {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty when there is none. */
  readonly body: string;
}

/** What the fake is put together from. */
export interface Parts {
  readonly city: City;
  readonly keys: Keys;
  readonly limiter: MemoryRateLimiter;
  readonly idempotency: Idempotency;
}

/** Which operation a request asks for, and the id in its path. */
interface Matched {
  readonly operation: Operation;
  readonly id: string;
}

const routeTable = Object.values(routes)
  .flatMap((verbs) => Object.values(verbs) as readonly (readonly [Operation, ...unknown[]])[])
  .map(([operation]) => {
    const [method = "", path = ""] = operation.split(" ");
    return { operation, method, pattern: new RegExp(`^${path.replace(":id", "([^/]*)")}$`) };
  });

/** Finds the operation of a request; undefined for an unknown path or method. HEAD is a GET without a body. */
export function match({ method, url }: Pick<Incoming, "method" | "url">): Matched | undefined {
  const wanted = method === "HEAD" ? "GET" : method;
  for (const route of routeTable) {
    const [whole, id = ""] = (route.method === wanted && route.pattern.exec(url.pathname)) || [];
    if (whole !== undefined) return { operation: route.operation, id };
  }
  return undefined;
}

/**
 * Answers a request as the service does, step by step: transport, key, scope, rate, parameters, work. A request that a
 * step refuses never reaches the next.
 *
 * @param instead an answer to give in place of the work
 */
export function serve(parts: Parts, incoming: Incoming, instead?: Answer): Answer {
  let headers: Record<string, string> = {};
  try {
    const matched = match(incoming);
    const endpoint = matched && endpoints[matched.operation];
    checkTransport(parts, incoming);
    const scope = endpoint?.scope ?? scopeOfPath(incoming.url.pathname);
    if (scope === "none") return instead ?? answerOpen(incoming, matched, endpoint);
    const { key, rate, error } = admit(parts, incoming, scope);
    headers = rateHeaders(rate);
    if (error !== undefined) throw error;
    // A scripted answer may say something else of the limit.
    const answered = instead ?? work(parts, incoming, matched, endpoint, key, rate);
    return { ...answered, headers: { ...headers, ...answered.headers } };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const refused = errorAnswer(error);
    return { ...refused, headers: { ...headers, ...refused.headers } };
  }
}

/** A key must be neither in a URL, which logs keep, nor on a plain connection, where others read it. */
function checkTransport({ keys }: Parts, { url }: Incoming): void {
  const isLoopback = /^(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLoopback) throw serviceError("https_required");
  if (keys.isIn(url.pathname + url.search)) throw serviceError("invalid_parameter", "keyInUrl");
}

/** A path that is no endpoint: below /v1 and /operator nobody learns that without a key. */
function scopeOfPath(path: string): string {
  if (/^\/operator(\/|$)/.test(path)) return "operator";
  return /^\/v\d+(\/|$)/.test(path) ? "any" : "none";
}

interface Admitted {
  readonly key: FakeKey;
  readonly rate: RateDecision;
  /** Why the request goes no further; its answer says what is left of the limit too. */
  readonly error: ServiceError | undefined;
}

function admit({ keys, limiter }: Parts, { headers }: Incoming, scope: string): Admitted {
  const key = keys.authenticate(headers.get("authorization"));
  if (scope !== "any" && !key.scopes.some((name) => name === scope)) {
    const challenge = { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` };
    const error = new ServiceError("forbidden", errorMessage("forbidden", "missingScope", { scope }), challenge);
    return { key, rate: limiter.peek(key.id, key.rateLimit), error };
  }
  const rate = limiter.take(key.id, key.rateLimit);
  return { key, rate, error: rate.allowed ? undefined : rateLimited(rate) };
}

function rateLimited({ limit, resetSeconds }: RateDecision): ServiceError {
  const values = { limit, windowSeconds: RATE_WINDOW_SECONDS, retryAfterSeconds: resetSeconds };
  const headers = { "retry-after": String(resetSeconds) };
  return new ServiceError("rate_limited", errorMessage("rate_limited", "key", values), headers);
}

function work(
  { city, idempotency }: Parts,
  incoming: Incoming,
  matched: Matched | undefined,
  endpoint: Endpoint | undefined,
  key: FakeKey,
  rate: RateDecision,
): Answer {
  checkEncoding(incoming);
  if (matched === undefined || endpoint === undefined) throw noRoute(incoming);
  expireReservations(city);
  checkNotCompressed(incoming);
  const body = endpoint.body && readJson(incoming);
  const id = readId(matched.id, endpoint.path);
  const query = readQuery(incoming.url.searchParams, endpoint.query);
  checkHeaders(incoming.headers, endpoint.headers);
  const { headers, url } = incoming;
  const asked: Asked = { city, idempotency, key, rate, id, query, path: url.pathname, headers, body };
  const { operation } = matched;
  return isOpen(operation) ? answer({ status: "ok" }) : operations[operation](asked);
}

function isOpen(operation: Operation): operation is OpenOperation {
  return endpoints[operation]?.scope === "none";
}

function answerOpen(incoming: Incoming, matched: Matched | undefined, endpoint: Endpoint | undefined): Answer {
  checkEncoding(incoming);
  if (matched === undefined || endpoint === undefined) throw noRoute(incoming);
  readQuery(incoming.url.searchParams, endpoint.query);
  return answer({ status: "ok" });
}

function noRoute({ method, url }: Incoming): ServiceError {
  const isIdMissing = url.pathname.endsWith("/");
  const routesHere = routeTable.filter(({ pattern }) => !isIdMissing && pattern.test(url.pathname));
  const methods = routesHere.map((route) => route.method);
  if (methods.length === 0) return serviceError("not_found", "path");
  const allowed = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort().join(", ");
  const message = errorMessage("method_not_allowed", "allowed", { method, allowed });
  return new ServiceError("method_not_allowed", message, { allow: allowed });
}

/** Refuses a URL that is badly encoded. Nobody learns of it without a key. */
function checkEncoding({ url }: Incoming): void {
  if (!isDecodable(url.pathname)) throw serviceError("invalid_request", "invalidPath");
  const parameters = url.search.slice(1).split("&");
  const wrong = parameters.find((written) => !isDecodable(written));
  if (wrong === undefined) return;
  const [name = ""] = wrong.split("=", 1);
  throw serviceError("invalid_parameter", "notUtf8", { name: name.slice(0, 50) });
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function readId(segment: string, { id: schema }: Schemas): string {
  const id = decodeURIComponent(segment);
  const issue = schema && parameterIssues("id", id, schema).join("; ");
  if (issue) throw serviceError("not_found", "pathId", { issue });
  return id;
}

/** Refuses a compressed body, where nobody reads it too. */
function checkNotCompressed({ method, headers, body }: Incoming): void {
  const isRead = method !== "GET" && method !== "HEAD" && body !== "";
  if (isRead && !/^(identity)?$/i.test(headers.get("content-encoding") ?? "")) {
    throw serviceError("unsupported_media_type", "compressed");
  }
}

function readJson({ headers, body }: Incoming): unknown {
  const type = headers.get("content-type");
  if (type === null && body === "") return undefined;
  if (!/^application\/json\s*(;|$)/i.test(type ?? "")) throw serviceError("unsupported_media_type", "notJson");
  const [, quoted, plain = "utf-8"] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(type ?? "") ?? [];
  if (!/^utf-?8$/i.test(quoted ?? plain)) throw serviceError("unsupported_media_type", "charset");
  if (new TextEncoder().encode(body).length > MAX_BODY_BYTES) {
    throw serviceError("payload_too_large", "body", { limit: `${MAX_BODY_BYTES / 1024 ** 2} MiB` });
  }
  if (body === "") throw serviceError("invalid_request", "emptyBody");
  try {
    return JSON.parse(body);
  } catch {
    throw serviceError("invalid_request", "bodyNotJson");
  }
}

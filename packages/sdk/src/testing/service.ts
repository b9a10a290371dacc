import type { Idempotency, Keys } from "./access.ts";
import { type Answer, answer, errorAnswer } from "./answer.ts";
import type { City } from "./city.ts";
import { endpoints } from "./contract.generated.ts";
import { type Asked, type Operation, operations, type OpenOperation } from "./operations.ts";
import { checkHeaders, type Endpoint, parameterIssues, readQuery, type Schemas } from "./parameters.ts";
import { expireReservations } from "./reservations.ts";
import {
  MAX_BODY_BYTES,
  type MemoryRateLimiter,
  missingScope,
  rateHeaders,
  rateLimited,
  scopeOfPath,
  ServiceError,
  serviceError,
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

const routeTable = Object.entries(endpoints).map(([name, endpoint]) => {
  const [method = "", path = ""] = name.split(" ");
  // The contract's table of endpoints has the operations.
  return { operation: name as Operation, endpoint, method, pattern: new RegExp(`^${path.replace(":id", "([^/]*)")}$`) };
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
  for (const { operation, endpoint, method: own, pattern } of routeTable) {
    const [whole, id = ""] = (own === wanted && pattern.exec(url.pathname)) || [];
    if (whole !== undefined) return { operation, endpoint, id };
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
  const headers: Record<string, string> = {};
  const respond = (): Answer => {
    const matched = match(incoming);
    checkTransport(parts, incoming);
    const scope = matched?.endpoint.scope ?? scopeOfPath(incoming.url.pathname);
    const caller = scope === "none" ? undefined : authenticate(parts, incoming, scope, headers);
    return instead ?? work(parts, incoming, matched, caller);
  };
  const answered = answerOrError(respond);
  // A scripted answer may say something else of the limit.
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

/** A key must be neither in a URL, which logs keep, nor on a plain connection, where others read it. */
function checkTransport({ keys }: Parts, { url }: Incoming): void {
  const isLoopback = /^(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLoopback) throw serviceError("https_required");
  if (keys.isIn(url.pathname + url.search)) throw serviceError("invalid_parameter", "keyInUrl");
}

/** Who sends a request, and how many more requests the key may send. */
type Caller = Pick<Asked, "key" | "rate">;

/** @param answerHeaders takes what every answer to this key says, an error too */
function authenticate(
  { keys, limiter }: Parts,
  { headers }: Incoming,
  scope: string,
  answerHeaders: Record<string, string>,
): Caller {
  const key = keys.authenticate(headers.get("authorization"));
  const isAllowed = scope === "any" || key.scopes.some((name) => name === scope);
  // A refused scope does not use up the rate limit.
  const rate = isAllowed ? limiter.take(key.id, key.rateLimit) : limiter.peek(key.id, key.rateLimit);
  Object.assign(answerHeaders, rateHeaders(rate));
  if (!isAllowed) throw missingScope(scope);
  if (!rate.allowed) throw rateLimited(rate);
  return { key, rate };
}

/** @param caller undefined: the endpoint asks for no key */
function work(
  { city, idempotency }: Parts,
  incoming: Incoming,
  matched: Matched | undefined,
  caller: Caller | undefined,
): Answer {
  checkEncoding(incoming);
  if (matched === undefined) throw noRoute(incoming);
  const { operation, endpoint } = matched;
  const { headers, url } = incoming;
  expireReservations(city);
  checkNotCompressed(incoming);
  const body = endpoint.body && readJson(incoming);
  const id = readId(matched.id, endpoint.path);
  const query = readQuery(url.searchParams, endpoint.query);
  checkHeaders(headers, endpoint.headers);
  if (caller === undefined || isOpen(operation)) return answer({ status: "ok" });
  return operations[operation]({ city, idempotency, ...caller, id, query, path: url.pathname, headers, body });
}

function isOpen(operation: Operation): operation is OpenOperation {
  return endpoints[operation]?.scope === "none";
}

function noRoute({ method, url }: Incoming): ServiceError {
  const isIdMissing = url.pathname.endsWith("/");
  const routesHere = routeTable.filter(({ pattern }) => !isIdMissing && pattern.test(url.pathname));
  const methods = routesHere.map((route) => route.method);
  if (methods.length === 0) return serviceError("not_found", "path");
  const allowed = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort().join(", ");
  return serviceError("method_not_allowed", "allowed", { method, allowed }, { headers: { allow: allowed } });
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

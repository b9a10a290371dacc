import { routes } from "../routes.generated.ts";
import { type Answer, errorAnswer, Refused } from "./answer.ts";
import type { City } from "./city.ts";
import { endpoints } from "./contract.generated.ts";
import type { Endpoint, Rules } from "./endpoint.ts";
import type { Idempotency } from "./idempotency.ts";
import type { FakeKey, Keys } from "./keys.ts";
import { answer, type Asked, type Operation, operations, type OpenOperation } from "./operations.ts";
import { checkHeaders, readQuery } from "./parameters.ts";
import { rateHeaders, type RateDecision, type RateLimiter } from "./rate-limit.ts";
import { expireReservations } from "./reservations.ts";

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
  readonly limiter: RateLimiter;
  readonly idempotency: Idempotency;
}

/** Which operation a request asks for, and the id in its path; undefined for a path or a method that there is not. */
export interface Matched {
  readonly operation: Operation;
  readonly id: string;
}

/** Bytes of the largest body that the service takes. */
const MAX_BODY = 1024 * 1024;

const table = Object.values(routes)
  .flatMap((verbs) => Object.values(verbs) as readonly (readonly [Operation, ...unknown[]])[])
  .map(([operation]) => {
    const [method = "", path = ""] = operation.split(" ");
    return { operation, method, pattern: new RegExp(`^${path.replace(":id", "([^/]+)")}$`) };
  });

/** Finds the operation of a request. HEAD is a GET without a body. */
export function match({ method, url }: Pick<Incoming, "method" | "url">): Matched | undefined {
  const wanted = method === "HEAD" ? "GET" : method;
  for (const route of table) {
    const [whole, id = ""] = (route.method === wanted && route.pattern.exec(url.pathname)) || [];
    if (whole !== undefined) return { operation: route.operation, id };
  }
  return undefined;
}

/**
 * Answers a request as the service does, step by step: transport, key, scope, rate, parameters, work. What a step
 * refuses never reaches the next.
 *
 * @param instead an answer to give in place of the work
 */
export function serve(parts: Parts, incoming: Incoming, instead?: Answer): Answer {
  let headers: Record<string, string> = {};
  try {
    const matched = match(incoming);
    refuseExposed(parts, incoming);
    const endpoint = matched && endpoints[matched.operation];
    const scope = endpoint?.scope ?? scopeOfPath(incoming.url.pathname);
    if (scope === "none") return instead ?? answerOpen(incoming, matched, endpoint);
    const { key, rate, fault } = admit(parts, incoming, scope);
    headers = rateHeaders(rate);
    if (fault !== undefined) throw fault;
    // What is given instead knows better what it says of the limit.
    if (instead !== undefined) return { ...instead, headers: { ...headers, ...instead.headers } };
    refuseMalformed(incoming);
    const answered = work(parts, incoming, matched, endpoint, key, rate);
    return { ...answered, headers: { ...headers, ...answered.headers } };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const refused = errorAnswer(error);
    return { ...refused, headers: { ...headers, ...refused.headers } };
  }
}

/** A key must stand neither in a URL, where logs keep it, nor on a plain connection, where others read it. */
function refuseExposed({ keys }: Parts, { url }: Incoming): void {
  const isLoopback = /^(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !isLoopback) {
    const message =
      "This service is reached over https only. A key that was sent over plain HTTP counts as exposed: ask for a new one.";
    throw new Refused("https_required", message);
  }
  if (!keys.isIn(url.pathname + url.search)) return;
  const message =
    "A key must not stand in the URL, where logs keep it. Send Authorization: Bearer <API_KEY>, and ask for a new key: this one counts as exposed.";
  throw new Refused("invalid_parameter", message);
}

interface Admitted {
  readonly key: FakeKey;
  readonly rate: RateDecision;
  /** Why the request goes no further; what the limit says goes with it. */
  readonly fault: Refused | undefined;
}

function admit({ keys, limiter }: Parts, { headers }: Incoming, scope: string): Admitted {
  const key = keys.authenticate(headers.get("authorization"));
  if (scope !== "any" && !key.scopes.some((name) => name === scope)) {
    const message = `The key lacks the scope ${scope}. Ask the operator for a key that has it.`;
    const challenge = { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` };
    const fault = new Refused("forbidden", message, challenge);
    return { key, rate: limiter.peek(key.id, key.rateLimit), fault };
  }
  const rate = limiter.take(key.id, key.rateLimit);
  if (rate.isAllowed) return { key, rate, fault: undefined };
  const { limit, resetSeconds } = rate;
  const message = `The key has made ${limit} requests in the last 60 s. Try again in ${resetSeconds} s.`;
  return { key, rate, fault: new Refused("rate_limited", message, { "retry-after": String(resetSeconds) }) };
}

function work(
  { city, idempotency }: Parts,
  incoming: Incoming,
  matched: Matched | undefined,
  endpoint: Endpoint | undefined,
  key: FakeKey,
  rate: RateDecision,
): Answer {
  if (matched === undefined || endpoint === undefined) throw noRoute(incoming);
  expireReservations(city);
  refuseCoded(incoming);
  const body = endpoint.body && readJson(incoming);
  const id = readId(matched.id, endpoint.path);
  const query = readQuery(incoming.url.searchParams, endpoint.query);
  checkHeaders(incoming.headers, endpoint.headers);
  const asked: Asked = {
    city,
    idempotency,
    key,
    rate,
    id,
    query,
    path: incoming.url.pathname,
    headers: incoming.headers,
    body,
  };
  const { operation } = matched;
  return isOpen(operation) ? answer({ status: "ok" }) : operations[operation](asked);
}

function isOpen(operation: Operation): operation is OpenOperation {
  return endpoints[operation]?.scope === "none";
}

function answerOpen(incoming: Incoming, matched: Matched | undefined, endpoint: Endpoint | undefined): Answer {
  refuseMalformed(incoming);
  if (matched === undefined || endpoint === undefined) throw noRoute(incoming);
  readQuery(incoming.url.searchParams, endpoint.query);
  return answer({ status: "ok" });
}

/** A path that is no endpoint: below /v1 and /operator nobody learns that without a key. */
function scopeOfPath(path: string): string {
  if (/^\/operator(\/|$)/.test(path)) return "operator";
  return /^\/v\d+(\/|$)/.test(path) ? "any" : "none";
}

function noRoute({ method, url }: Incoming): Refused {
  const methods = table.filter(({ pattern }) => pattern.test(url.pathname)).map((route) => route.method);
  if (methods.length === 0) {
    return new Refused("not_found", "There is no such path. /openapi.json lists those there are.");
  }
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort().join(", ");
  return new Refused("method_not_allowed", `${method} is not possible here; possible: ${allow}.`, { allow });
}

/** A URL that is badly encoded. Nobody learns of it without a key. */
function refuseMalformed({ url }: Incoming): void {
  if (!isDecodable(url.pathname)) throw new Refused("invalid_request", "The request's path is not validly encoded.");
  const pair = url.search
    .slice(1)
    .split("&")
    .find((written) => !isDecodable(written));
  if (pair === undefined) return;
  const name = pair.split("=", 1)[0]?.slice(0, 50);
  throw new Refused("invalid_parameter", `The parameter ${name} is not validly encoded as UTF-8.`);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const noSuchId = "There is no such resource: the identifier in the path is not possible.";

function readId(segment: string, { id: rule }: Rules): string {
  const id = decodeURIComponent(segment);
  if (rule === undefined || (id.length <= (rule.maxLength ?? Infinity) && !id.includes("\0"))) return id;
  throw new Refused("not_found", noSuchId);
}

/** A body is read as it is; what would be unpacked first is refused, where nobody reads it too. */
function refuseCoded({ method, headers, body }: Incoming): void {
  if (method === "GET" || method === "HEAD" || body === "") return;
  if (/^(identity)?$/i.test(headers.get("content-encoding") ?? "")) return;
  const message =
    "The body must come as it is: the service reads no compressed bodies. Send it without Content-Encoding.";
  throw new Refused("unsupported_media_type", message);
}

function readJson({ headers, body }: Incoming): unknown {
  const type = headers.get("content-type");
  if (type === null && body === "") return undefined;
  if (!/^application\/json\s*(;|$)/i.test(type ?? "")) {
    const message = "The body must be JSON, sent with Content-Type: application/json.";
    throw new Refused("unsupported_media_type", message);
  }
  const [, quoted, plain = "utf-8"] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(type ?? "") ?? [];
  if (!/^utf-?8$/i.test(quoted ?? plain)) {
    const message = "The body must be JSON in UTF-8: send it with no charset, or utf-8.";
    throw new Refused("unsupported_media_type", message);
  }
  if (new TextEncoder().encode(body).length > MAX_BODY) {
    throw new Refused("payload_too_large", "The body is larger than 1 MiB. Send less at once.");
  }
  if (body === "") throw new Refused("invalid_request", "The body is empty, but Content-Type announces JSON.");
  try {
    return JSON.parse(body);
  } catch {
    throw new Refused("invalid_request", "The body is not the JSON that the headers announce.");
  }
}

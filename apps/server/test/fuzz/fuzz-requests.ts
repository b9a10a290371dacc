import fc from "fast-check";
import { z } from "zod";
import { contractEndpoints, type FuzzEndpoint, pagePaths } from "./fuzz-endpoints.ts";
import { brokenBodies, hostileTexts, spoiled, spoilings } from "./hostile-values.ts";
import { type IdentityName, rightfulCallers } from "./identities.ts";
import { type KnownValues, valuesOf } from "./schema-values.ts";
import { seenIdToken } from "./seen-ids.ts";

/** A request as it is sent. The headers of the identity are added. */
export interface FuzzRequest {
  readonly identity: IdentityName;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  /** The body, one character for each byte; undefined: none. */
  readonly body: string | undefined;
}

/** Draws `usual` in most cases, and shrinks towards it. */
function mostly<Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>, weight = 5): fc.Arbitrary<Value> {
  return fc.oneof({ withCrossShrink: true }, { arbitrary: usual, weight }, { arbitrary: odd, weight: 1 });
}

const latin1 = (text: string) => Buffer.from(text).toString("latin1");
/**
 * Encodes a text for a path or query. A text that cannot be encoded, such as half a surrogate pair, becomes bytes that are
 * not UTF-8.
 */
const encoded = (text: string) => (text.isWellFormed() ? encodeURIComponent(text) : "%ED%A0%80");

/** Draws requests to everything that is served, from every kind of caller. */
export function fuzzRequests(known: KnownValues, identities: readonly IdentityName[]): fc.Arbitrary<FuzzRequest> {
  const identity = fc.constantFrom(...identities);
  const toEndpoints = contractEndpoints.map((endpoint) => {
    const rightful = fc.constantFrom(...rightfulCallers(endpoint.metadata));
    return requestsTo(endpoint, known, mostly(rightful, identity, 2));
  });
  const toPages = fc.record({
    identity,
    method: methods("GET"),
    target: targets(fc.constantFrom(...pagePaths)),
    headers: headerLists([]),
    body: fc.constant(undefined),
  });
  return fc.oneof({ arbitrary: fc.oneof(...toEndpoints), weight: 12 }, { arbitrary: toPages, weight: 1 });
}

function requestsTo(
  endpoint: FuzzEndpoint,
  known: KnownValues,
  identity: fc.Arbitrary<IdentityName>,
): fc.Arbitrary<FuzzRequest> {
  const hasBody = endpoint.body !== undefined;
  return fc.record({
    identity,
    method: methods(endpoint.method),
    target: targets(fc.tuple(paths(endpoint, known), queries(endpoint, known)).map(([path, query]) => path + query)),
    headers: headerLists(hasBody ? ["Content-Type: application/json"] : []),
    body: hasBody ? bodies(endpoint, known) : mostly(fc.constant(undefined), brokenBodies, 20),
  });
}

function methods(usual: string): fc.Arbitrary<string> {
  const odd = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PROPFIND",
    "CONNECT",
    "get",
    "QUERY",
  ];
  return mostly(fc.constant(usual), fc.constantFrom(...odd, "A".repeat(300), ""), 15);
}

function paths({ path, pathParams }: FuzzEndpoint, known: KnownValues): fc.Arbitrary<string> {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const values = names.map((name) => {
    const valid = valuesOf(pathParams[name] ?? z.string(), known, name);
    const [, list = ""] = new RegExp(`([\\w.-]+)/:${name}\\b`).exec(path) ?? [];
    const seen = fc.nat(20).map((index) => seenIdToken(list, index));
    const usual = name === "system_id" || name === "partner_id" ? valid : fc.oneof(valid, seen);
    return mostly(
      usual.map((value) => encoded(String(value))),
      hostileTexts.map(encoded),
      8,
    );
  });
  return fc
    .tuple(...values)
    .map((drawn) => names.reduce((text, name, index) => text.replace(`:${name}`, () => drawn[index] ?? ""), path));
}

function queries({ query }: FuzzEndpoint, known: KnownValues): fc.Arbitrary<string> {
  const oddName = fc.constantFrom(
    "unknown",
    "__proto__",
    "constructor",
    "limit[]",
    "",
    "%ff",
    "Limit",
    "a".repeat(500),
  );
  const odd = fc.tuple(oddName, hostileTexts).map(([name, value]) => `${name}=${encoded(value)}`);
  const ours = Object.entries(query).map(([name, schema]) => {
    const value = mostly(
      valuesOf(schema, known, name).map((drawn) => (typeof drawn === "string" ? drawn : (JSON.stringify(drawn) ?? ""))),
      fc.oneof(hostileTexts, fc.constantFrom(...known.cursors.map((cursor) => `${cursor.slice(0, -1)}A`))),
      4,
    );
    return value.map((text) => `${name}=${encoded(text)}`);
  });
  const one = ours.length === 0 ? odd : mostly(fc.oneof(...ours), odd, 12);
  const list =
    ours.length === 0
      ? mostly(fc.constant<string[]>([]), fc.array(odd, { maxLength: 2 }), 12)
      : fc.array(one, { maxLength: 3 });
  return list.map((parts) => (parts.length === 0 ? "" : `?${parts.join("&")}`));
}

/** Ways to write a path that a router and an authorisation check might read differently. */
const PATH_TRICKS: readonly ((target: string) => string)[] = [
  (target) => `/${target}`,
  (target) => `/.${target}`,
  (target) => `/x/..${target}`,
  (target) => `/%2e%2e${target}`,
  (target) => target.replace("/v1", "/%76%31"),
  (target) => target.replace("/v1", "/V1"),
  (target) => target.replaceAll("/", "%2f"),
  (target) => target.replace("?", "/?"),
  (target) => `${target}/`,
  (target) => `${target}%00`,
  (target) => `${target};a=b`,
  (target) => `${target}#fragment`,
  (target) => `${target}?${"a=b&".repeat(2_000)}`,
  (target) => `http://127.0.0.1${target}`,
  (target) => `http://other.example${target}`,
  (target) => `//other.example${target}`,
  (target) => `${target}\u00ff`,
  (target) => `${target}%ff`,
  (target) => `${target} HTTP/1.0`,
  () => "*",
  () => "",
];

function targets(usual: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(usual, mostly(fc.constant(undefined), fc.constantFrom(...PATH_TRICKS), 12))
    .map(([target, trick]) => (trick === undefined ? target : trick(target)));
}

const ODD_HEADERS = [
  "Content-Type: text/plain",
  "Content-Type: application/json; charset=utf-16",
  "Content-Type: application/json, text/html",
  "Content-Type: ;;;",
  "Content-Encoding: gzip",
  "Transfer-Encoding: nonsense",
  "Content-Length: 0",
  "Content-Length: -1",
  "Expect: 100-continue",
  "Expect: nonsense",
  "Host: other.example",
  "Host: [",
  "Connection: upgrade",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "X-Forwarded-For: 203.0.113.9",
  "X-Forwarded-Proto: http",
  "X-Forwarded-Proto: https",
  "X-HTTP-Method-Override: DELETE",
  "X-Original-URL: /operator/v1/bikes",
  "Origin: https://evil.example",
  "Sec-Fetch-Site: cross-site",
  "Authorization: Bearer",
  "Authorization: Basic YTpi",
  `Authorization: Bearer ${"a".repeat(9_000)}`,
  "Cookie: bikeshare_session=%00; bikeshare_session=a",
  "Accept: text/html;q=nonsense",
  "Accept-Encoding: gzip",
  "Accept-Encoding: br;q=1.0, zstd, *;q=0",
  "Accept-Encoding: identity;q=0",
  "If-None-Match: *",
  'If-None-Match: W/"a", "b',
  "If-Modified-Since: yesterday",
  "Range: bytes=0-0,1-1",
  "Last-Event-ID: 9999999999999999999999",
  "Access-Control-Request-Method: DELETE",
  "x: \u00ff\u00fe",
  " folded: a",
  "no colon",
  "a b: c",
  `long: ${"a".repeat(17_000)}`,
];

/** Draws headers. Most are valid, some are odd, and some repeat an `Idempotency-Key`. */
function headerLists(usual: readonly string[]): fc.Arbitrary<FuzzRequest["headers"]> {
  const key = fc
    .constantFrom("k1", "k2", "k3", "", "a".repeat(256), "\u00e9")
    .map((text) => `Idempotency-Key: ${text}`);
  const many = fc.constant(Array.from({ length: 300 }, (_, index) => `x-${index}: a`));
  const odd = mostly(
    fc.array(fc.oneof(fc.constantFrom(...ODD_HEADERS), key), { minLength: 1, maxLength: 2 }),
    many,
    30,
  );
  return mostly(
    mostly(
      fc.constant<string[]>([]),
      key.map((one) => [one]),
      3,
    ),
    odd,
    6,
  ).map((more) =>
    [...usual, ...more].map((line): [string, string] => {
      const [name = "", ...value] = line.split(": ");
      return [name, value.join(": ")];
    }),
  );
}

function bodies({ body, example }: FuzzEndpoint, known: KnownValues): fc.Arbitrary<string | undefined> {
  if (body === undefined) return fc.constant(undefined);
  const drawn = valuesOf(body, known);
  const valid = example === undefined ? drawn : mostly(fc.constant(example), drawn, 1);
  const nearly = fc.tuple(valid, spoilings).map(([value, spoiling]) => spoiled(value ?? {}, spoiling));
  const good = valid.map((value) => JSON.stringify(value ?? {}));
  return mostly(mostly(good, nearly, 1).map(latin1), fc.oneof(brokenBodies, hostileTexts.map(latin1)), 10);
}

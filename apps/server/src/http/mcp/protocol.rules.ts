/**
 * Reads and writes messages of the supported revisions of the Model Context Protocol. No state is kept between
 * messages.
 */

/** The revision in which each message names its revision and client, so that no session is needed. */
const MODERN = "2026-07-28";
/** Older revisions, newest first. A client sends `initialize` first, but its content changes no later answer. */
const LEGACY = ["2025-11-25", "2025-06-18"] as const;
/** All supported revisions, newest first. */
export const supportedVersions: readonly string[] = [MODERN, ...LEGACY];

const META = "io.modelcontextprotocol/";

/** The error codes of JSON-RPC and MCP. */
export const rpcCodes = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  /** Only in revisions before 2026-07-28. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

export type Params = Readonly<Record<string, unknown>>;

/** A message: a request, which expects an answer, or, without an id, a notification, which expects none. */
export interface Message {
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: Params;
  /** Whether the message is of revision 2026-07-28. */
  readonly isModern: boolean;
}

/** Why a message is refused. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A message that cannot be processed, with the HTTP status of its answer. */
export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly error: RpcError;
  readonly status: 200 | 400 | 404;

  constructor(error: RpcError, status: 200 | 400 | 404 = 200) {
    super(error.message);
    this.error = error;
    this.status = status;
  }
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the id of the message in a body, which the answer must repeat; undefined: the message has no usable id. */
export function idOf(body: unknown): string | number | undefined {
  const id = isObject(body) ? body["id"] : undefined;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}

/**
 * Reads the one message of a body.
 * @throws RpcFailure when the body is not one message, names a revision that is not supported, lacks what its revision
 *   requires, or contradicts the headers
 */
export function readMessage(body: unknown, headers: Headers): Message {
  if (Array.isArray(body)) throw invalid("Batches are not taken: send each message in a POST of its own.");
  if (!isObject(body) || body["jsonrpc"] !== "2.0" || typeof body["method"] !== "string") {
    throw invalid(
      'The body must be one JSON-RPC request or notification: an object with "jsonrpc": "2.0" and a method.',
    );
  }
  const { id, method, params = {} } = body;
  if (id !== undefined && idOf(body) === undefined) throw invalid("id must be a string or an integer.");
  if (!isObject(params)) throw invalid("params must be an object.");
  const message = { id: idOf(body), method, params };
  const isModern = isOfModernRevision(message, headers);
  if (isModern) checkModern(message, headers);
  else checkLegacy(message, headers);
  return { ...message, isModern };
}

type Unjudged = Omit<Message, "isModern">;

/**
 * A client of 2026-07-28 names its revision in the message. Older clients name it only in a header, or not at all. If
 * the header alone names it, `checkModern` reports the missing field.
 */
function isOfModernRevision({ method, params }: Unjudged, headers: Headers): boolean {
  if (metaOf(params)["protocolVersion"] !== undefined) return true;
  return method !== "initialize" && headers["mcp-protocol-version"] === MODERN;
}

function checkLegacy({ method }: Unjudged, headers: Headers): void {
  const version = headers["mcp-protocol-version"];
  // Before the answer to `initialize`, a client cannot know which revision to name.
  if (method === "initialize" || version === undefined || supportedVersions.includes(String(version))) return;
  throw unsupported(version);
}

function checkModern({ id, method, params }: Unjudged, headers: Headers): void {
  // A notification is not checked, because it has no effect here.
  if (id === undefined) return;
  const meta = metaOf(params);
  const version = meta["protocolVersion"];
  if (version === undefined) {
    throw new RpcFailure(invalidParams(`params._meta must have ${META}protocolVersion.`), 400);
  }
  checkHeader("MCP-Protocol-Version", headers, version);
  if (version !== MODERN) throw unsupported(version);
  checkHeader("Mcp-Method", headers, method);
  const named = NAMED_BY.get(method);
  if (named !== undefined && params[named] !== undefined) checkHeader("Mcp-Name", headers, params[named]);
  if (!isObject(meta["clientCapabilities"])) {
    throw new RpcFailure(invalidParams(`params._meta must have ${META}clientCapabilities, an object.`), 400);
  }
}

/** The parameter, by method, whose value is repeated in the header `Mcp-Name`. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["resources/read", "uri"],
]);

/** Requires a header to agree with the message, because proxies may decide by the header alone. */
function checkHeader(name: string, headers: Headers, expected: unknown): void {
  const given = headers[name.toLowerCase()];
  if (given !== undefined && decoded(String(given)) === expected) return;
  const issue = given === undefined ? "is missing" : "differs from the body";
  throw new RpcFailure({ code: rpcCodes.headerMismatch, message: `The header ${name} ${issue}.` }, 400);
}

/** Returns a header's value. Clients encode values as Base64 that a header cannot contain. */
function decoded(value: string): string {
  const [, base64] = /^=\?base64\?([\w+/=]*)\?=$/.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, "base64").toString();
}

/** Returns the fields of `_meta` that MCP defines, by their names without MCP's prefix. */
function metaOf(params: Params): Params {
  const meta = params["_meta"];
  if (!isObject(meta)) return {};
  const own = Object.entries(meta).filter(([name]) => name.startsWith(META));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(META.length), value]));
}

function unsupported(requested: unknown): RpcFailure {
  const message = `A message may name ${MODERN}. Clients of ${LEGACY.join(" or ")} send \`initialize\` first.`;
  return new RpcFailure(
    { code: rpcCodes.unsupportedVersion, message, data: { supported: supportedVersions, requested } },
    400,
  );
}

function invalid(message: string): RpcFailure {
  return new RpcFailure({ code: rpcCodes.invalidRequest, message }, 400);
}

export function invalidParams(message: string): RpcError {
  return { code: rpcCodes.invalidParams, message };
}

/** Returns the failure of a message with an unknown method. Its HTTP status depends on the revision. */
export function methodNotFound({ method, isModern }: Message): RpcFailure {
  const message = `There is no method ${JSON.stringify(method.slice(0, 100))} here.`;
  return new RpcFailure({ code: rpcCodes.methodNotFound, message }, isModern ? 404 : 200);
}

/** Returns the revision to use with a client of an older revision. */
export function agreedVersion({ params }: Message): string {
  return LEGACY.find((version) => version === params["protocolVersion"]) ?? LEGACY[0];
}

export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** How long a client may cache an answer, and for whom. */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/**
 * Returns a result in the form of the message's revision.
 * @param caching for answers that clients of the modern revision may cache
 */
export function resultOf({ isModern }: Message, result: object, server: ServerInfo, caching?: Caching): object {
  if (!isModern) return result;
  return { resultType: "complete", ...result, ...caching, _meta: { [`${META}serverInfo`]: server } };
}

/** Tells whether a JSON value is an object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { MDS_SCOPE } from "@bikeshare/contract";
import {
  missingScope,
  type RateDecision,
  rateHeaders,
  rateLimited,
  type RateLimiter,
  type ServiceError,
  serviceError,
} from "@bikeshare/rules";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { effectiveRateLimit } from "../partners/keys/key.rules.ts";
import type { LastUses } from "../partners/keys/look-ups.ts";
import type { KeyRow } from "../partners/keys/service.ts";
import {
  type AccessTokens,
  authenticate,
  type AuthenticateOptions,
  type CompromisedKeysOptions,
  basicText,
  endpointOf,
  findKeyOfToken,
  keysInUrl,
  markCompromisedKeys,
} from "./authenticate.ts";
import type { PublicLimit } from "./public-limit.ts";
import { countedAddress, type Transport } from "./transport.ts";

/** The dependencies of `authorizeRequests`, which decides whether a request is handled. */
export interface AuthorizeOptions extends AuthenticateOptions {
  readonly transport: (request: FastifyRequest["raw"]) => Transport;
  readonly limiter: RateLimiter;
  readonly publicLimit: PublicLimit;
  /** The default limit of requests in any 60 s, for keys without a limit of their own. */
  readonly rateLimit: number;
  readonly lastUses: LastUses;
  /** The dependencies of marking keys that others may have read as compromised. */
  readonly compromisedKeys: CompromisedKeysOptions;
  /** The access tokens of agencies; undefined: none are served. */
  readonly tokens?: AccessTokens | undefined;
  /** Decides on requests to the console (the dashboard's interface), which bring a session instead of a key. */
  readonly authorizeConsole: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
}

/**
 * Decides whether a request is handled: transport, key, scope and rate limit are checked, in this order. A request that
 * fails a check does not reach the next check, so a refused key or scope does not use up the rate limit.
 */
export function authorizeRequests(app: FastifyInstance, options: AuthorizeOptions): void {
  app.decorateRequest("transport");
  app.decorateRequest("caller");
  app.decorateRequest("consoleSession");
  app.decorateRequest("consoleCaller");
  app.decorateRequest("refusedKey");
  countLargeAnswers(app, options.publicLimit);
  app.addHook("onRequest", (request, reply, done) => {
    // Browsers must trust the declared type: none of our responses may be interpreted as a page of this origin.
    reply.header("request-id", request.id).header("x-content-type-options", "nosniff");
    try {
      const authorized = authorize(request, reply, options);
      if (authorized === undefined) done();
      // Calls `done`, because most requests are authorized without waiting. The promise of the other requests ends here.
      // oxlint-disable-next-line promise/no-callback-in-promise
      else authorized.then(() => done(), done);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/** Counts large responses to callers without a key or a session, which have no rate limit by key. */
function countLargeAnswers(app: FastifyInstance, publicLimit: PublicLimit): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const { caller, consoleSession, transport, method } = request;
    const isUnknown = caller === undefined && consoleSession === undefined;
    const isBounded = request.routeOptions.config.boundsOwnAnswers === true;
    if (isUnknown && !isBounded && transport !== undefined && method !== "HEAD") {
      const bytes = Buffer.isBuffer(payload) ? payload.length : Number(reply.getHeader("content-length") ?? 0);
      publicLimit.countAnswer(transport.address, bytes);
    }
    done(null, payload);
  });
}

/** Authorizes a request. Returns no promise if the key and its rate are in memory, because this is the hot path. */
function authorize(request: FastifyRequest, reply: FastifyReply, options: AuthorizeOptions): Promise<void> | undefined {
  // This request is made within this process on behalf of an outer request, such as an agent's.
  if (request.outer !== undefined) return authorizeInner(request, request.outer, options);
  // The host, the sender or the end of the request is unclear, so nothing else of it is read.
  if (request.framingError !== undefined) throw request.framingError;
  const transport = options.transport(request.raw);
  request.transport = transport;
  // Keys that others may have read: those in the URL, and those in credentials that were sent over plain HTTP.
  const inUrl = keysInUrl(request.originalUrl);
  const inPlain = transport.secure ? [] : keysInCredentials(request.headers.authorization);
  if (inUrl.length > 0 || inPlain.length > 0) return refuseCompromisedKeys(inUrl, inPlain, transport, options);
  const { scope, parameterScopes, plainHttp, path } = endpointOf(request);
  if (!transport.secure && !plainHttp) {
    // A form may contain a key, which must be marked as compromised before the request is refused.
    if (options.tokens !== undefined && isForm(request)) return refusePlainForm(request, transport, options);
    throw httpsRequired(transport, options);
  }
  if (scope === "none") {
    // Health checks are not limited: they cost next to nothing, and other requests from an address must not block them.
    return plainHttp ? undefined : options.publicLimit.count(transport.address);
  }
  if (scope === "console") return options.authorizeConsole(request, reply);
  const asked = { request, reply, transport, scope, parameterScopes, path };
  const token = scope === MDS_SCOPE ? ACCESS_TOKEN.exec(request.headers.authorization ?? "")?.[1] : undefined;
  const key =
    token === undefined || options.tokens === undefined
      ? authenticate(request, options)
      : findKeyOfToken(token, options.tokens, request, options);
  return key instanceof Promise
    ? key.then((found) => limitRate(found, asked, options))
    : limitRate(key, asked, options);
}

/** Checks the scopes of an inner request's caller. Everything else was checked, and counted, with the outer request. */
function authorizeInner(
  request: FastifyRequest,
  { caller, transport }: FastifyRequest,
  { refusedRequests }: AuthorizeOptions,
): undefined {
  const { scope, parameterScopes } = endpointOf(request);
  if (caller === undefined || transport === undefined) throw new Error(`${request.url} is made for nobody`);
  request.caller = caller;
  request.transport = transport;
  const forbidden = scopeError(caller.key, scope) ?? parameterScopeError(caller.key, { request, parameterScopes });
  if (forbidden === undefined) return;
  refusedRequests.refused("insufficient_scope", { keyId: caller.key.id, address: transport.address });
  throw forbidden;
}

/** Matches a JSON Web Token: it begins with a JSON object in Base64, so with `eyJ`. */
const ACCESS_TOKEN = /^bearer (eyJ[\w-]*\.[\w-]+\.[\w-]+)$/i;

/** A request to an endpoint that requires a key, with what the endpoint requires (see `Endpoint` in authenticate.ts). */
interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly transport: Transport;
  readonly scope: string;
  readonly parameterScopes: Readonly<Record<string, string>> | undefined;
  readonly path: string | undefined;
}

/**
 * The limit of requests to a sandbox's /sandbox/v1 in any 60 s, with all its keys together. Counted apart from other
 * requests: a test that polls /sandbox/v1 must not use up the rate limit of the endpoints that it tests. Too high: a faulty
 * test keeps its city busy.
 */
const SANDBOX_RATE_LIMIT = 600;

/** Counts the request against the rate limit, unless its key lacks a needed scope. */
function limitRate(key: KeyRow, asked: Asked, options: AuthorizeOptions): Promise<void> | undefined {
  const isToSandbox = asked.scope === "sandbox";
  const limit = isToSandbox ? SANDBOX_RATE_LIMIT : effectiveRateLimit(key, options.rateLimit);
  const counter = isToSandbox ? `${key.system_id}:sandbox` : key.id;
  const forbidden = scopeError(key, asked.scope) ?? parameterScopeError(key, asked);
  const decision =
    forbidden === undefined ? options.limiter.take(counter, limit) : options.limiter.peek(counter, limit);
  if (decision instanceof Promise) return decision.then((rate) => applyDecision(key, rate, forbidden, asked, options));
  return applyDecision(key, decision, forbidden, asked, options);
}

/**
 * Sets the request's caller and the headers that tell its remaining rate. Rejects the request if it exceeds the rate or the
 * key's scopes; otherwise records the key's use.
 */
function applyDecision(
  key: KeyRow,
  rate: RateDecision,
  forbidden: ServiceError | undefined,
  { request, reply, transport: { address }, path }: Asked,
  { refusedRequests, lastUses, clock }: AuthorizeOptions,
): undefined {
  reply.headers(rateHeaders(rate));
  if (key.is_sandbox) reply.header("sandbox", "true");
  request.caller = { key, rate };
  if (forbidden !== undefined) {
    refusedRequests.refused("insufficient_scope", { keyId: key.id, address });
    throw forbidden;
  }
  if (!rate.allowed) {
    refusedRequests.refused("rate_limited", { keyId: key.id, address });
    throw rateLimited(rate);
  }
  lastUses.note({
    systemId: key.system_id,
    id: key.id,
    at: new Date(clock()),
    // An unknown path is not stored: it may contain a secret, and its length has no bound.
    path: path ?? "(no such path)",
    address,
  });
}

/**
 * Marks keys as compromised and refuses their request. A key over plain HTTP is refused as plain HTTP, whatever the URL
 * contains.
 */
async function refuseCompromisedKeys(
  inUrl: readonly string[],
  inPlain: readonly string[],
  transport: Transport,
  options: AuthorizeOptions,
): Promise<never> {
  if (inPlain.length > 0) {
    await markCompromisedKeys(inPlain, "plain_http", transport.address, options.compromisedKeys);
    throw httpsRequired(transport, options);
  }
  await markCompromisedKeys(inUrl, "url", transport.address, options.compromisedKeys);
  options.refusedRequests.refused("key_in_url", { address: countedAddress(transport.address) });
  throw serviceError("invalid_parameter", "keyInUrl");
}

/** Returns the keys in an `Authorization` header, also in HTTP Basic credentials, which are encoded in Base64. */
function keysInCredentials(header = ""): string[] {
  return keysInUrl(basicText(header) ?? header);
}

/** Tells whether the body is a form. An agency may send its key in a form to get an access token. */
function isForm({ headers }: FastifyRequest): boolean {
  return headers["content-type"]?.toLowerCase().startsWith("application/x-www-form-urlencoded") === true;
}

/** Refuses a form that others may have read, and marks the keys in it as compromised. */
async function refusePlainForm(
  { raw }: FastifyRequest,
  transport: Transport,
  options: AuthorizeOptions,
): Promise<never> {
  const keys = keysInUrl(await readBeginning(raw));
  if (keys.length > 0) return refuseCompromisedKeys([], keys, transport, options);
  throw httpsRequired(transport, options);
}

/** How many characters of a form are searched for keys. */
const SEARCHED_CHARACTERS = 8 * 1024;

async function readBeginning(raw: FastifyRequest["raw"]): Promise<string> {
  let text = "";
  try {
    for await (const chunk of raw.iterator({ destroyOnReturn: false })) {
      text += String(chunk);
      if (text.length >= SEARCHED_CHARACTERS) break;
    }
  } catch {
    // The caller has disconnected. The text that has arrived was sent all the same, and is searched.
  }
  return text;
}

/** Counts a request that must use https, and returns its error. */
function httpsRequired({ address }: Transport, { refusedRequests }: AuthorizeOptions): ServiceError {
  refusedRequests.refused("https_required", { address: countedAddress(address) });
  return serviceError("https_required");
}

/**
 * Returns the error if a key may not call endpoints of a scope. An agency's key is only for MDS, and the operator's keys,
 * which have no partner, are only for the operator's interface. These are checked first, because their errors name this
 * cause instead of a missing scope.
 */
function scopeError(key: KeyRow, scope: string): ServiceError | undefined {
  const isOperator = key.partner_id === null;
  if (key.scopes.includes(MDS_SCOPE) && scope !== MDS_SCOPE) {
    const headers = { "www-authenticate": `Bearer error="insufficient_scope"` };
    return serviceError("forbidden", "agencyKey", {}, { headers });
  }
  if (isOperator && scope !== "operator") {
    const headers = { "www-authenticate": `Bearer error="insufficient_scope"` };
    return serviceError("forbidden", "operatorKey", {}, { headers });
  }
  if (scope === "sandbox") return key.is_sandbox && !isOperator ? undefined : serviceError("forbidden", "liveKey");
  // An operator's key gets this far only with the scope `operator`.
  if (isOperator || scope === "any" || key.scopes.includes(scope)) return undefined;
  return missingScope(scope);
}

/** Returns the error if a query parameter of the request requires a scope that the key lacks. */
function parameterScopeError(
  key: KeyRow,
  { request, parameterScopes }: Pick<Asked, "request" | "parameterScopes">,
): ServiceError | undefined {
  if (parameterScopes === undefined) return undefined;
  const { query } = request;
  for (const [name, scope] of Object.entries(parameterScopes)) {
    const isGiven = typeof query === "object" && query !== null && Object.hasOwn(query, name);
    const error = isGiven ? scopeError(key, scope) : undefined;
    if (error !== undefined) return error;
  }
  return undefined;
}

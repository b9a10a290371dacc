import type { ConsoleNeeds, EndpointMetadata } from "@bikeshare/contract";
import {
  bearerKey,
  invalidKey,
  isWellFormedKey,
  keyStatus,
  malformedKey,
  missingKey,
  type RateDecision,
  type RateLimiter,
  scopeOfPath,
  type ServiceError,
  serviceError,
} from "@bikeshare/rules";
import type { AppRoute } from "@ts-rest/core";
import type { FastifyContextConfig, FastifyRequest } from "fastify";
import type { RejectionReason } from "../health/metrics/http-metrics.ts";
import type { KeyCache } from "../partners/keys/look-ups.ts";
import type { KeyRow } from "../partners/keys/service.ts";
import type { CompromisedIn, RefusedRequests } from "./refused-requests.ts";
import { countedAddress, type Transport } from "./transport.ts";

/*
 * Finds the API key that a request carries, reads from the contract what an endpoint requires of its caller, and marks API
 * keys as compromised that others may have read.
 */

/** The dependencies of authentication. */
export interface AuthenticateOptions {
  readonly keys: KeyCache;
  readonly clock: () => number;
  /** Counts wrong credentials by address. */
  readonly wrongCredentials: RateLimiter;
  readonly refusedRequests: Pick<RefusedRequests, "refused" | "compromised">;
}

/**
 * Wrong credentials that an address may send in any 60 s before it must wait. A valid key is never affected: it is
 * looked up first, whatever others behind the same address send.
 */
const WRONG_CREDENTIALS_PER_MINUTE = 120;

/**
 * Returns the key that a request carries: without a promise if the key is cached, otherwise after a look-up.
 * @throws ServiceError `unauthorized`; `rate_limited` for wrong credentials, when the address has sent too many
 */
export function authenticate(request: FastifyRequest, options: AuthenticateOptions): KeyRow | Promise<KeyRow> {
  const { keys, clock } = options;
  const header = request.headers.authorization;
  if (header === undefined) {
    options.refusedRequests.refused("no_credentials", { address: countedAddress(addressOf(request)) });
    throw missingKey();
  }
  const presented = bearerKey(header);
  const kept = presented === undefined ? undefined : keys.get(presented);
  if (kept !== undefined && kept !== "unknown" && isUsable(kept, clock())) return kept;
  return judge(presented, kept, header, request, options);
}

/**
 * Returns a usable key that the cache did not have as such. Refuses a malformed, unknown or unusable one, and counts it.
 * @param presented the key's text; undefined: the header has none, which `malformedKey` refuses
 * @param kept the cached key; `unknown`: the cache knows that no such key exists; undefined: the key must be looked up
 */
async function judge(
  presented: string | undefined,
  kept: KeyRow | "unknown" | undefined,
  header: string,
  request: FastifyRequest,
  options: AuthenticateOptions,
): Promise<KeyRow> {
  const { keys, clock } = options;
  const malformed = malformedKey(header);
  if (malformed !== undefined) throw await refuse("malformed_credentials", malformed, request, options);
  const key = kept ?? (await keys.load(presented ?? "")) ?? "unknown";
  if (key === "unknown") throw await refuse("unknown_key", invalidKey("unknownKey"), request, options);
  if (isUsable(key, clock())) return key;
  request.refusedKey = key;
  const status = keyStatus(key, clock());
  // An active key is unusable only because its partner is suspended.
  if (status === "active") {
    const error = invalidKey("suspendedPartner", { id: key.id, last4: key.last4 });
    throw await refuse("suspended_partner", error, request, options, key.id);
  }
  const error = invalidKey("inactiveKey", { id: key.id, last4: key.last4, status });
  throw await refuse(`${status}_key`, error, request, options, key.id);
}

/** Access tokens: each stands for a key until it expires. */
export interface AccessTokens {
  /** Returns the key for which a token stands; undefined when the token is not ours, or has expired. */
  keyOf(token: string): Promise<KeyRow | undefined>;
}

/**
 * Returns the key for which an access token stands.
 * @throws ServiceError `unauthorized`; `rate_limited` when the address has sent too many wrong credentials
 */
export async function findKeyOfToken(
  token: string,
  tokens: AccessTokens,
  request: FastifyRequest,
  options: AuthenticateOptions,
): Promise<KeyRow> {
  const key = await tokens.keyOf(token);
  if (key !== undefined && isUsable(key, options.clock())) return key;
  throw await refuse("unknown_key", invalidKey("accessToken"), request, options, key?.id);
}

function isUsable(key: KeyRow, now: number): boolean {
  return keyStatus(key, now) === "active" && key.partner_suspended_at === null;
}

/** Counts a wrong credential. @returns `error`, or an error that tells the caller to wait */
async function refuse(
  reason: RejectionReason,
  error: ServiceError,
  request: FastifyRequest,
  { wrongCredentials, refusedRequests }: AuthenticateOptions,
  keyId?: string,
): Promise<ServiceError> {
  const address = addressOf(request);
  const guard = await wrongCredentials.take(countedAddress(address), WRONG_CREDENTIALS_PER_MINUTE);
  refusedRequests.refused(guard.allowed ? reason : "too_many_wrong_credentials", {
    address: countedAddress(address),
    ...(keyId === undefined ? {} : { keyId }),
  });
  if (guard.allowed) return error;
  return serviceError("rate_limited", "wrongCredentials", { retryAfterSeconds: guard.resetSeconds });
}

/** Returns the caller's address. `authorize` has set `transport` before a key is read. */
function addressOf(request: FastifyRequest): string {
  return request.transport?.address ?? "";
}

/** The key that a request was accepted with, and what is left of the key's rate. */
export interface Caller {
  readonly key: KeyRow;
  readonly rate: RateDecision;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set when the authorization of the request begins; undefined if the request was refused before that. */
    transport: Transport | undefined;
    /** Set on endpoints that require a key, once the key is accepted. */
    caller: Caller | undefined;
    /** The request's key, if it is one of ours that no longer works or whose partner is suspended. */
    refusedKey: KeyRow | undefined;
  }
  interface FastifyContextConfig {
    /** Set on every route of a contract. */
    tsRestRoute?: AppRoute;
    /** The endpoint's name in the contract: `rides.list`. */
    endpointName?: string;
    /** Whether the route itself limits the answers to callers without a key, so that `countLargeAnswers` leaves it out. */
    boundsOwnAnswers?: boolean;
  }
}

/** Returns the caller of an endpoint that requires a key. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw new Error(`${request.method} ${request.url} was reached without a key`);
  return request.caller;
}

/** Returns the partner who calls an endpoint that does not accept operator keys. */
export function partnerOf(request: FastifyRequest): { readonly systemId: string; readonly partnerId: string } {
  const { key } = callerOf(request);
  if (key.partner_id === null) throw new Error(`${request.url} was reached with a key that has no partner`);
  return { systemId: key.system_id, partnerId: key.partner_id };
}

/** The requirements of an endpoint on its caller. */
interface Endpoint {
  /** The scope that the contract requires for the endpoint; for an unknown path: see `scopeOfPath`. */
  readonly scope: EndpointMetadata["scope"];
  /** Further scopes that query parameters require, by the parameters' names. */
  readonly parameterScopes?: EndpointMetadata["parameterScopes"];
  /** Whether the endpoint may be called over plain HTTP from any address. */
  readonly plainHttp: boolean;
  /** The path of the route, such as `/v1/rides/:id`; undefined when no route has the request's path and method. */
  readonly path: string | undefined;
}

/** The endpoints that were requested so far, by the `config` object of their routes. */
const endpoints = new WeakMap<FastifyContextConfig, Endpoint>();

/** Returns what the endpoint that a request asks for requires of its caller. */
export function endpointOf(request: FastifyRequest): Endpoint {
  // Reads `routeOptions` once, because Fastify creates it at each access.
  const { config, url } = request.routeOptions;
  const known = endpoints.get(config);
  if (known !== undefined) return known;
  const { tsRestRoute } = config;
  if (tsRestRoute === undefined) return { scope: scopeOfPath(request.url), plainHttp: false, path: url };
  const { scope, parameterScopes, plainHttp = false } = readMetadata(tsRestRoute);
  const endpoint = { scope, plainHttp, path: url, ...(parameterScopes && { parameterScopes }) };
  endpoints.set(config, endpoint);
  return endpoint;
}

/** Returns the scope that an endpoint of a contract requires. */
export function scopeOfRoute(route: AppRoute): EndpointMetadata["scope"] {
  return readMetadata(route).scope;
}

/** Returns the requirements of a console request's endpoint on its caller. */
export function consoleNeedsOf(request: FastifyRequest): ConsoleNeeds {
  const route = request.routeOptions.config.tsRestRoute;
  const needs = route && readMetadata(route).console;
  if (needs === undefined) throw new Error("an endpoint of the console does not say whom it lets in");
  return needs;
}

/** Tells whether an endpoint takes bytes instead of JSON. */
export function takesBytesOf(route: AppRoute): boolean {
  return readMetadata(route).takesBytes === true;
}

function readMetadata({ metadata }: AppRoute): EndpointMetadata {
  if (typeof metadata !== "object" || metadata === null || !("scope" in metadata)) {
    throw new Error("an endpoint of the contract names no scope");
  }
  return metadata as EndpointMetadata; // the contract's type guarantees it
}

/** The dependencies of `markCompromisedKeys`. */
export interface CompromisedKeysOptions {
  readonly keys: KeyCache;
  /** Counts, by address, the requests that carried keys in a wrong place. */
  readonly limiter: RateLimiter;
  readonly refusedRequests: Pick<RefusedRequests, "compromised">;
  /** Records that others may have read a key. @returns whether this was the first time */
  readonly markCompromised: (key: string, where: string) => Promise<boolean>;
  readonly onFailed: (error: unknown) => void;
}

/** The most keys that are looked up for one request. An honest request carries one. */
const MAX_KEYS = 3;
/** The most requests of an address in any 60 s whose keys are looked up. Further ones are refused without a look-up. */
const MAX_REQUESTS_PER_MINUTE = 30;

/** The places where others may have read a key, as the audit log names them. */
const AUDIT_NAMES: Readonly<Record<CompromisedIn, string>> = { url: "query string", plain_http: "plain HTTP" };

/**
 * Marks keys as compromised that a request carried where others may have read them. The request is refused in any case,
 * so an unavailable database changes nothing. Only an existing key that is not yet marked costs more than a look-up.
 * @param found the texts of the keys
 */
export async function markCompromisedKeys(
  found: readonly string[],
  where: CompromisedIn,
  address: string,
  { keys, limiter, refusedRequests, markCompromised, onFailed }: CompromisedKeysOptions,
): Promise<void> {
  if (!(await limiter.take(countedAddress(address), MAX_REQUESTS_PER_MINUTE)).allowed) return;
  for (const presented of found) {
    try {
      const key = keys.get(presented) ?? (await keys.load(presented));
      if (key === undefined || key === "unknown" || key.compromised_at !== null) continue;
      if (await markCompromised(presented, AUDIT_NAMES[where])) refusedRequests.compromised(key.id, where, address);
    } catch (error) {
      onFailed(error);
    }
  }
}

/** Returns the text of HTTP Basic credentials, `<id>:<secret>`; undefined when a header has none. */
export function basicText(header: string): string | undefined {
  const [, encoded] = /^basic ([\w+/=-]+)$/i.exec(header) ?? [];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
}

/** Returns the keys in a text, each once, up to a limit. */
export function keysIn(text: string): string[] {
  if (!text.includes("bss_")) return [];
  const found = new Set<string>();
  for (const [candidate] of text.matchAll(/bss_(?:live|test|operator)_[0-9A-Za-z]{40}/g)) {
    if (isWellFormedKey(candidate)) found.add(candidate);
    if (found.size === MAX_KEYS) break;
  }
  return [...found];
}

/** How often the characters of a URL may be percent-encoded for a key in it to be found: each proxy may encode them again. */
const MAX_ENCODINGS = 5;

/** Returns the keys in a URL, also if their characters are percent-encoded, even several times. */
export function keysInUrl(url: string): string[] {
  let decoded = url;
  for (let round = 0; round < MAX_ENCODINGS; round++) {
    // Decodes printable ASCII only, because keys have no other characters.
    const once = decoded.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
    if (once === decoded) break;
    decoded = once;
  }
  return keysIn(decoded);
}

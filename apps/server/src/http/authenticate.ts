import type { FastifyReply, FastifyRequest } from "fastify";
import type { KeyCache } from "../keys/key-cache.ts";
import { isWellFormedKey, keyFault } from "../keys/key.ts";
import type { KeyRow } from "../keys/service.ts";
import { ApiError } from "./api-error.ts";
import type { RateLimiter } from "./rate-limit.ts";

/** What finding out who sends a request needs. */
export interface AuthenticateOptions {
  readonly keys: KeyCache;
  readonly clock: () => number;
  /** Counts refused credentials by address, so that guessing keys is slow and costs no look-ups. */
  readonly refusals: RateLimiter;
}

/**
 * Refused credentials that an address may send in any 60 s. Lower, and one wrongly configured machine locks out its
 * neighbours behind the same address; higher, and guessing costs more look-ups. (202 random bits need no guard.)
 */
const REFUSALS_PER_MINUTE = 120;

const BEARER = /^bearer ([\x21-\x7e]+)$/i;

/**
 * The key that a request brings: at once when it is at hand, else after a look-up.
 * @throws ApiError `unauthorized`; `rate_limited` when the address has sent too many credentials that failed
 */
export function authenticate(request: FastifyRequest, options: AuthenticateOptions): KeyRow | Promise<KeyRow> {
  const header = request.headers.authorization;
  if (header === undefined) {
    throw new ApiError("unauthorized", "No credentials were provided. Send Authorization: Bearer <API_KEY>.", {
      headers: { "www-authenticate": "Bearer" },
    });
  }
  const presented = BEARER.exec(header)?.[1];
  const kept = presented === undefined ? undefined : options.keys.get(presented);
  if (kept !== undefined) return usable(kept, options.clock());
  return lookUp(presented, header, request, options);
}

async function lookUp(
  presented: string | undefined,
  header: string,
  request: FastifyRequest,
  { keys, clock, refusals }: AuthenticateOptions,
): Promise<KeyRow> {
  const address = request.transport?.address ?? "";
  const guard = await refusals.peek(address, REFUSALS_PER_MINUTE);
  if (!guard.allowed) {
    throw new ApiError(
      "rate_limited",
      `Too many requests with wrong credentials from this address. Try again in ${guard.resetSeconds} s.`,
      {
        headers: { "retry-after": String(guard.resetSeconds) },
      },
    );
  }
  try {
    if (presented === undefined) throw refused(headerFault(header));
    if (!isWellFormedKey(presented))
      throw refused("The key is not complete or mistyped: its form or its checksum is wrong.");
    const key = await keys.load(presented);
    if (key === undefined) throw refused("The key is unknown.");
    return usable(key, clock());
  } catch (error) {
    if (error instanceof ApiError) await refusals.take(address, REFUSALS_PER_MINUTE);
    throw error;
  }
}

function usable(key: KeyRow, now: number): KeyRow {
  const fault = keyFault(key, now);
  if (fault === undefined) return key;
  throw refused(`The key ${key.id} (…${key.last4}) is ${fault}. Ask the operator for a new one.`);
}

function headerFault(header: string): string {
  if (/^bearer\S/i.test(header)) return "Between Bearer and the key there must be one space.";
  if (/^bearer( |$)/i.test(header)) return "After Bearer there must be one space and then the key, nothing else.";
  return "The Authorization header must be: the word Bearer, one space, the key.";
}

function refused(message: string): ApiError {
  return new ApiError("unauthorized", message, { headers: { "www-authenticate": `Bearer error="invalid_token"` } });
}

/** The well-formed keys that stand in a text: none of them belongs into a URL or onto a plain connection. */
export function keysIn(text: string): string[] {
  return (text.match(/bss_(?:live|test|operator)_[0-9A-Za-z]{40}/g) ?? []).filter(isWellFormedKey);
}

/** Says what is left of the caller's budget. */
export function sendRateHeaders(
  reply: FastifyReply,
  { limit, remaining, resetSeconds }: { limit: number; remaining: number; resetSeconds: number },
  windowSeconds: number,
): void {
  reply.header("ratelimit-policy", `"default";q=${limit};w=${windowSeconds}`);
  reply.header("ratelimit", `"default";r=${remaining};t=${resetSeconds}`);
}

import { keyStatus } from "@bikeshare/rules";
import type { RateLimiter } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { ServiceError } from "../errors/service-error.ts";
import type { KeyCache } from "../keys/key-cache.ts";
import { isWellFormedKey } from "../keys/key.ts";
import type { KeyRow } from "../keys/service.ts";
import type { RefusalReason } from "../metrics/http-metrics.ts";
import { countedAddress } from "./client-address.ts";
import type { RefusedRequests } from "./refused-requests.ts";

/** What finding out who sends a request needs. */
export interface AuthenticateOptions {
  readonly keys: KeyCache;
  readonly clock: () => number;
  /** Counts wrong credentials by address. */
  readonly wrongCredentials: RateLimiter;
  readonly refusals: Pick<RefusedRequests, "refused" | "exposed">;
}

/**
 * Wrong credentials of an address in any 60 s that are told what is wrong with them; more are told to wait. A good key is
 * never among them: it is looked up first, whatever its neighbours behind the same address send.
 */
const WRONG_CREDENTIALS_PER_MINUTE = 120;

const BEARER = /^bearer ([\x21-\x7e]+)$/i;

/**
 * The key that a request brings: at once when it is at hand, else after a look-up.
 * @throws ServiceError `unauthorized`; `rate_limited` for wrong credentials, when the address has sent too many
 */
export function authenticate(request: FastifyRequest, options: AuthenticateOptions): KeyRow | Promise<KeyRow> {
  const { keys, clock } = options;
  const header = request.headers.authorization;
  if (header === undefined) {
    options.refusals.refused("no_credentials", { address: addressOf(request) });
    throw new ServiceError("unauthorized", "No credentials were provided. Send Authorization: Bearer <API_KEY>.", {
      headers: { "www-authenticate": "Bearer" },
    });
  }
  const presented = BEARER.exec(header)?.[1];
  const kept = presented === undefined ? undefined : keys.get(presented);
  if (kept !== undefined && kept !== "unknown" && isUsable(kept, clock())) return kept;
  return judge(presented, kept, header, request, options);
}

async function judge(
  presented: string | undefined,
  kept: KeyRow | "unknown" | undefined,
  header: string,
  request: FastifyRequest,
  options: AuthenticateOptions,
): Promise<KeyRow> {
  const { keys, clock } = options;
  if (presented === undefined) throw await refuse("malformed_credentials", headerIssue(header), request, options);
  if (!isWellFormedKey(presented)) {
    const message = "The key is not complete or mistyped: its form or its checksum is wrong.";
    throw await refuse("malformed_credentials", message, request, options);
  }
  const key = kept ?? (await keys.load(presented)) ?? "unknown";
  if (key === "unknown") throw await refuse("unknown_key", "The key is unknown.", request, options);
  if (isUsable(key, clock())) return key;
  const status = keyStatus(key, clock());
  if (status === "active") {
    const message = `The partner of the key ${key.id} (…${key.last4}) is suspended. Ask the operator.`;
    throw await refuse("suspended_partner", message, request, options, key.id);
  }
  const message = `The key ${key.id} (…${key.last4}) is ${status}. Ask the operator for a new one.`;
  throw await refuse(`${status}_key`, message, request, options, key.id);
}

function isUsable(key: KeyRow, now: number): boolean {
  return keyStatus(key, now) === "active" && !key.partner_suspended;
}

/** Counts wrong credentials. @returns what they are answered */
async function refuse(
  reason: RefusalReason,
  message: string,
  request: FastifyRequest,
  { wrongCredentials, refusals }: AuthenticateOptions,
  keyId?: string,
): Promise<ServiceError> {
  const address = addressOf(request);
  const guard = await wrongCredentials.take(countedAddress(address), WRONG_CREDENTIALS_PER_MINUTE);
  refusals.refused(guard.allowed ? reason : "too_many_wrong_credentials", {
    address: countedAddress(address),
    ...(keyId === undefined ? {} : { keyId }),
  });
  if (guard.allowed) {
    return new ServiceError("unauthorized", message, {
      headers: { "www-authenticate": `Bearer error="invalid_token"` },
    });
  }
  return new ServiceError(
    "rate_limited",
    `Too many requests with wrong credentials from this address. Try again in ${guard.resetSeconds} s with a key that works.`,
    { retryAfterSeconds: guard.resetSeconds },
  );
}

function addressOf(request: FastifyRequest): string {
  return request.transport?.address ?? "";
}

function headerIssue(header: string): string {
  if (/^bearer\S/i.test(header)) return "Between Bearer and the key there must be one space.";
  if (/^bearer( |$)/i.test(header)) return "After Bearer there must be one space and then the key, nothing else.";
  return "The Authorization header must be: the word Bearer, one space, the key.";
}

import { keyStatus } from "@bikeshare/rules";
import type { RateLimiter } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { type ServiceError, serviceError } from "../errors/service-error.ts";
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

const INVALID_TOKEN = { headers: { "www-authenticate": `Bearer error="invalid_token"` } };

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
    throw serviceError(
      "unauthorized",
      "missing",
      {},
      {
        headers: { "www-authenticate": "Bearer" },
      },
    );
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
  if (presented === undefined) {
    const error = serviceError("unauthorized", headerIssue(header), {}, INVALID_TOKEN);
    throw await refuse("malformed_credentials", error, request, options);
  }
  if (!isWellFormedKey(presented)) {
    const error = serviceError("unauthorized", "malformedKey", {}, INVALID_TOKEN);
    throw await refuse("malformed_credentials", error, request, options);
  }
  const key = kept ?? (await keys.load(presented)) ?? "unknown";
  if (key === "unknown") {
    const error = serviceError("unauthorized", "unknownKey", {}, INVALID_TOKEN);
    throw await refuse("unknown_key", error, request, options);
  }
  if (isUsable(key, clock())) return key;
  const status = keyStatus(key, clock());
  if (status === "active") {
    const error = serviceError("unauthorized", "suspendedPartner", { id: key.id, last4: key.last4 }, INVALID_TOKEN);
    throw await refuse("suspended_partner", error, request, options, key.id);
  }
  const error = serviceError("unauthorized", "inactiveKey", { id: key.id, last4: key.last4, status }, INVALID_TOKEN);
  throw await refuse(`${status}_key`, error, request, options, key.id);
}

function isUsable(key: KeyRow, now: number): boolean {
  return keyStatus(key, now) === "active" && !key.partner_suspended;
}

/** Counts wrong credentials. @returns what they are answered: `error`, or to wait */
async function refuse(
  reason: RefusalReason,
  error: ServiceError,
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
  if (guard.allowed) return error;
  return serviceError("rate_limited", "wrongCredentials", { retryAfterSeconds: guard.resetSeconds });
}

function addressOf(request: FastifyRequest): string {
  return request.transport?.address ?? "";
}

/** What is wrong with an `Authorization` header that has no key in its place. */
function headerIssue(header: string): "missingSpace" | "notOneKey" | "notBearer" {
  if (/^bearer\S/i.test(header)) return "missingSpace";
  return /^bearer( |$)/i.test(header) ? "notOneKey" : "notBearer";
}

import type { ShownKey } from "@bikeshare/contract/console";
import { type KeyKind, keyPrefix, keyStatus } from "@bikeshare/rules";
import { commandError } from "../command-errors.ts";
import { effectiveRateLimit, exceedingKeys, whatIsLeft } from "../partners/keys/key.rules.ts";
import { issueKey, type KeyRow, keysOf, keyWithId, revokeKey, rotateKey } from "../partners/keys/service.ts";
import { partnersOf, partnerWithId } from "../partners/service.ts";
import { requirePartner } from "../webhooks/endpoints/endpoint-context.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

/*
 * Routes of API keys, for a partner's own people and for the operator. A partner's allowance says which keys its admins may
 * make: their scopes, number, requests together, and days until they expire.
 */

const HOUR_MS = 3_600_000;

/** Routes of a partner's keys. */
export function partnerKeyRoutes(context: ConsoleContext): ConsoleRoutes["partnerKeys"] {
  return {
    ...keyRoutes(context),
    list: async ({ request }) => {
      const { systemId, partnerId } = partnerCaller(request);
      const [keys, partner] = await Promise.all([
        keysOf(context, systemId, partnerId),
        partnerWithId(context, systemId, partnerId),
      ]);
      const allowance = partner?.key_allowance ?? null;
      const exceeding = exceedingKeys([{ id: partnerId, key_allowance: allowance }], keys, context.clock());
      const data = keys.map((key) => shown(context, key, exceeding));
      return { status: 200, body: { data, allowance: allowance && whatIsLeft(allowance, keys, context.clock()) } };
    },
    create: async ({ body, request }) => {
      const { systemId, partnerId, actor } = partnerCaller(request);
      const { scopes, name, rate_limit: rateLimit } = body;
      const expiresAt = new Date(body.expires_at);
      const input = { systemId, partnerId, scopes, name, expiresAt, rateLimit, madeByPartner: true };
      const { id, key } = await issueKey({ ...context, actor }, input);
      return { status: 200, body: { id, key, replaces: null, replaced_key_ends_at: null } };
    },
  };
}

/** Routes of all keys of a system, for the operator. */
export function systemKeyRoutes(context: ConsoleContext): ConsoleRoutes["systemKeys"] {
  return {
    ...keyRoutes(context),
    list: async ({ query, request }) => {
      const { systemId } = consoleCaller(request);
      const [keys, partners] = await Promise.all([
        keysOf(context, systemId, query.partner_id),
        partnersOf(context, systemId),
      ]);
      const exceeding = exceedingKeys(partners, keys, context.clock());
      return { status: 200, body: { data: keys.map((key) => shown(context, key, exceeding)) } };
    },
    issue: async ({ body, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const { partner_id: partnerId, scopes, name, rate_limit: rateLimit } = body;
      if (partnerId !== null) await requirePartner(context, { systemId, partnerId });
      const expiresAt = body.expires_at === null ? null : new Date(body.expires_at);
      const input = { systemId, partnerId, scopes, name, expiresAt, rateLimit } as const;
      const { id, key } = await issueKey({ ...context, actor }, input);
      return { status: 200, body: { id, key, replaces: null, replaced_key_ends_at: null } };
    },
  };
}

interface KeyCall {
  readonly params: { readonly id: string };
  readonly request: ConsoleRequest;
}

interface RotationCall {
  readonly body: { readonly overlap_hours: number };
}

/** Routes that partners and the operator have in common. On a partner's page, only the partner's keys can be changed. */
function keyRoutes(context: ConsoleContext) {
  return {
    revoke: async ({ params: { id }, request }: KeyCall) => {
      const { systemId, actor } = consoleCaller(request);
      await requireOwnKey(context, request, id);
      return { status: 200 as const, body: shown(context, await revokeKey({ ...context, actor }, systemId, id)) };
    },
    rotate: async ({ params: { id }, body, request }: KeyCall & RotationCall) => {
      const { systemId, actor } = consoleCaller(request);
      await requireOwnKey(context, request, id);
      const overlap = body.overlap_hours * HOUR_MS;
      const made = await rotateKey({ ...context, actor }, systemId, id, overlap);
      return { status: 200 as const, body: made };
    },
  };
}

/** @throws ServiceError when there is no such key, or it is another partner's */
async function requireOwnKey(context: ConsoleContext, request: ConsoleRequest, id: string): Promise<void> {
  const { systemId, partnerId } = consoleCaller(request);
  const key = await keyWithId(context, systemId, id);
  if (key === undefined || (partnerId !== null && key.partner_id !== partnerId))
    throw commandError("not_found", "key", { id });
}

/** Returns the kind of a key, from which its prefix follows. */
function kindOf({ partner_id: partnerId, is_sandbox: isSandbox }: KeyRow): KeyKind {
  if (partnerId === null) return "operator";
  return isSandbox ? "test" : "live";
}

/** @param exceeding ids of the keys that exceed their partner's allowance; left out for a key that ends */
function shown(
  { clock, rateLimit }: ConsoleContext,
  key: KeyRow,
  exceeding: ReadonlySet<string> = new Set(),
): Served<ShownKey> {
  const status = keyStatus(key, clock());
  return {
    ...key,
    prefix: keyPrefix(kindOf(key)),
    rate_limit: effectiveRateLimit(key, rateLimit),
    has_own_rate_limit: key.rate_limit !== null,
    exceeds_allowance: exceeding.has(key.id),
    status: status === "active" && key.partner_suspended_at !== null ? "suspended" : status,
    // In the future for a rotated key that is still valid beside its successor.
    ends_at: key.revoked_at,
    last_used_route: key.last_used_path,
    last_used_address: key.last_used_address,
  };
}

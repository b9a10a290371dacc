/** Checks of what the partners of a system have to fix, for the operator. */
import type { SystemOverview } from "@bikeshare/contract/console";
import { keyStatus } from "@bikeshare/rules";
import { effectiveRateLimit } from "../../partners/keys/key.rules.ts";
import { type KeyRow, keysOf } from "../../partners/keys/service.ts";
import { type KeyTotal, keyTotals } from "../../partners/request-log/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointOverview, listShownEndpoints } from "../../webhooks/endpoints/endpoint-view.ts";
import {
  checkEndpoint,
  checkKeys,
  counted,
  type KeyFacts,
  keyLabel,
  type PartnerCheckResult,
} from "./partner-checks.rules.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The facts of a system's partners that the checks need. */
export interface PartnerFacts {
  readonly keys: readonly KeyFacts[];
  /** The requests of each key in the last hour. */
  readonly totals: readonly KeyTotal[];
  readonly webhooks: EndpointOverview;
}

interface Context {
  readonly db: Queryable;
  readonly clock: () => number;
  /** Requests in any 60 s for partners' keys without a limit of their own. */
  readonly rateLimit: number;
}

/** Reads the facts of all partners of a system. */
export async function partnerFacts(context: Context, systemId: string): Promise<PartnerFacts> {
  const now = context.clock();
  const [keys, totals, webhooks] = await Promise.all([
    keysOf(context, systemId),
    keyTotals(context, systemId, new Date(now - HOUR_MS)),
    listShownEndpoints(context, systemId),
  ]);
  return { keys: keys.map((key) => factsOf(key, context.rateLimit, now)), totals, webhooks };
}

/** Returns the findings about all partners of a system, as the operator reads them. */
export function partnerResults(facts: PartnerFacts, now: number): PartnerCheckResult[] {
  const { keys, totals, webhooks } = facts;
  return [
    ...endpointResults(listedEndpoints(webhooks)),
    ...checkKeys(keys, new Map(totals.map((total) => [total.key_id, total])), { now, reader: "operator" }),
    ...refusedKeys(facts).map((key) => checkRefused(key, now)),
  ];
}

function endpointResults(endpoints: EndpointOverview["endpoints"]): PartnerCheckResult[] {
  const byPartner = Map.groupBy(endpoints, (each) => each.partner_id);
  return endpoints.flatMap((each) => {
    const { partner_id, partner_name } = each;
    const endpoint = byPartner.get(partner_id)?.length === 1 ? null : each;
    return checkEndpoint(each, { reader: "operator", partner_id, partner_name, endpoint });
  });
}

/**
 * Returns the facts of a key that the rules need.
 * @param fallback requests in any 60 s for a partner's key without a limit of its own
 */
export function factsOf(key: KeyRow, fallback: number, now: number): KeyFacts {
  const status = keyStatus(key, now);
  return {
    ...key,
    rateLimit: effectiveRateLimit(key, fallback),
    status: status === "active" && key.partner_suspended_at !== null ? "suspended" : status,
  };
}

/** Returns the endpoints that are not removed. Of a removed endpoint only the log is left. */
export function listedEndpoints({ endpoints }: EndpointOverview): EndpointOverview["endpoints"] {
  return endpoints.filter(({ pause_reason: reason }) => reason !== "removed");
}

type Refused = SystemOverview["refused"][number];

/**
 * Returns the keys that were used after they had ended or their partner had been suspended. The number of requests is that
 * of the hour's client errors, those before the end included.
 */
export function refusedKeys({ keys: facts, totals }: PartnerFacts): Refused[] {
  const keys = new Map(facts.map((key) => [key.id, key]));
  return totals.flatMap(({ key_id, client_errors, last_minute: last }) => {
    const key = keys.get(key_id);
    if (key === undefined || key.status === "active" || client_errors === 0) return [];
    const ends = { expired: key.expires_at, revoked: key.revoked_at, suspended: key.partner_suspended_at };
    const ended = ends[key.status];
    // A key that ended within this hour may have been used only before its end.
    if (ended !== null && last.getTime() + MINUTE_MS <= ended.getTime()) return [];
    const { name, last4, partner_id, partner_name, status: reason } = key;
    return [{ key_id, name, last4, partner_id, partner_name, reason, requests: client_errors }];
  });
}

function checkRefused({ partner_id, partner_name, ...key }: Refused, now: number): PartnerCheckResult {
  const why = { expired: "has expired", revoked: "was revoked", suspended: "is of a suspended partner" }[key.reason];
  return {
    check: "refused keys",
    status: "warning",
    detail: `${keyLabel(key)} ${why}, and is still used: ${counted(key.requests, "request", "requests")} in the last hour.`,
    fix: "Ask the partner to deploy its new key. A key that leaked is used like this too.",
    partner_id,
    partner_name,
    link: { page: "requests", query: { key_id: key.key_id, since: new Date(now - HOUR_MS).toISOString() } },
  };
}

import { type DeliveryName, deliveryNames } from "@bikeshare/contract";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { partnerWithId } from "../../partners/service.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { FAILING_LIMIT_MS } from "../rules/after-attempt.ts";
import { type EndpointRow, findEndpoint, lockEndpoint, notifyEndpointChanged } from "./endpoint-queries.ts";
import type { SecretCipher } from "./secret.ts";

/** The context of verbs that create secrets. */
export interface SecretContext extends ActorContext {
  readonly cipher: SecretCipher;
}

/** Identifies a partner's endpoint. */
export interface PartnerScope {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Records an act on an endpoint in the audit log, and notifies the dispatchers. */
export async function recordEndpointAct(
  context: ActorContext,
  tx: Transaction,
  systemId: string,
  action: string,
  subject: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await insertActOf(context, tx, { systemId, action, subject, detail });
  await notifyEndpointChanged(tx, systemId);
}

/**
 * Returns a partner's endpoint, even a removed one, whose log is still kept.
 * @throws ServiceError that distinguishes a partner without an endpoint from an unknown partner
 */
export async function requireEndpointOrRemoved(db: Queryable, scope: PartnerScope): Promise<EndpointRow> {
  return (await findEndpoint(db, scope.systemId, scope.partnerId)) ?? rejectUnknown(db, scope);
}

/** Like `requireEndpointOrRemoved`, and locks the row until the transaction ends. */
export async function lockEndpointOrRemoved(tx: Transaction, scope: PartnerScope): Promise<EndpointRow> {
  return (await lockEndpoint(tx, scope.systemId, scope.partnerId)) ?? rejectUnknown(tx, scope);
}

/**
 * Returns a partner's endpoint.
 * @throws ServiceError when there is none or it was removed
 */
export async function requireEndpoint(db: Queryable, scope: PartnerScope): Promise<EndpointRow> {
  return rejectRemoved(await requireEndpointOrRemoved(db, scope), scope);
}

/** Like `requireEndpoint`, and locks the row until the transaction ends. */
export async function lockExistingEndpoint(tx: Transaction, scope: PartnerScope): Promise<EndpointRow> {
  return rejectRemoved(await lockEndpointOrRemoved(tx, scope), scope);
}

async function rejectUnknown(db: Queryable, scope: PartnerScope): Promise<never> {
  await requirePartner({ db }, scope);
  throw commandError("not_found", "endpoint", { partnerId: scope.partnerId });
}

function rejectRemoved(endpoint: EndpointRow, { partnerId }: PartnerScope): EndpointRow {
  if (!isRemoved(endpoint)) return endpoint;
  const when = endpoint.paused_at === null ? "" : ` ${endpoint.paused_at.toISOString()}`;
  throw commandError("not_found", "removedEndpoint", { partnerId, when });
}

/** @throws ServiceError when there is no such partner */
export async function requirePartner(
  context: { readonly db: Queryable },
  { systemId, partnerId }: PartnerScope,
): Promise<void> {
  if ((await partnerWithId(context, systemId, partnerId)) !== undefined) return;
  throw commandError("not_found", "partner", { id: partnerId });
}

/** Maximum days for which an old secret signs beside a new one. */
export const MAX_OVERLAP_DAYS = 7;
/** `MAX_OVERLAP_DAYS` in milliseconds. */
export const MAX_OVERLAP_MS = MAX_OVERLAP_DAYS * 24 * 3_600_000;

/**
 * Secrets of an endpoint that sign at the same time. Too low: refuses the rotation that corrects a mistaken one. Too
 * high: the signatures, of 68 bytes each, exceed the 8 KiB of headers that receivers accept.
 */
export const MAX_ACTIVE_SECRETS = 5;

/**
 * The address of a removed endpoint, in a domain that is reserved never to exist: nothing can be sent there even by
 * mistake.
 */
export const REMOVED_URL = "https://removed.invalid/";

/** Events that an endpoint can subscribe to. */
export const offeredEvents: readonly string[] = deliveryNames satisfies readonly DeliveryName[];

/** Returns distinct names in the contract's order, or the first name that is not an event. */
export function readEvents(
  names: readonly string[],
): { readonly events: readonly string[] } | { readonly unknown: string } {
  const unknown = names.find((name) => !offeredEvents.includes(name));
  if (unknown !== undefined) return { unknown };
  return { events: offeredEvents.filter((name) => names.includes(name)) };
}

/** Tells whether a text can be a mail address. It is strict, so that no second recipient or header fits in. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s\p{C}@<>,;:"()[\]\\]+@[A-Za-z0-9.-]+$/u.test(text);
}

/** Why an endpoint is paused, in words. */
export const pauseDescriptions = {
  partner: "paused by the partner",
  operator: "paused by the operator",
  failing: `paused because it failed for ${FAILING_LIMIT_MS / 3_600_000} hours`,
  gone: "paused because it answered 410 Gone three times or more, over a minute or longer",
  probe_failed: "paused again because the probe after its resuming failed",
  suspended: "paused because its partner is suspended",
  removed: "removed",
} as const satisfies Record<NonNullable<EndpointRow["pause_reason"]>, string>;

/** Tells whether an endpoint was removed. Its row stays because the log refers to it. */
export function isRemoved({ pause_reason: reason }: Pick<EndpointRow, "pause_reason">): boolean {
  return reason === "removed";
}

/**
 * Tells whether held deliveries are stranded: the endpoint is no longer paused, and no running replay may send them.
 */
export function isStranded(endpoint: {
  readonly status: EndpointRow["status"];
  readonly held: number;
  readonly is_replaying: boolean;
}): boolean {
  return endpoint.status !== "paused" && endpoint.held > 0 && !endpoint.is_replaying;
}

/** Describes an endpoint's status in words. */
export function describeStatus({ status, pause_reason: reason, paused_at: pausedAt }: EndpointStatusColumns): string {
  if (status === "active") return "active";
  if (status === "probing") return "probing: resumed, one delivery at a time until one succeeds";
  const why = describePause(reason);
  return pausedAt === null ? why : `${why}, ${pausedAt.toISOString()}`;
}

/** Describes an endpoint's status without the time of a pause, which a page shows separately. */
export function describeShownStatus(endpoint: EndpointStatusColumns): string {
  return endpoint.status === "paused" ? describePause(endpoint.pause_reason) : describeStatus(endpoint);
}

function describePause(reason: EndpointRow["pause_reason"]): string {
  return reason === null ? "paused" : pauseDescriptions[reason];
}

type EndpointStatusColumns = Pick<EndpointRow, "status" | "pause_reason" | "paused_at">;

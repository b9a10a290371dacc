import { type DeliveryName, deliveryNames } from "@bikeshare/contract";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { partnerWithId } from "../../partners/service.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { FAILING_LIMIT_MS } from "../rules/after-attempt.ts";
import { type EndpointRow, findEndpoint, lockEndpoint, notifyEndpointChanged } from "./endpoint-queries.ts";
import type { SecretCipher } from "./secret.ts";

/** What verbs that make secrets need as well. */
export interface SecretContext extends ActorContext {
  readonly cipher: SecretCipher;
}

/** Whose endpoint. */
export interface PartnerScope {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Writes an act on an endpoint into the audit log, and notifies the dispatchers of it. */
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
 * The endpoint that a partner must have, or have had: a removed one too, whose log is still kept.
 * @throws ServiceError, which tells a partner without an endpoint from one that there is not
 */
export async function requireEndpointOrRemoved(db: Queryable, scope: PartnerScope): Promise<EndpointRow> {
  return (await findEndpoint(db, scope.systemId, scope.partnerId)) ?? rejectUnknown(db, scope);
}

/** Like `requireEndpointOrRemoved`, and locks the row until the transaction ends. */
export async function lockEndpointOrRemoved(tx: Transaction, scope: PartnerScope): Promise<EndpointRow> {
  return (await lockEndpoint(tx, scope.systemId, scope.partnerId)) ?? rejectUnknown(tx, scope);
}

/**
 * The endpoint that a partner must have now.
 * @throws ServiceError, also where it was removed
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

/** Most days for which an old secret goes on signing beside a new one. */
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

/** The names once each, in the contract's order; or the first one that is not an event. */
export function readEvents(
  names: readonly string[],
): { readonly events: readonly string[] } | { readonly unknown: string } {
  const unknown = names.find((name) => !offeredEvents.includes(name));
  if (unknown !== undefined) return { unknown };
  return { events: offeredEvents.filter((name) => names.includes(name)) };
}

/** Whether a text can be a mail address: strict enough that no second recipient or header fits in. */
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

/** Whether an endpoint was removed: its row stays because the log refers to it, and nothing is sent to it. */
export function isRemoved({ pause_reason: reason }: Pick<EndpointRow, "pause_reason">): boolean {
  return reason === "removed";
}

/**
 * Whether deliveries are held that nobody sends: the endpoint is not paused any more, and no replay is under way that may
 * have them.
 */
export function isStranded(endpoint: {
  readonly status: EndpointRow["status"];
  readonly held: number;
  readonly is_replaying: boolean;
}): boolean {
  return endpoint.status !== "paused" && endpoint.held > 0 && !endpoint.is_replaying;
}

/** An endpoint's status in words. */
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

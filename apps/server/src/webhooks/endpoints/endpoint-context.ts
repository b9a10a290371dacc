import { type DeliveryName, deliveryNames, MAX_MAIL_ADDRESS } from "@bikeshare/contract";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { partnerWithId } from "../../partners/service.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { FAILING_LIMIT_MS } from "../rules/after-attempt.ts";
import { type EndpointRow, listEndpointsOf, lockEndpoint, notifyEndpointChanged } from "./endpoint-queries.ts";
import type { SecretCipher } from "./secret.ts";

/* Shared by all functions about endpoints: finding an endpoint, limits, names of events, and the status in words. */

/** The context of functions that create, show or replace secrets. */
export interface SecretContext extends ActorContext {
  readonly cipher: SecretCipher;
}

/** Identifies a partner. */
export interface PartnerScope {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Identifies one of a partner's endpoints. */
export interface EndpointScope extends PartnerScope {
  /** Its id, or its name in upper or lower case; left out: the only endpoint that the partner has. */
  readonly endpointRef?: string | undefined;
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
 * Returns one of a partner's endpoints, even a removed one, whose log is still kept.
 * @throws ServiceError that distinguishes a partner without the endpoint, or with several, from an unknown partner
 */
export async function requireEndpointOrRemoved(db: Queryable, scope: EndpointScope): Promise<EndpointRow> {
  const rows = await listEndpointsOf(db, scope.systemId, scope.partnerId);
  const chosen = chooseEndpoint(rows, scope);
  if (chosen !== undefined) return chosen;
  await requirePartner({ db }, scope);
  throw commandError("not_found", "endpoint", { partnerId: scope.partnerId });
}

/** Like `requireEndpointOrRemoved`, and locks the row until the transaction ends. */
export async function lockEndpointOrRemoved(tx: Transaction, scope: EndpointScope): Promise<EndpointRow> {
  const { id } = await requireEndpointOrRemoved(tx, scope);
  return lockEndpoint(tx, scope.systemId, id);
}

/**
 * Returns one of a partner's endpoints.
 * @throws ServiceError when there is none, it was removed, or the partner has several and none is named
 */
export async function requireEndpoint(db: Queryable, scope: EndpointScope): Promise<EndpointRow> {
  return rejectRemoved(await requireEndpointOrRemoved(db, scope), scope);
}

/** Like `requireEndpoint`, and locks the row until the transaction ends. */
export async function lockExistingEndpoint(tx: Transaction, scope: EndpointScope): Promise<EndpointRow> {
  return rejectRemoved(await lockEndpointOrRemoved(tx, scope), scope);
}

/**
 * Returns the endpoint that a scope names. If it names none: the only endpoint that is not removed; if all are removed, the
 * one that was removed last.
 * @returns undefined: `rows` is empty
 * @throws ServiceError when no endpoint has the name, or none is named and several are not removed
 */
export function chooseEndpoint(
  rows: readonly EndpointRow[],
  { partnerId, endpointRef: named }: Pick<EndpointScope, "partnerId" | "endpointRef">,
): EndpointRow | undefined {
  const existing = rows.filter((row) => !isRemoved(row));
  if (named !== undefined) {
    const found = rows.find(({ id }) => id === named) ?? rows.find(({ name }) => hasName(name, named));
    if (found !== undefined || rows.length === 0) return found;
    throw commandError("not_found", "namedEndpoint", {
      partnerId,
      endpoint: JSON.stringify(named),
      endpoints: listed(rows),
    });
  }
  if (existing.length > 1)
    throw commandError("invalid_parameter", "severalEndpoints", { partnerId, endpoints: listed(existing) });
  // `paused_at` of a removed endpoint is the time of its removal.
  return existing[0] ?? rows.toSorted((one, other) => Number(other.paused_at) - Number(one.paused_at))[0];
}

/** Tells whether two names of endpoints are the same, as PostgreSQL's unique index compares them. */
export function hasName(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

/** Names endpoints in a message. */
function listed(rows: readonly EndpointRow[]): string {
  return rows.map((row) => `"${row.name}" (${row.id}${isRemoved(row) ? ", removed" : ""})`).join(", ");
}

function rejectRemoved(endpoint: EndpointRow, { partnerId }: PartnerScope): EndpointRow {
  if (!isRemoved(endpoint)) return endpoint;
  const when = endpoint.paused_at === null ? "" : ` ${endpoint.paused_at.toISOString()}`;
  throw commandError("not_found", "removedEndpoint", { partnerId, when, name: endpoint.name });
}

/** @throws ServiceError when there is no such partner */
export async function requirePartner(
  context: { readonly db: Queryable },
  { systemId, partnerId }: PartnerScope,
): Promise<void> {
  if ((await partnerWithId(context, systemId, partnerId)) !== undefined) return;
  throw commandError("not_found", "partner", { id: partnerId });
}

/** Maximum endpoints of a partner. The check constraint of `webhook_endpoints.slot` has the same number. */
export const MAX_ENDPOINTS = 10;
/** The name of a partner's first endpoint, until somebody gives it another. */
export const FIRST_NAME = "Main";

/** Maximum days for which an old secret still signs after a rotation. */
export const MAX_OVERLAP_DAYS = 7;
/** `MAX_OVERLAP_DAYS` in milliseconds. */
export const MAX_OVERLAP_MS = MAX_OVERLAP_DAYS * 24 * 3_600_000;

/**
 * Maximum secrets of an endpoint that sign at the same time. Too low: refuses the rotation that corrects a mistaken one. Too
 * high: the signatures, of 68 bytes each, exceed the 8 KiB of headers that receivers accept.
 */
export const MAX_ACTIVE_SECRETS = 5;

/**
 * The address of a removed endpoint, in a domain that is reserved never to exist: nothing can be sent there even by
 * mistake.
 */
export const REMOVED_URL = "https://removed.invalid/";

/** Events and notices that an endpoint can subscribe to. */
export const offeredEvents: readonly string[] = deliveryNames satisfies readonly DeliveryName[];

/** Returns the pattern of all events about a kind of resource: `ride.*` for `ride.started`. */
const patternOf = (event: string) => event.replace(/\..*/, ".*");

/** Everything that an endpoint can subscribe to: the patterns, then the names. */
const choosable: readonly string[] = [...new Set(offeredEvents.map(patternOf)), ...offeredEvents];

/** Returns the events that names and patterns such as `ride.*` stand for. Leaves out names that only later releases know. */
export function expandEvents(names: readonly string[]): readonly DeliveryName[] {
  return deliveryNames.filter((name) => names.includes(name) || names.includes(patternOf(name)));
}

/** Returns distinct patterns and names in the order of `choosable`, or the first that is unknown. */
export function readEvents(
  names: readonly string[],
): { readonly events: readonly string[] } | { readonly unknown: string } {
  const unknown = names.find((name) => !choosable.includes(name));
  if (unknown !== undefined) return { unknown };
  return { events: choosable.filter((name) => names.includes(name)) };
}

/** Tells whether a text can be a mail address. It is strict, so that no second recipient or header fits in. */
export function isMailAddress(text: string): boolean {
  return text.length <= MAX_MAIL_ADDRESS && /^[^\s\p{C}@<>,;:"()[\]\\]+@[A-Za-z0-9.-]+$/u.test(text);
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

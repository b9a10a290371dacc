import { commandError } from "../../command-errors.ts";
import { holdPartner } from "../../partners/service.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { type AddressRules, judgeUrl } from "../rules/receiver-url.ts";
import { type PartnerScope, recordEndpointAct, requirePartner, type SecretContext } from "./endpoint-context.ts";
import {
  type EndpointColumns,
  type EndpointRow,
  insertEndpoint,
  lockEndpoint,
  updateEndpoint,
  updateHealthReset,
} from "./endpoint-queries.ts";
import { addSecret, replaceSecret, requireSharedKey } from "./endpoint-secrets.ts";
import { suspended } from "./endpoint-status.ts";
import { isMailAddress, isRemoved, offeredEvents, readEvents } from "./endpoint.rules.ts";

type SignatureSchemes = EndpointRow["signature"];

/** Settings of an endpoint. What is left out stays as it is; a new endpoint needs `url` and `events`. */
export interface EndpointSettings extends PartnerScope {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  /** Who is mailed when deliveries fail; null: nobody. */
  readonly email?: string | null | undefined;
  /** What deliveries are signed with; of a new endpoint `service`. */
  readonly signature?: SignatureSchemes | undefined;
}

/** An endpoint that was set. */
export interface SetEndpoint {
  readonly endpoint: EndpointRow;
  readonly outcome: "created" | "changed" | "unchanged";
  /** Shown this once, when the endpoint was created or got a secret of another form; null otherwise. */
  readonly secret: string | null;
  /** When the secrets before it stop signing; null: there is no new one, or it is the first. */
  readonly old_secrets_end_at: Date | null;
}

export interface SettingContext extends SecretContext {
  readonly rules: AddressRules;
  /**
   * Called before deliveries go to another origin (scheme, host and port) than until then, or are signed with another secret.
   * @throws ServiceError when the caller may not decide that
   */
  readonly requireConfirmation?: () => void;
}

/**
 * Creates a partner's endpoint, or changes it: then it keeps its id, its secret and its status. A paused one stays paused;
 * a removed one is created anew, under the id that its log has.
 * @throws ServiceError when there is no such partner, or a value is not allowed
 */
export async function setEndpoint(context: SettingContext, input: EndpointSettings): Promise<SetEndpoint> {
  const given = readSettings(input, context.rules);
  const { systemId, partnerId } = input;
  await requirePartner(context, input);
  return context.db.transaction(async (tx) => {
    // The partner before the endpoint, as whoever suspends the partner does: otherwise the two could deadlock.
    const partner = await holdPartner(tx, systemId, partnerId);
    const before = await lockEndpoint(tx, systemId, partnerId);
    if (before !== undefined && !isRemoved(before)) return change(context, tx, systemId, before, given);
    if (partner?.suspended_at !== null) throw suspended(partnerId);
    const made = await create(context, tx, input, given, before);
    if (made !== undefined) return made;
    // Another process has just made it: this one changes it.
    const theirs = await lockEndpoint(tx, systemId, partnerId);
    if (theirs === undefined)
      throw new Error(`the endpoint of ${partnerId} was made by another process and cannot be found`);
    return change(context, tx, systemId, theirs, given);
  });
}

interface GivenSettings {
  readonly url: string | undefined;
  readonly events: readonly string[] | undefined;
  readonly email: string | null | undefined;
  readonly signature: SignatureSchemes | undefined;
}

function readSettings({ url, events, email, signature }: EndpointSettings, rules: AddressRules): GivenSettings {
  if (email !== undefined && email !== null && !isMailAddress(email)) {
    throw commandError("invalid_parameter", "email");
  }
  return {
    url: url === undefined ? undefined : readUrl(url, rules),
    events: events && eventsFrom(events),
    email,
    signature,
  };
}

function readUrl(text: string, rules: AddressRules): string {
  const verdict = judgeUrl(text, rules);
  if (!verdict.ok) throw commandError("invalid_parameter", "url", { issue: verdict.message });
  // As it will be connected to, so that no other spelling of it is stored.
  return verdict.url.href;
}

function eventsFrom(names: readonly string[]): readonly string[] {
  const read = readEvents(names);
  if ("events" in read && read.events.length > 0) return read.events;
  const events = offeredEvents.join(", ");
  throw "unknown" in read
    ? commandError("invalid_parameter", "unknownEvent", { event: JSON.stringify(read.unknown), events })
    : commandError("invalid_parameter", "noEvents", { events });
}

async function create(
  context: SettingContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
  { url, events, email = null, signature = "service" }: GivenSettings,
  removed: EndpointRow | undefined,
): Promise<SetEndpoint | undefined> {
  if (url === undefined || events === undefined) {
    throw commandError("invalid_parameter", "newEndpoint");
  }
  context.requireConfirmation?.();
  await requireSharedKey(context, tx);
  const id = removed?.id ?? context.ids.next("endpoint");
  const now = new Date(context.clock());
  const settings = { url, events, email, signature };
  const endpoint = await (removed === undefined
    ? insertEndpoint(tx, systemId, { ...newEndpoint(id, now), ...settings, partner_id: partnerId })
    : restoreEndpoint(tx, systemId, id, settings, now));
  if (endpoint === undefined) return undefined;
  const secret = await addSecret(context, tx, systemId, endpoint);
  await recordEndpointAct(context, tx, systemId, "webhook.created", id, { partner_id: partnerId, ...settings });
  return { endpoint, outcome: "created", secret, old_secrets_end_at: null };
}

function newEndpoint(id: string, now: Date) {
  return { id, tag: id.slice(-6), status: "active", created_at: now, updated_at: now } as const;
}

/** Creates an endpoint anew that was removed, with nothing of how it once answered. */
async function restoreEndpoint(
  tx: Transaction,
  systemId: string,
  id: string,
  settings: EndpointColumns,
  now: Date,
): Promise<EndpointRow> {
  await updateHealthReset(tx, systemId, id);
  return updateEndpoint(tx, systemId, id, settings, now);
}

async function change(
  context: SettingContext,
  tx: Transaction,
  systemId: string,
  before: EndpointRow,
  given: GivenSettings,
): Promise<SetEndpoint> {
  const { url = before.url, events = before.events, email = before.email, signature = before.signature } = given;
  const settings = { url, events, email, signature };
  const needsNewForm = signature === "both" && before.signature !== "both";
  if (isAsBefore(before, settings)) {
    return { endpoint: before, outcome: "unchanged", secret: null, old_secrets_end_at: null };
  }
  if (originOf(url) !== originOf(before.url) || needsNewForm) context.requireConfirmation?.();
  const endpoint = await updateEndpoint(tx, systemId, before.id, settings, new Date(context.clock()));
  // What the old address did says nothing about the new one.
  if (url !== before.url) await updateHealthReset(tx, systemId, before.id);
  await recordEndpointAct(context, tx, systemId, "webhook.changed", before.id, settings);
  if (!needsNewForm) return { endpoint, outcome: "changed", secret: null, old_secrets_end_at: null };
  await requireSharedKey(context, tx);
  return { endpoint, outcome: "changed", ...(await replaceSecret(context, tx, systemId, endpoint, FORM_OVERLAP_MS)) };
}

/** Of an address as it is stored. */
function originOf(url: string | null): string | undefined {
  return url === null ? undefined : new URL(url).origin;
}

/** Milliseconds for which old secrets sign beside one of another form: as in a rotation where nothing else is said. */
const FORM_OVERLAP_MS = 24 * 3_600_000;

function isAsBefore(before: EndpointRow, { url, events, email, signature }: EndpointColumns): boolean {
  const isSameEvents = String(events) === String(before.events);
  return isSameEvents && url === before.url && email === before.email && signature === before.signature;
}

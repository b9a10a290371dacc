import { recordAct } from "../audit/audit-log.ts";
import type { Database, Transaction } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import { partnerWithId } from "../partners/service.ts";
import { systemsOf } from "../systems/service.ts";
import { type AddressRules, judgeUrl } from "./address-guard.ts";
import {
  type EndpointRow,
  insertEndpoint,
  lockEndpoint,
  resetLaneHealth,
  tellEndpointChanged,
  updateEndpoint,
} from "./endpoint-queries.ts";
import { isMailAddress, MAX_LIVE_SECRETS, MAX_OVERLAP, offeredEvents, readEvents } from "./endpoint.ts";
import { WebhookRefusal } from "./refusal.ts";
import { endSecrets, insertSecret, listLiveSecrets, listSecrets } from "./secret-queries.ts";
import { describeMismatch, makeSecret, type SecretSealer } from "./secret.ts";

/** What verbs that change an endpoint need beside their input. */
export interface EndpointContext {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Who acts, for the audit log. */
  readonly actor: string;
}

/** What verbs that make secrets need as well. */
export interface SecretContext extends EndpointContext {
  readonly sealer: SecretSealer;
}

/** Whose endpoint. */
export interface PartnerScope {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Settings of an endpoint. What is left out stays as it is; a new endpoint needs `url` and `events`. */
export interface EndpointSettings extends PartnerScope {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  /** Who hears that deliveries fail; null: nobody. */
  readonly email?: string | null | undefined;
}

/** An endpoint that was set. */
export interface SetEndpoint {
  readonly endpoint: EndpointRow;
  readonly outcome: "created" | "changed" | "unchanged";
  /** Shown this once, when the endpoint was made; null otherwise. */
  readonly secret: string | null;
}

/**
 * Makes a partner's endpoint, or changes it: then it keeps its id, its secret and its status. A paused one stays paused.
 * @throws WebhookRefusal when there is no such partner, or a value is not allowed
 */
export async function setEndpoint(
  context: SecretContext & { readonly rules: AddressRules },
  input: EndpointSettings,
): Promise<SetEndpoint> {
  const given = readSettings(input, context.rules);
  const { systemId, partnerId } = input;
  if ((await partnerWithId(context, systemId, partnerId)) === undefined) throw noPartner(partnerId);
  return context.db.transaction(async (tx) => {
    const before = await lockEndpoint(tx, systemId, partnerId);
    if (before !== undefined) return change(context, tx, systemId, before, given);
    const made = await create(context, tx, input, given);
    if (made !== undefined) return made;
    // Another process made it a moment ago: what we were told comes on top.
    const theirs = await lockEndpoint(tx, systemId, partnerId);
    if (theirs === undefined) throw new Error(`the endpoint of ${partnerId} is there, and it is not`);
    return change(context, tx, systemId, theirs, given);
  });
}

/** A secret that takes another's place. */
export interface RotatedSecret {
  readonly endpoint: EndpointRow;
  /** Shown this once. */
  readonly secret: string;
  /** When the secrets before it stop signing, at the latest. */
  readonly old_secrets_end_at: Date;
}

/**
 * Makes a new secret. Those before it sign beside it for `overlap` milliseconds (0 to 7 d), unless they end earlier.
 * @param input `lost`: the secrets file that sealed the old ones is gone for good; they end now
 * @throws WebhookRefusal when there is no endpoint, or too many secrets sign already
 */
export async function rotateSecret(
  context: SecretContext,
  input: PartnerScope & { readonly overlap: number; readonly lost?: boolean },
): Promise<RotatedSecret> {
  const { systemId, partnerId, overlap, lost = false } = input;
  if (overlap < 0 || overlap > MAX_OVERLAP) {
    throw new WebhookRefusal("invalid", "The overlap must be between 0 h and 7 d.");
  }
  return context.db.transaction(async (tx) => {
    const endpoint = mustBeThere(await lockEndpoint(tx, systemId, partnerId), partnerId);
    if (!lost) await mustSealLikeOthers(context, tx);
    const now = context.clock();
    const endAt = new Date(lost ? now : now + overlap);
    await endSecrets(tx, systemId, endpoint.id, endAt, new Date(now));
    const left = await listLiveSecrets(tx, systemId, endpoint.id, new Date(now));
    if (left.length >= MAX_LIVE_SECRETS) throw tooMany(left.length);
    const secret = await addSecret(context, tx, systemId, endpoint.id);
    await recordEndpointAct(context, tx, systemId, "webhook.secret_rotated", endpoint.id, {
      old_secrets_end_at: endAt,
      lost,
    });
    return { endpoint, secret, old_secrets_end_at: endAt };
  });
}

interface GivenSettings {
  readonly url: string | undefined;
  readonly events: readonly string[] | undefined;
  readonly email: string | null | undefined;
}

function readSettings({ url, events, email }: EndpointSettings, rules: AddressRules): GivenSettings {
  if (email !== undefined && email !== null && !isMailAddress(email)) {
    throw new WebhookRefusal("invalid", "The email must be one address, such as webhooks@example.com.");
  }
  return { url: url === undefined ? undefined : readUrl(url, rules), events: events && eventsFrom(events), email };
}

function readUrl(text: string, rules: AddressRules): string {
  const verdict = judgeUrl(text, rules);
  if (!verdict.ok) throw new WebhookRefusal("url", verdict.message);
  // As it will be dialled, so that no other spelling of it is kept.
  return verdict.url.href;
}

function eventsFrom(names: readonly string[]): readonly string[] {
  const read = readEvents(names);
  if ("events" in read && read.events.length > 0) return read.events;
  const fault = "unknown" in read ? `There is no event ${JSON.stringify(read.unknown)}.` : "Name at least one event.";
  throw new WebhookRefusal("invalid", `${fault} There are: ${offeredEvents.join(", ")}.`);
}

async function create(
  context: SecretContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
  { url, events, email = null }: GivenSettings,
): Promise<SetEndpoint | undefined> {
  if (url === undefined || events === undefined) {
    throw new WebhookRefusal("invalid", "A new endpoint needs a URL and at least one event.");
  }
  await mustSealLikeOthers(context, tx);
  const id = context.ids.next("endpoint");
  const made = { id, partner_id: partnerId, tag: id.slice(-6), url, events, email };
  const endpoint = await insertEndpoint(tx, systemId, { ...made, created_at: new Date(context.clock()) });
  if (endpoint === undefined) return undefined;
  const secret = await addSecret(context, tx, systemId, id);
  await recordEndpointAct(context, tx, systemId, "webhook.created", id, { partner_id: partnerId, url, events, email });
  return { endpoint, outcome: "created", secret };
}

async function change(
  context: EndpointContext,
  tx: Transaction,
  systemId: string,
  before: EndpointRow,
  given: GivenSettings,
): Promise<SetEndpoint> {
  const { url = before.url, events = before.events, email = before.email } = given;
  if (url === before.url && String(events) === String(before.events) && email === before.email) {
    return { endpoint: before, outcome: "unchanged", secret: null };
  }
  const settings = { url, events, email };
  const endpoint = await updateEndpoint(tx, systemId, before.id, settings, new Date(context.clock()));
  // What the old address did says nothing about the new one.
  if (url !== before.url) await resetLaneHealth(tx, systemId, before.id);
  await recordEndpointAct(context, tx, systemId, "webhook.changed", before.id, settings);
  return { endpoint, outcome: "changed", secret: null };
}

async function addSecret(
  { ids, sealer, clock }: SecretContext,
  tx: Transaction,
  systemId: string,
  endpointId: string,
): Promise<string> {
  const secret = makeSecret((bytes) => ids.randomBytes(bytes));
  const id = ids.next("secret");
  const sealed = sealer.seal({ systemId, endpointId, secretId: id }, secret);
  const createdAt = new Date(clock());
  await insertSecret(tx, { system_id: systemId, id, endpoint_id: endpointId, sealed, created_at: createdAt });
  return secret;
}

/** Refuses to seal with a key that the deployment's other processes do not have. */
async function mustSealLikeOthers({ sealer }: SecretContext, tx: Transaction): Promise<void> {
  for (const { system_id: systemId } of await systemsOf(tx)) {
    const secrets = await listSecrets(tx, systemId);
    const foreign = secrets.filter(({ ended, sealed }) => !ended && !sealer.knows(sealed));
    if (foreign.length === 0) continue;
    const endpointIds = [...new Set(foreign.map((secret) => secret.endpoint_id))];
    throw new WebhookRefusal("secrets_file", `${describeMismatch(endpointIds)} Nothing was changed.`);
  }
}

/** Writes an act on an endpoint into the audit log, and tells the dispatchers of it. */
export async function recordEndpointAct(
  { clock, ids, actor }: EndpointContext,
  tx: Transaction,
  systemId: string,
  action: string,
  subject: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordAct(tx, { systemId, id: ids.next("act"), at: new Date(clock()), actor, action, subject, detail });
  await tellEndpointChanged(tx, systemId);
}

/** The endpoint that must be there. */
export function mustBeThere(endpoint: EndpointRow | undefined, partnerId: string): EndpointRow {
  if (endpoint !== undefined) return endpoint;
  throw new WebhookRefusal("not_found", `Partner ${partnerId} has no webhook endpoint. \`webhooks set\` makes one.`);
}

function noPartner(partnerId: string): WebhookRefusal {
  return new WebhookRefusal("not_found", `There is no partner ${partnerId}. \`partners list\` shows those there are.`);
}

function tooMany(live: number): WebhookRefusal {
  return new WebhookRefusal(
    "invalid",
    `${live} secrets sign already, which is the most. Wait until one ends, or rotate with an overlap of 0h.`,
  );
}

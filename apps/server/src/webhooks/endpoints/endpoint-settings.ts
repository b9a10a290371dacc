import type { Transaction } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import type { ServiceError } from "../../errors/service-error.ts";
import { holdPartner } from "../../partners/service.ts";
import { type AddressRules, judgeUrl } from "../rules/receiver-url.ts";
import { type PartnerScope, recordEndpointAct, type SecretContext } from "./endpoint-context.ts";
import { mustBePartner, mustBeSet } from "./endpoint-lookup.ts";
import {
  type EndpointColumns,
  type EndpointRow,
  insertEndpoint,
  lockEndpoint,
  resetLaneHealth,
  restoreEndpoint,
  updateEndpoint,
} from "./endpoint-queries.ts";
import { suspended } from "./endpoint-status.ts";
import {
  isMailAddress,
  isRemoved,
  MAX_LIVE_SECRETS,
  MAX_OVERLAP_DAYS,
  MAX_OVERLAP_MS,
  offeredEvents,
  readEvents,
} from "./endpoint.ts";
import { mustSealLikeOthers, noteOurSealing } from "./sealing.ts";
import { endSecrets, insertSecret, listLiveSecrets } from "./secret-queries.ts";
import { makeSecret } from "./secret.ts";

type SignatureSchemes = EndpointRow["signature"];

/** Settings of an endpoint. What is left out stays as it is; a new endpoint needs `url` and `events`. */
export interface EndpointSettings extends PartnerScope {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  /** Who hears that deliveries fail; null: nobody. */
  readonly email?: string | null | undefined;
  /** What deliveries are signed with; of a new endpoint `service`. */
  readonly signature?: SignatureSchemes | undefined;
}

/** An endpoint that was set. */
export interface SetEndpoint {
  readonly endpoint: EndpointRow;
  readonly outcome: "created" | "changed" | "unchanged";
  /** Shown this once, when the endpoint was made or got a secret of another form; null otherwise. */
  readonly secret: string | null;
  /** When the secrets before it stop signing; null: there is no new one, or it is the first. */
  readonly old_secrets_end_at: Date | null;
}

/**
 * Makes a partner's endpoint, or changes it: then it keeps its id, its secret and its status. A paused one stays paused; a
 * removed one is made anew, under the id that its log has.
 * @throws ServiceError when there is no such partner, or a value is not allowed
 */
export async function setEndpoint(
  context: SecretContext & { readonly rules: AddressRules },
  input: EndpointSettings,
): Promise<SetEndpoint> {
  const given = readSettings(input, context.rules);
  const { systemId, partnerId } = input;
  await mustBePartner(context, input);
  return context.db.transaction(async (tx) => {
    // Before the endpoint, as whoever suspends the partner does: neither waits for the other in a circle.
    const partner = await holdPartner(tx, systemId, partnerId);
    const before = await lockEndpoint(tx, systemId, partnerId);
    if (before !== undefined && !isRemoved(before)) return change(context, tx, systemId, before, given);
    if (partner?.suspended_at !== null) throw suspended(partnerId);
    const made = await create(context, tx, input, given, before);
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
 * @param input `lost`: the secrets file that encrypted the old ones is gone for good; they end now
 * @throws ServiceError when there is no endpoint, or too many secrets sign already
 */
export async function rotateSecret(
  context: SecretContext,
  input: PartnerScope & { readonly overlap: number; readonly lost?: boolean },
): Promise<RotatedSecret> {
  const { systemId, partnerId, overlap, lost = false } = input;
  if (overlap < 0 || overlap > MAX_OVERLAP_MS) {
    throw commandError("invalid_parameter", "secretOverlap", { days: MAX_OVERLAP_DAYS });
  }
  return context.db.transaction(async (tx) => {
    const endpoint = await mustBeSet(context, await lockEndpoint(tx, systemId, partnerId), input);
    if (!lost) await mustSealLikeOthers(context, tx);
    const now = context.clock();
    const endAt = new Date(lost ? now : now + overlap);
    await makeRoom(tx, systemId, endpoint.id, endAt, new Date(now));
    const secret = await addSecret(context, tx, systemId, endpoint);
    await recordEndpointAct(context, tx, systemId, "webhook.secret_rotated", endpoint.id, {
      old_secrets_end_at: endAt,
      lost,
    });
    return { endpoint, secret, old_secrets_end_at: endAt };
  });
}

/** Lets the secrets that sign end at an instant. @throws ServiceError when there are too many for one more */
async function makeRoom(tx: Transaction, systemId: string, endpointId: string, endAt: Date, now: Date): Promise<void> {
  await endSecrets(tx, systemId, endpointId, endAt, now);
  const left = await listLiveSecrets(tx, systemId, endpointId, now);
  if (left.length >= MAX_LIVE_SECRETS) throw tooMany(left.length);
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
  // As it will be dialled, so that no other spelling of it is kept.
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
  context: SecretContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
  { url, events, email = null, signature = "service" }: GivenSettings,
  removed: EndpointRow | undefined,
): Promise<SetEndpoint | undefined> {
  if (url === undefined || events === undefined) {
    throw commandError("invalid_parameter", "newEndpoint");
  }
  await mustSealLikeOthers(context, tx);
  const id = removed?.id ?? context.ids.next("endpoint");
  const now = new Date(context.clock());
  const settings = { url, events, email, signature };
  const endpoint =
    removed === undefined
      ? await insertEndpoint(tx, systemId, {
          ...settings,
          id,
          partner_id: partnerId,
          tag: id.slice(-6),
          created_at: now,
        })
      : await restoreEndpoint(tx, systemId, id, settings, now);
  if (endpoint === undefined) return undefined;
  const secret = await addSecret(context, tx, systemId, endpoint);
  await recordEndpointAct(context, tx, systemId, "webhook.created", id, { partner_id: partnerId, ...settings });
  return { endpoint, outcome: "created", secret, old_secrets_end_at: null };
}

async function change(
  context: SecretContext,
  tx: Transaction,
  systemId: string,
  before: EndpointRow,
  given: GivenSettings,
): Promise<SetEndpoint> {
  const { url = before.url, events = before.events, email = before.email, signature = before.signature } = given;
  const settings = { url, events, email, signature };
  if (isAsBefore(before, settings)) {
    return { endpoint: before, outcome: "unchanged", secret: null, old_secrets_end_at: null };
  }
  const endpoint = await updateEndpoint(tx, systemId, before.id, settings, new Date(context.clock()));
  // What the old address did says nothing about the new one.
  if (url !== before.url) await resetLaneHealth(tx, systemId, before.id);
  await recordEndpointAct(context, tx, systemId, "webhook.changed", before.id, settings);
  const isNewForm = signature === "both" && before.signature !== "both";
  const replaced = isNewForm ? await replaceSecret(context, tx, systemId, endpoint) : NOT_REPLACED;
  return { endpoint, outcome: "changed", ...replaced };
}

const NOT_REPLACED = { secret: null, old_secrets_end_at: null };

/**
 * Milliseconds for which an endpoint's old secrets sign beside the one of another form: as in a rotation where nothing else
 * is said.
 */
const FORM_OVERLAP_MS = 24 * 3_600_000;

/** Makes a secret of the form that the endpoint needs from now on; those before it end a day later. */
async function replaceSecret(
  context: SecretContext,
  tx: Transaction,
  systemId: string,
  endpoint: EndpointRow,
): Promise<Pick<SetEndpoint, "secret" | "old_secrets_end_at">> {
  await mustSealLikeOthers(context, tx);
  const now = context.clock();
  const endAt = new Date(now + FORM_OVERLAP_MS);
  await makeRoom(tx, systemId, endpoint.id, endAt, new Date(now));
  return { secret: await addSecret(context, tx, systemId, endpoint), old_secrets_end_at: endAt };
}

function isAsBefore(before: EndpointRow, { url, events, email, signature }: EndpointColumns): boolean {
  const isSameEvents = String(events) === String(before.events);
  return isSameEvents && url === before.url && email === before.email && signature === before.signature;
}

async function addSecret(
  context: SecretContext,
  tx: Transaction,
  systemId: string,
  { id: endpointId, signature }: Pick<EndpointRow, "id" | "signature">,
): Promise<string> {
  const { ids, sealer, clock } = context;
  const secret = makeSecret((bytes) => ids.randomBytes(bytes), signature === "both" ? "base64" : "base64url");
  const id = ids.next("secret");
  const encrypted = sealer.seal({ systemId, endpointId, secretId: id }, secret);
  const createdAt = new Date(clock());
  await insertSecret(tx, { system_id: systemId, id, endpoint_id: endpointId, encrypted, created_at: createdAt });
  await noteOurSealing(context, tx, systemId);
  return secret;
}

function tooMany(live: number): ServiceError {
  return commandError("invalid_parameter", "tooManySecrets", { count: live });
}

import { MAX_ENDPOINT_NAME, MAX_MESSAGES_PER_HOUR, type Threshold } from "@bikeshare/contract";
import { isPlainName } from "@bikeshare/contract/pure";
import type { ServiceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { requireNoAgency } from "../../partners/keys/service.ts";
import { holdPartner } from "../../partners/service.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { insertProbe } from "../queue/enqueue-queries.ts";
import { type AddressRules, judgeUrl } from "../rules/receiver-url.ts";
import {
  chooseEndpoint,
  type EndpointScope,
  FIRST_NAME,
  hasName,
  isMailAddress,
  isRemoved,
  lockExistingEndpoint,
  MAX_ENDPOINTS,
  offeredEvents,
  type PartnerScope,
  readEvents,
  recordEndpointAct,
  requirePartner,
  type SecretContext,
} from "./endpoint-context.ts";
import { placeColumns, type Places, placesOf, requireKnownPlaces } from "./endpoint-places.ts";
import {
  countEndpoint,
  type EndpointColumns,
  type EndpointRow,
  insertEndpoint,
  listEndpointsOf,
  lockEndpoint,
  updateEndpoint,
  updateHealthReset,
  updatePaused,
  updateStatus,
} from "./endpoint-queries.ts";
import { addSecret, replaceSecret, requireSharedKey } from "./endpoint-secrets.ts";
import {
  isSameThresholds,
  requireAllowedThresholds,
  requireThresholdEvents,
  thresholdRows,
  thresholdsOf,
} from "./endpoint-thresholds.ts";
import { sendHeldLocked } from "./held.ts";
import { replaceThresholds } from "./threshold-queries.ts";

/* Creates, changes, pauses and resumes the endpoints of partners. */

type SignatureSchemes = EndpointRow["signature"];

/** The settings that a person saw on a page; `url` null: the endpoint was removed. */
type SeenSettings = Pick<EndpointRow, "events" | "email" | "signature"> & {
  readonly name?: string | undefined;
  readonly places?: Places | null | undefined;
  readonly thresholds?: readonly Threshold[] | undefined;
  readonly max_per_hour?: number | null | undefined;
  readonly url: string | null;
};

/** Settings of an endpoint. Omitted ones stay; a new endpoint needs `url` and `events`. */
interface EndpointSettings extends EndpointScope {
  /** The partner's name for the endpoint. */
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  /** The address that is mailed when deliveries fail; null: nobody. */
  readonly email?: string | null | undefined;
  /** How deliveries are signed; a new endpoint starts with `service`. */
  readonly signature?: SignatureSchemes | undefined;
  /** The places whose events it receives; null: everywhere. */
  readonly places?: Places | null | undefined;
  /** When `station.below_threshold` and `station.back_to_normal` are sent. */
  readonly thresholds?: readonly Threshold[] | undefined;
  /** Deliveries of new events in an hour, at most; null: all. */
  readonly max_per_hour?: number | null | undefined;
  /**
   * The settings that the person saw before changing them: the change is refused if they have changed since. Left out: not
   * compared.
   */
  readonly seen?: SeenSettings | undefined;
}

/** The result of setting an endpoint. */
export interface SetEndpoint {
  readonly endpoint: EndpointRow;
  readonly thresholds: readonly Threshold[];
  readonly outcome: "created" | "changed" | "unchanged";
  /** The new secret, if the endpoint was created or got a secret of another form; null: there is no new one. */
  readonly secret: string | null;
  /** When the previous secrets stop signing; null: there is no new secret, or it is the first. */
  readonly old_secrets_end_at: Date | null;
}

/** The context of functions that create or change endpoints. */
export interface SettingContext extends SecretContext {
  readonly rules: AddressRules;
  /**
   * Called before deliveries go to another origin (scheme, host and port), or are signed with another secret.
   * @throws ServiceError when the caller may not decide that
   */
  readonly requireConfirmation?: () => void;
}

/**
 * Changes one of a partner's endpoints, or creates its first. A changed endpoint keeps its id and status: a paused one stays
 * paused. It keeps its secret, unless its signature now needs one of another form. A removed endpoint is created anew under
 * its old id, because its log refers to that.
 * @throws ServiceError when there is no such partner or endpoint, a value is not allowed, the name is taken, the settings
 * have changed since they were seen, or an endpoint is to be created for a suspended partner
 */
export async function setEndpoint(context: SettingContext, input: EndpointSettings): Promise<SetEndpoint> {
  const given = readSettings(input, context.rules);
  const { systemId } = input;
  return withEndpoints(context, input, async (tx, rows, isSuspended) => {
    const chosen = chooseEndpoint(rows, input);
    if (chosen !== undefined) {
      const before = await lockEndpoint(tx, systemId, chosen.id);
      const thresholds = (await thresholdsOf(tx, systemId, [chosen.id])).get(chosen.id) ?? [];
      if (input.seen !== undefined && !isAsSeen({ ...before, thresholds }, input.seen))
        throw commandError("conflict", "settingsChanged");
      requireFreeName(rows, given.name, before);
      if (!isRemoved(before)) return change(context, tx, systemId, { ...before, thresholds }, given);
    }
    if (isSuspended) throw suspended(input.partnerId);
    // Without any endpoint, it takes the first slot.
    return create(context, tx, input, given, chosen === undefined ? { slot: 1 } : { removed: chosen });
  });
}

/**
 * Adds an endpoint to a partner, which may have MAX_ENDPOINTS. A removed endpoint of the same name is created anew.
 * Once every slot is taken, the new endpoint takes over the row of the one that was removed first, with its id and log,
 * so that a partner's rows stay few.
 * @throws ServiceError when there is no such partner, it is suspended, the name is taken, a value is not allowed, or there
 * are too many
 */
export async function addEndpoint(
  context: SettingContext,
  input: Omit<EndpointSettings, "endpointRef" | "seen"> & { readonly name: string },
): Promise<SetEndpoint> {
  const given = readSettings(input, context.rules);
  return withEndpoints(context, input, async (tx, rows, isSuspended) => {
    if (isSuspended) throw suspended(input.partnerId);
    // The one that was removed first comes first.
    const removed = rows.filter(isRemoved).toSorted((one, other) => Number(one.paused_at) - Number(other.paused_at));
    const namesake = removed.find(({ name }) => hasName(name, given.name ?? ""));
    requireFreeName(rows, given.name, namesake);
    const slot = freeSlotIn(rows);
    const reused = namesake ?? (slot === undefined ? removed[0] : undefined);
    if (reused !== undefined) return create(context, tx, input, given, { removed: reused });
    if (slot === undefined) throw commandError("conflict", "tooManyEndpoints", { limit: MAX_ENDPOINTS });
    return create(context, tx, input, given, { slot });
  });
}

/** Returns the first slot that none of a partner's endpoints has; undefined: all are taken. */
function freeSlotIn(rows: readonly EndpointRow[]): number | undefined {
  const taken = new Set(rows.map(({ slot }) => slot));
  return Array.from({ length: MAX_ENDPOINTS }, (_, index) => index + 1).find((slot) => !taken.has(slot));
}

/**
 * Checks that the partner, the places and the thresholds are allowed. Then runs `work` with all of the partner's endpoints,
 * under a lock that keeps others from adding one meanwhile.
 * @throws ServiceError
 */
async function withEndpoints(
  context: SettingContext,
  { places, thresholds, ...scope }: Pick<EndpointSettings, "systemId" | "partnerId" | "places" | "thresholds">,
  work: (tx: Transaction, rows: readonly EndpointRow[], isSuspended: boolean) => Promise<SetEndpoint>,
): Promise<SetEndpoint> {
  const { systemId, partnerId } = scope;
  await requirePartner(context, scope);
  await requireNoAgency(context.db, systemId, partnerId);
  if (places) await requireKnownPlaces(context.db, systemId, places);
  await requireAllowedThresholds(context.db, systemId, thresholds ?? []);
  return context.db.transaction(async (tx) => {
    // Locks the partner before an endpoint, as a suspension does: otherwise the two could deadlock.
    const partner = await holdPartner(tx, systemId, partnerId);
    // A partner that was removed meanwhile is undefined here, and counts as suspended.
    return work(tx, await listEndpointsOf(tx, systemId, partnerId), partner?.suspended_at !== null);
  });
}

/** @throws ServiceError when an endpoint of the partner other than `own` has the name */
function requireFreeName(
  rows: readonly EndpointRow[],
  name: string | undefined,
  own: Pick<EndpointRow, "id"> | undefined,
): void {
  if (name === undefined) return;
  const other = rows.find((row) => row.id !== own?.id && hasName(row.name, name));
  if (other !== undefined) throw commandError("conflict", "endpointNameTaken", { name: other.name, id: other.id });
}

/** Valid settings as they were given; undefined: not given. */
interface GivenSettings {
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly events: readonly string[] | undefined;
  readonly email: string | null | undefined;
  readonly signature: SignatureSchemes | undefined;
  readonly places: Places | null | undefined;
  readonly thresholds: readonly Threshold[] | undefined;
  readonly max_per_hour: number | null | undefined;
}

/** An endpoint before a change, with its thresholds. */
type EndpointBefore = EndpointRow & { readonly thresholds: readonly Threshold[] };

/** Validates settings, except those that need the database: places and thresholds. @throws ServiceError */
function readSettings(input: Omit<EndpointSettings, "endpointRef" | "seen">, rules: AddressRules): GivenSettings {
  const { name, url, events, email, signature, places, thresholds, max_per_hour } = input;
  if (name !== undefined && (name === "" || name.length > MAX_ENDPOINT_NAME || !isPlainName(name)))
    throw commandError("invalid_parameter", "endpointName", { limit: MAX_ENDPOINT_NAME });
  if (email !== undefined && email !== null && !isMailAddress(email)) {
    throw commandError("invalid_parameter", "email");
  }
  if (max_per_hour !== undefined && max_per_hour !== null && !isAllowedPerHour(max_per_hour))
    throw commandError("invalid_parameter", "maxPerHour", { limit: MAX_MESSAGES_PER_HOUR });
  return {
    name,
    url: url === undefined ? undefined : readUrl(url, rules),
    events: events && eventsFrom(events),
    email,
    signature,
    places,
    thresholds,
    max_per_hour,
  };
}

function isAllowedPerHour(n: number): boolean {
  return Number.isInteger(n) && n >= 1 && n <= MAX_MESSAGES_PER_HOUR;
}

function readUrl(text: string, rules: AddressRules): string {
  const verdict = judgeUrl(text, rules);
  if (!verdict.ok) throw commandError("invalid_parameter", "url", { issue: verdict.message });
  // Stores the normalized address, which connections use.
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

/** Where an endpoint is created: in a free slot (its number among the partner's), or in the row of a removed endpoint. */
type Target = { readonly slot: number } | { readonly removed: EndpointRow };

/** Creates an endpoint with its lane and a secret. */
async function create(
  context: SettingContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
  given: GivenSettings,
  target: Target,
): Promise<SetEndpoint> {
  const { url, events, email = null, signature = "service", places = null } = given;
  const { thresholds = [], max_per_hour = null } = given;
  if (url === undefined || events === undefined) {
    throw commandError("invalid_parameter", "newEndpoint");
  }
  requireThresholdEvents(events, thresholds);
  context.requireConfirmation?.();
  await requireSharedKey(context, tx);
  const now = new Date(context.clock());
  const removed = "removed" in target ? target.removed : undefined;
  const name = given.name ?? removed?.name ?? FIRST_NAME;
  const settings = { name, url, events, email, signature, max_per_hour, ...placeColumns(places) };
  const id = removed?.id ?? context.ids.next("endpoint");
  const endpoint = await ("slot" in target
    ? insertEndpoint(tx, systemId, { ...newEndpoint(id, now), ...settings, partner_id: partnerId, slot: target.slot })
    : restoreEndpoint(tx, systemId, id, settings, now));
  // The insert finds the slot or the name taken only if a program does not lock the partner; its tag, only by chance.
  if (endpoint === undefined) throw commandError("conflict", "settingsChanged");
  await replaceThresholds(tx, systemId, id, thresholdRows(id, thresholds));
  const secret = await addSecret(context, tx, systemId, endpoint);
  const detail = { partner_id: partnerId, ...settings, thresholds };
  await recordEndpointAct(context, tx, systemId, "webhook.created", id, detail);
  return { endpoint, thresholds, outcome: "created", secret, old_secrets_end_at: null };
}

function newEndpoint(id: string, now: Date) {
  return { id, tag: id.slice(-6), status: "active", created_at: now, updated_at: now } as const;
}

/** Restores a removed endpoint with a fresh health. */
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

/** Changes an endpoint that is not removed. Writes nothing if the settings stay the same. */
async function change(
  context: SettingContext,
  tx: Transaction,
  systemId: string,
  before: EndpointBefore,
  given: GivenSettings,
): Promise<SetEndpoint> {
  const { name = before.name, url = before.url, events = before.events } = given;
  const { email = before.email, signature = before.signature, places = placesOf(before) } = given;
  const { thresholds = before.thresholds, max_per_hour = before.max_per_hour } = given;
  const settings = { name, url, events, email, signature, max_per_hour, ...placeColumns(places) };
  // Libraries for Standard Webhooks read secrets in base64 only; a secret made before may be in base64url (secret.ts).
  const needsNewForm = signature === "both" && before.signature !== "both";
  if (isAsBefore(before, { ...settings, places, thresholds })) {
    const { thresholds: unchanged, ...endpoint } = before;
    return { endpoint, thresholds: unchanged, outcome: "unchanged", secret: null, old_secrets_end_at: null };
  }
  requireThresholdEvents(events, thresholds);
  if (originOf(url) !== originOf(before.url) || needsNewForm) context.requireConfirmation?.();
  const endpoint = await updateEndpoint(tx, systemId, before.id, settings, new Date(context.clock()));
  if (!isSameThresholds(thresholds, before.thresholds))
    await replaceThresholds(tx, systemId, before.id, thresholdRows(before.id, thresholds));
  // The health of the old address says nothing about the new one.
  if (url !== before.url) await updateHealthReset(tx, systemId, before.id);
  await recordEndpointAct(context, tx, systemId, "webhook.changed", before.id, { ...settings, thresholds });
  const changed = { endpoint, thresholds, outcome: "changed" } as const;
  if (!needsNewForm) return { ...changed, secret: null, old_secrets_end_at: null };
  await requireSharedKey(context, tx);
  return { ...changed, ...(await replaceSecret(context, tx, systemId, endpoint, FORM_OVERLAP_MS)) };
}

/** Returns the origin (scheme, host and port) of a stored address; undefined: there is no address. */
function originOf(url: string | null): string | undefined {
  return url === null ? undefined : new URL(url).origin;
}

/**
 * Milliseconds for which old secrets still sign after the endpoint got one of another form. Equals the default of a
 * rotation.
 */
const FORM_OVERLAP_MS = 24 * 3_600_000;

/** Tells whether an endpoint's settings are still those that a person saw. */
function isAsSeen(before: EndpointBefore, seen: SeenSettings): boolean {
  return isRemoved(before) ? seen.url === null : isAsBefore(before, seen);
}

/** Tells whether settings, seen or new ones, are those of an endpoint. Settings that are left out count as the same. */
function isAsBefore(before: EndpointBefore, settings: SeenSettings): boolean {
  const { name = before.name, url, events, email, signature, places = placesOf(before) } = settings;
  const { thresholds = before.thresholds, max_per_hour = before.max_per_hour } = settings;
  if (max_per_hour !== before.max_per_hour || !isSameThresholds(thresholds, before.thresholds)) return false;
  const isSamePlaces = JSON.stringify(placeColumns(places)) === JSON.stringify(placeColumns(placesOf(before)));
  if (!isSamePlaces || name !== before.name || String(events) !== String(before.events)) return false;
  return url === before.url && email === before.email && signature === before.signature;
}

/** An endpoint after a requested change of its status. */
export interface EndpointChange {
  readonly endpoint: EndpointRow;
  /** False: the endpoint already had the status. */
  readonly changed: boolean;
}

/** Who requests a change. Only the operator resumes or removes an endpoint that the operator has paused. */
export type ChangedBy = "partner" | "operator";

/**
 * Pauses an endpoint: holds new deliveries, and lets those in flight end. A paused endpoint keeps its reason.
 * @param input `takesOver`: replaces the reason of a paused endpoint, so that whoever paused it cannot resume it
 * @throws ServiceError when there is no endpoint
 */
export async function pauseEndpoint(
  context: ActorContext,
  input: EndpointScope & { readonly reason: ChangedBy; readonly takesOver?: boolean },
): Promise<EndpointChange> {
  const { systemId, reason, takesOver = false } = input;
  return context.db.transaction(async (tx) => {
    const before = await lockExistingEndpoint(tx, input);
    const now = new Date(context.clock());
    const isTakenOver = takesOver && before.pause_reason !== reason;
    const from = ["active", "probing", ...(isTakenOver ? (["paused"] as const) : [])] as const;
    const paused = await updatePaused(tx, systemId, before.id, { from, reason, now });
    if (paused === undefined) return { endpoint: before, changed: false };
    const was = before.pause_reason;
    await recordEndpointAct(context, tx, systemId, "webhook.paused", before.id, { reason, ...(was && { was }) });
    return { endpoint: paused, changed: true };
  });
}

/** A resumed endpoint. */
export interface ResumedEndpoint extends EndpointChange {
  /** The held delivery that probes the endpoint; null: the next event does, or the endpoint was not paused. */
  readonly probe: string | null;
  /** Deliveries that will be sent once the endpoint is active, as the caller requested. */
  readonly sent: number;
  /** Deliveries that stay held until somebody sends or drops them. */
  readonly held: number;
  readonly held_since: Date | null;
}

/**
 * Resumes a paused endpoint. Sends the oldest held delivery as a probe; when it succeeds, the endpoint is active.
 * @param scope `sendsHeld`: the other held deliveries are sent then; otherwise they stay held
 * @throws ServiceError when there is no endpoint, its partner is suspended, or `by` is the partner and the operator has
 * paused it
 */
export async function resumeEndpoint(
  context: ActorContext,
  scope: EndpointScope & { readonly by?: ChangedBy; readonly sendsHeld?: boolean },
): Promise<ResumedEndpoint> {
  const { systemId, partnerId, by = "operator", sendsHeld = false } = scope;
  return context.db.transaction(async (tx) => {
    const partner = await holdPartner(tx, systemId, partnerId);
    const before = await lockExistingEndpoint(tx, scope);
    requireOwnPause(before, by);
    // A partner that was removed meanwhile is undefined here. Its endpoints were removed with it, so the lock has rejected it.
    if (partner?.suspended_at instanceof Date) throw suspended(partnerId);
    const resumed = await resumeLocked(context, tx, systemId, before);
    if (!sendsHeld) return resumed;
    const sent = await sendHeldLocked(context, tx, systemId, before.id);
    return { ...resumed, sent, held: Math.max(0, resumed.held - sent) };
  });
}

/** Rejects a partner's change of an endpoint that the operator has paused. @throws ServiceError */
export function requireOwnPause({ pause_reason: reason }: EndpointRow, by: ChangedBy): void {
  if (by === "partner" && reason === "operator") throw commandError("conflict", "endpointPausedByOperator");
}

/** Resumes a locked endpoint. */
async function resumeLocked(
  context: ActorContext,
  tx: Transaction,
  systemId: string,
  before: EndpointRow,
): Promise<ResumedEndpoint> {
  const now = new Date(context.clock());
  const resumed = await updateStatus(tx, systemId, before.id, { from: "paused", to: "probing", now });
  let probe: string | null = null;
  if (resumed !== undefined) {
    await updateHealthReset(tx, systemId, before.id);
    probe = (await insertProbe(tx, systemId, before.id, now)) ?? null;
    const was = before.pause_reason;
    await recordEndpointAct(context, tx, systemId, "webhook.resumed", before.id, { was, probe });
  }
  const { held, held_since } = await countEndpoint(tx, systemId, before.id);
  return { endpoint: resumed ?? before, changed: resumed !== undefined, probe, sent: 0, held, held_since };
}

/** Returns the error for sending something to a suspended partner. */
function suspended(partnerId: string): ServiceError {
  return commandError("conflict", "partnerSuspended", { partnerId });
}

/** Pauses the endpoints of a partner that is being suspended. One that is paused already keeps its reason. */
export async function pauseForSuspension(context: ActorContext, tx: Transaction, scope: PartnerScope): Promise<void> {
  const { systemId } = scope;
  const reason = "suspended";
  const now = new Date(context.clock());
  for (const { id } of await lockEndpointsOf(tx, scope)) {
    const paused = await updatePaused(tx, systemId, id, { from: ["active", "probing"], reason, now });
    if (paused !== undefined) await recordEndpointAct(context, tx, systemId, "webhook.paused", id, { reason });
  }
}

/** Resumes the endpoints of a partner that is being resumed, as far as the suspension paused them. */
export async function resumeAfterSuspension(
  context: ActorContext,
  tx: Transaction,
  scope: PartnerScope,
): Promise<readonly ResumedEndpoint[]> {
  const resumed: ResumedEndpoint[] = [];
  for (const before of await lockEndpointsOf(tx, scope)) {
    if (before.pause_reason === "suspended") resumed.push(await resumeLocked(context, tx, scope.systemId, before));
  }
  return resumed;
}

/** Locks a partner's endpoints one after the other, removed ones too, in the order of their slots. */
export async function lockEndpointsOf(tx: Transaction, { systemId, partnerId }: PartnerScope): Promise<EndpointRow[]> {
  const locked: EndpointRow[] = [];
  for (const { id } of await listEndpointsOf(tx, systemId, partnerId))
    locked.push(await lockEndpoint(tx, systemId, id));
  return locked;
}

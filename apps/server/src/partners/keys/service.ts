import { MDS_SCOPE, type Scope } from "@bikeshare/contract";
import { type KeyKind, keyStatus, RATE_WINDOW_MS } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { insertActOf } from "../audit/queries.ts";
import { holdPartner } from "../service.ts";
import { type BoundedKey, excessOf, hashKey, isTooSoon, makeKey, ownKeysIn } from "./key.rules.ts";
import {
  deleteEndedOwnKeys,
  deleteKey,
  findKey,
  findReplacedKey,
  insertKey,
  isAgencyPartner,
  isSandbox,
  type KeyRow,
  listKeys,
  lockKey,
  notifyKeyChanged,
  updateCompromised,
  updateRevocation,
} from "./queries.ts";

/*
 * API keys: finds, issues, rotates, revokes and marks them. Only the hash of a key is stored. `presented` is a key's text as
 * a request brought it. A key is a partner's or, without a partner, the operator's. Every change of a key notifies all
 * processes, which then clear their caches of keys (look-ups.ts).
 */

export { isAgencyPartner, isSandbox, type KeyRow } from "./queries.ts";

/** A scope of partners, or the one that agencies alone have. */
type KeyScope = Scope | typeof MDS_SCOPE;

/** The properties of a key to be made. */
export interface IssueInput {
  readonly systemId: string;
  /** Null for an operator key. */
  readonly partnerId: string | null;
  readonly scopes: readonly KeyScope[];
  readonly name?: string | null;
  /** Null or omitted: the key does not expire. */
  readonly expiresAt?: Date | null;
  /** Requests in any 60 s. Null or omitted: the default. */
  readonly rateLimit?: number | null;
  /** One of the partner's own people makes the key, which must be within the partner's allowance. */
  readonly madeByPartner?: boolean;
}

/** A key just made. `key` is shown once: only its hash is kept. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly scopes: readonly string[];
  readonly expires_at: Date | null;
  readonly rate_limit: number | null;
}

/**
 * Makes a key.
 * @throws ServiceError when the partner's own people make it and the operator has not allowed it, or when the scopes give
 *   MDS to a partner that is no agency, or anything else to an agency
 */
export function issueKey(context: ActorContext, input: IssueInput): Promise<IssuedKey> {
  return context.db.transaction((tx) => issue(context, tx, input, "key.issued"));
}

/**
 * Ends a key at once, on every process within a second. Ending it again changes nothing.
 * @throws ServiceError when the system has no such key
 */
export async function revokeKey(context: ActorContext, systemId: string, id: string): Promise<KeyRow> {
  return context.db.transaction((tx) => revoke(context, tx, systemId, id));
}

async function revoke(context: ActorContext, tx: Transaction, systemId: string, id: string): Promise<KeyRow> {
  const key = await mustFind(tx, systemId, id);
  const now = context.clock();
  if (keyStatus(key, now) === "revoked") return key;
  await updateRevocation(tx, systemId, id, new Date(now), null);
  await insertActOf(context, tx, { systemId, action: "key.revoked", subject: id, detail: {} });
  await notifyKeyChanged(tx, systemId);
  return mustFind(tx, systemId, id);
}

/**
 * Ends a key as `revokeKey` does, and deletes it. The logs keep its id. For keys that a program made for itself: listed, they
 * would hide the keys that people made.
 */
export function removeKey(context: ActorContext, systemId: string, id: string): Promise<void> {
  return context.db.transaction(async (tx) => {
    await revoke(context, tx, systemId, id);
    await deleteKey(tx, systemId, id);
  });
}

/** Ends every key of a partner at once. @returns how many were not revoked before, expired ones included */
export async function revokeKeysOf(
  context: Omit<ActorContext, "db">,
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<number> {
  const now = context.clock();
  const unrevoked = (await listKeys(tx, systemId, partnerId)).filter((key) => keyStatus(key, now) !== "revoked");
  for (const { id } of unrevoked) {
    await updateRevocation(tx, systemId, id, new Date(now), null);
    await insertActOf(context, tx, { systemId, action: "key.revoked", subject: id, detail: { partner_removed: true } });
  }
  await notifyKeyChanged(tx, systemId);
  return unrevoked.length;
}

/** Notifies every process, when the transaction commits, that keys must be looked up again. */
export const notifyKeysChanged = notifyKeyChanged;

/** Maximum number of days for which both keys of a rotation work. */
export const MAX_OVERLAP_DAYS = 30;
/** `MAX_OVERLAP_DAYS` in milliseconds. */
export const MAX_OVERLAP_MS = MAX_OVERLAP_DAYS * 24 * 3_600_000;

/**
 * Makes a key that takes another's place, with the same partner, scopes, name, rate and expiry; both work for `overlap`
 * milliseconds, then the old one is revoked. With an overlap, the allowance of a partner whose own people made the key must
 * have room for both. The requests of three keys never count at once, because repeated rotations would then multiply the
 * operator's rate limit.
 * @throws ServiceError when the key does not work or was rotated already, when requests of the key that it replaced still
 *   count, or when the allowance has no room
 */
export async function rotateKey(
  context: ActorContext,
  systemId: string,
  id: string,
  overlap: number,
): Promise<IssuedKey & { readonly replaces: string; readonly replaced_key_ends_at: Date }> {
  if (overlap < 0 || overlap > MAX_OVERLAP_MS)
    throw commandError("invalid_parameter", "keyOverlap", { days: MAX_OVERLAP_DAYS });
  return context.db.transaction(async (tx) => {
    const old = await mustLock(tx, systemId, id);
    const now = context.clock();
    const endsAt = new Date(now + overlap);
    const status = keyStatus(old, now);
    if (status !== "active") throw commandError("conflict", "keyInactive", { id, status });
    if (old.rotated_to !== null) throw commandError("conflict", "keyRotated", { id, successor: old.rotated_to });
    await requireNoOverlap(tx, systemId, old, now);
    // Before the new key is made: an old key that ends at once no longer counts towards the allowance.
    await updateRevocation(tx, systemId, id, endsAt, null);
    const issued = await issue(
      context,
      tx,
      {
        systemId,
        partnerId: old.partner_id,
        scopes: old.scopes as readonly KeyScope[], // they were checked when the old key was issued
        name: old.name,
        expiresAt: old.expires_at,
        rateLimit: old.rate_limit,
        madeByPartner: old.made_by_partner,
      },
      "key.rotated",
      { replaces: id },
    );
    // Again, because the id of the successor is known only now.
    await updateRevocation(tx, systemId, id, endsAt, issued.id);
    await notifyKeyChanged(tx, systemId);
    return { ...issued, replaces: id, replaced_key_ends_at: endsAt };
  });
}

/** Returns a system's keys, revoked and expired ones too, oldest first; of one partner when one is named. */
export function keysOf(context: { readonly db: Queryable }, systemId: string, partnerId?: string): Promise<KeyRow[]> {
  return listKeys(context.db, systemId, partnerId ?? null);
}

/** Returns a key; undefined when the system has none with this id. */
export function keyWithId(
  { db }: { readonly db: Queryable },
  systemId: string,
  id: string,
): Promise<KeyRow | undefined> {
  return findKey(db, systemId, id);
}

/**
 * Marks a key as compromised, if it is not marked yet. The key still works; the operator decides whether to revoke it.
 * @returns whether this was the first time
 */
export async function markKeyAsCompromised(context: ActorContext, presented: string, where: string): Promise<boolean> {
  return context.db.transaction(async (tx) => {
    const key = await updateCompromised(tx, hashKey(presented), new Date(context.clock()));
    if (key === undefined) return false;
    await insertActOf(context, tx, {
      systemId: key.system_id,
      action: "key.compromised",
      subject: key.id,
      detail: { where },
    });
    // Notifies every process, so that none tries to mark the key again.
    await notifyKeyChanged(tx, key.system_id);
    return true;
  });
}

/**
 * Makes a key and records it in the audit log under `action`: `key.issued` or `key.rotated`.
 * @param detail further details for the audit log
 */
async function issue(
  context: ActorContext,
  tx: Transaction,
  input: IssueInput,
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<IssuedKey> {
  const kind = await kindOfKey(tx, input);
  const key = makeKey(kind, (bytes) => context.ids.randomBytes(bytes));
  const id = context.ids.next("key");
  const { systemId, partnerId: partner_id, scopes, name = null, expiresAt = null, rateLimit = null } = input;
  const { madeByPartner: made_by_partner = false } = input;
  const rights = { scopes, expires_at: expiresAt, rate_limit: rateLimit };
  const created_at = new Date(context.clock());
  await requireScopesOfOwner(tx, systemId, partner_id, scopes);
  if (made_by_partner) await requireAllowed(tx, { system_id: systemId, partner_id, ...rights, created_at });
  await insertKey(tx, {
    system_id: systemId,
    id,
    partner_id,
    name,
    ...rights,
    scopes: [...scopes],
    hash: hashKey(key),
    last4: key.slice(-4),
    created_at,
    made_by_partner,
  });
  await insertActOf(context, tx, {
    systemId,
    action,
    subject: id,
    detail: { ...detail, partner_id, ...rights, ...(made_by_partner ? { made_by_partner } : {}) },
  });
  return { id, key, ...rights };
}

async function kindOfKey(tx: Transaction, { systemId, partnerId }: IssueInput): Promise<KeyKind> {
  if (partnerId === null) return "operator";
  return (await isSandbox(tx, systemId)) ? "test" : "live";
}

/** @throws ServiceError when a partner is an agency: it may read only MDS, and events would reveal what MDS leaves out */
export async function requireNoAgency(db: Queryable, systemId: string, partnerId: string): Promise<void> {
  if (await isAgencyPartner(db, systemId, partnerId)) throw commandError("conflict", "agencyWebhook", { partnerId });
}

/** @throws ServiceError when the scopes let an agency read anything other than MDS, or let any other partner read MDS */
async function requireScopesOfOwner(
  tx: Transaction,
  systemId: string,
  partnerId: string | null,
  scopes: readonly string[],
): Promise<void> {
  const isAgency = partnerId !== null && (await isAgencyPartner(tx, systemId, partnerId));
  const isForAgency = scopes.includes(MDS_SCOPE);
  if (isAgency && (!isForAgency || scopes.length > 1))
    throw commandError("conflict", "agencyKey", { scope: MDS_SCOPE, partnerId });
  if (!isAgency && isForAgency) throw commandError("conflict", "noAgency", { scope: MDS_SCOPE });
}

/**
 * Refuses to rotate a key while requests of the key that it replaced still count: until that key has ended, and its last
 * requests have left the rate's window. Otherwise three keys, each with its own rate limit, would count at once.
 * @throws ServiceError while requests of the key that this one replaces still count
 */
async function requireNoOverlap(tx: Transaction, systemId: string, key: KeyRow, now: number): Promise<void> {
  const replaced = await findReplacedKey(tx, systemId, key);
  if (replaced === undefined) return;
  const ends = [replaced.revoked_at, replaced.expires_at].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY);
  const until = Math.min(...ends) + RATE_WINDOW_MS;
  if (now >= until) return;
  const values = { id: key.id, replaced: replaced.id, until: new Date(until).toISOString() };
  throw commandError("conflict", "keyOverlaps", values);
}

/**
 * Locks a key's partner, then the key, so that two callers cannot replace the same key. Returns the key as it is read under
 * the lock: before, another caller may have changed it.
 */
async function mustLock(tx: Transaction, systemId: string, id: string): Promise<KeyRow> {
  const { partner_id: partnerId } = await mustFind(tx, systemId, id);
  if (partnerId !== null) await holdPartner(tx, systemId, partnerId);
  await lockKey(tx, systemId, id);
  return mustFind(tx, systemId, id);
}

/** @throws ServiceError when the system has no such key */
async function mustFind(tx: Transaction, systemId: string, id: string): Promise<KeyRow> {
  const key = await findKey(tx, systemId, id);
  if (key === undefined) throw commandError("not_found", "key", { id });
  return key;
}

const DAY_MS = 86_400_000;
/**
 * Limits the keys that a partner makes in a day. Too low: a partner that experiments must wait. Too high: the table grows
 * with each key that is made and revoked.
 */
const MAX_MADE_A_DAY = 100;
/** Days for which a key of a partner's own people is kept after its end. Then it is deleted when they make the next key. */
const ENDED_DAYS = 30;

/**
 * Locks a partner until the transaction ends, and checks that its own people may make a key now. Concurrent transactions
 * that make another key of the partner, lower its allowance, or suspend or remove it wait. Also deletes the keys of its own
 * people that ended `ENDED_DAYS` ago.
 * @throws ServiceError when the partner is suspended or removed, has no allowance or has made too many keys today, or with
 *   the bound of the allowance that the key exceeds
 */
async function requireAllowed(
  tx: Transaction,
  key: BoundedKey & Pick<KeyRow, "system_id" | "partner_id">,
): Promise<void> {
  const { system_id: systemId, partner_id, created_at: at } = key;
  // An operator key (null) has no partner whose people could make it: as no id is empty, it is refused as "not found".
  const partnerId = partner_id ?? "";
  const partner = await holdPartner(tx, systemId, partnerId);
  if (partner === undefined) throw commandError("not_found", "partner", { id: partnerId });
  if (partner.suspended_at !== null) throw commandError("conflict", "partnerSuspended", { partnerId });
  const allowance = partner.key_allowance;
  if (allowance === null) throw commandError("conflict", "keyAllowance", { partnerId });
  const now = at.getTime();
  await deleteEndedOwnKeys(tx, systemId, partnerId, new Date(now - ENDED_DAYS * DAY_MS));
  const all = await listKeys(tx, systemId, partnerId);
  const today = all.filter(({ made_by_partner: isOwn, created_at }) => isOwn && created_at.getTime() > now - DAY_MS);
  if (today.length >= MAX_MADE_A_DAY) throw commandError("conflict", "keysMadeToday", { count: today.length });
  const own = ownKeysIn(all, now);
  const excess = excessOf(allowance, key, own);
  switch (excess?.bound) {
    case undefined: // within the allowance
      if (isTooSoon(allowance, key, all, now))
        throw commandError("conflict", "keyAllowanceEnded", { limit: allowance.rate_limit });
      return;
    case "scopes":
      throw commandError("conflict", "keyAllowanceScopes", { scope: excess.scope });
    case "lifetime":
      throw commandError("conflict", "keyAllowanceLifetime", {
        days: allowance.days,
        expiry: key.expires_at?.toISOString() ?? "never",
      });
    case "keys":
      throw commandError("conflict", "keyAllowanceCount", { count: own.length, limit: allowance.keys });
    case "rate":
      throw commandError("conflict", "keyAllowanceRate", {
        limit: allowance.rate_limit,
        left: excess.left,
        asked: key.rate_limit ?? "no limit",
      });
  }
}

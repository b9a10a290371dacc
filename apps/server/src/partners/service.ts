import type { KeyAllowance } from "@bikeshare/contract/console";
import type { ActorContext } from "../command-context.ts";
import { commandError } from "../command-errors.ts";
import type { Transaction } from "../storage/db/database.ts";
import { insertActOf } from "./audit/queries.ts";
import { isSandbox } from "./keys/queries.ts";
import {
  findPartner,
  findPartnerByName,
  findSandboxSystem,
  insertPartner,
  listPartnerOverviews,
  listPartners,
  lockNames,
  lockPartner,
  type PartnerOverview,
  type PartnerRow,
  updatePartner,
} from "./queries.ts";

export type { PartnerOverview } from "./queries.ts";
export type { PartnerRow } from "./queries.ts";

/** `suspended`: keys are refused and deliveries held until the partner is resumed. `removed`: the same, for good. */
export type PartnerStatus = "active" | "suspended" | "removed";

/** Returns the status of a partner. */
export function partnerStatus({
  suspended_at: suspendedAt,
  removed_at: removedAt,
}: {
  readonly suspended_at: Date | null;
  readonly removed_at: Date | null;
}): PartnerStatus {
  if (removedAt !== null) return "removed";
  return suspendedAt === null ? "active" : "suspended";
}

/** A partner's settings that may differ from the default. */
export interface PartnerOptions {
  /** Maximum number of active reservations; the default when left out. */
  readonly maxReservations?: number | undefined;
}

/**
 * Makes a partner of a system.
 * @throws ServiceError when another partner has the name, or the system is a sandbox, whose only partner is its owner
 */
export async function createPartner(
  context: ActorContext,
  systemId: string,
  name: string,
  { maxReservations }: PartnerOptions = {},
): Promise<PartnerRow> {
  const { db, clock, ids } = context;
  const at = new Date(clock());
  return db.transaction(async (tx) => {
    if (await isSandbox(tx, systemId)) throw commandError("conflict", "partnerOfSandbox", { systemId });
    await mustBeFree(tx, systemId, name);
    const made = { id: ids.next("partner"), name, created_at: at, max_reservations: maxReservations ?? null };
    const partner = await insertPartner(tx, systemId, made);
    const detail = { name, max_reservations: partner.max_reservations };
    await insertActOf(context, tx, { systemId, at, action: "partner.created", subject: partner.id, detail });
    return partner;
  });
}

/** Makes the partner of a sandbox, which has the id and the name of the partner whose sandbox it is. */
export async function createPartnerOfSandbox(
  { db, clock }: Pick<ActorContext, "db" | "clock">,
  systemId: string,
  { id, name, max_reservations }: PartnerRow,
  allowance: KeyAllowance,
): Promise<void> {
  await db.transaction(async (tx) => {
    const made = await insertPartner(tx, systemId, { id, name, max_reservations, created_at: new Date(clock()) });
    await updatePartner(tx, systemId, { ...made, key_allowance: allowance });
  });
}

/** Changes to a partner. Omitted fields stay as they are. */
export interface PartnerChange {
  readonly name?: string | undefined;
  /** Null: the default. */
  readonly maxReservations?: number | null | undefined;
}

/**
 * Changes a partner's name or limit.
 * @throws ServiceError when there is no such partner, it was removed, or another partner has the name
 */
export async function setPartner(
  context: ActorContext,
  systemId: string,
  id: string,
  change: PartnerChange,
): Promise<{ readonly partner: PartnerRow; readonly changed: boolean }> {
  return context.db.transaction(async (tx) => {
    const before = await mustLock(tx, systemId, id);
    const { name = before.name, maxReservations = before.max_reservations } = change;
    if (name === before.name && maxReservations === before.max_reservations) return { partner: before, changed: false };
    if (name !== before.name) await mustBeFree(tx, systemId, name, id);
    const partner = await writePartner(tx, systemId, { ...before, name, max_reservations: maxReservations });
    const detail = { name, max_reservations: maxReservations };
    await insertActOf(context, tx, { systemId, action: "partner.changed", subject: id, detail });
    return { partner, changed: true };
  });
}

/**
 * Sets the allowance for keys that a partner's own people make. Existing keys stay as they are, even if they exceed it.
 * @param allowance null: they may make none
 * @throws ServiceError when there is no such partner, or it was removed
 */
export async function setKeyAllowance(
  context: ActorContext,
  systemId: string,
  id: string,
  allowance: KeyAllowance | null,
): Promise<PartnerRow> {
  return context.db.transaction(async (tx) => {
    const before = await mustLock(tx, systemId, id);
    const partner = await writePartner(tx, systemId, { ...before, key_allowance: allowance });
    const detail = { key_allowance: allowance };
    await insertActOf(context, tx, { systemId, action: "partner.keys_allowed", subject: id, detail });
    return partner;
  });
}

/** Returns a system's partners, removed ones too, oldest first. */
export function partnersOf({ db }: Pick<ActorContext, "db">, systemId: string): Promise<PartnerRow[]> {
  return listPartners(db, systemId);
}

/** Returns partners with their keys, endpoints and usage. */
export function overviewsOf(context: Pick<ActorContext, "db" | "clock">, systemId: string): Promise<PartnerOverview[]> {
  return listPartnerOverviews(context.db, systemId, new Date(context.clock()));
}

/** Returns one partner with its keys, endpoints and usage, even a removed one. */
export async function overviewOf(
  context: Pick<ActorContext, "db" | "clock">,
  systemId: string,
  id: string,
): Promise<PartnerOverview | undefined> {
  return (await listPartnerOverviews(context.db, systemId, new Date(context.clock()), id))[0];
}

/** Returns a partner; undefined when there is none with this id, or it was removed. */
export async function partnerWithId(
  { db }: Pick<ActorContext, "db">,
  systemId: string,
  id: string,
): Promise<PartnerRow | undefined> {
  const partner = await findPartner(db, systemId, id);
  return partner !== undefined && partnerStatus(partner) !== "removed" ? partner : undefined;
}

/** Like `partnerWithId`, and locks the partner until the transaction ends: nobody suspends or removes it meanwhile. */
export async function holdPartner(tx: Transaction, systemId: string, id: string): Promise<PartnerRow | undefined> {
  const partner = await lockPartner(tx, systemId, id);
  return partner !== undefined && partnerStatus(partner) !== "removed" ? partner : undefined;
}

/**
 * Locks a partner. Call it before locking anything else: every transaction that locks a partner does so first, so that no
 * two wait for each other.
 * @throws ServiceError when no partner has this id, or it was removed
 */
export async function mustLock(tx: Transaction, systemId: string, id: string): Promise<PartnerRow> {
  const partner = await lockPartner(tx, systemId, id);
  if (partner === undefined) {
    throw commandError("not_found", "partner", { id });
  }
  if (partner.removed_at !== null) {
    throw commandError("conflict", "partnerRemoved", { id, at: partner.removed_at.toISOString() });
  }
  return partner;
}

/** Returns the system that is a partner's sandbox; undefined where it has none. */
export const sandboxSystemOf = findSandboxSystem;

/** Writes all columns of a locked partner that can change. */
export const writePartner = updatePartner;

/**
 * Locks the names of partners, and requires that no other partner has the name. So suspending or removing a partner by its
 * name hits the right one.
 * @param id the partner that is renamed; undefined: a new one
 */
async function mustBeFree(tx: Transaction, systemId: string, name: string, id?: string): Promise<void> {
  await lockNames(tx, systemId);
  const other = await findPartnerByName(tx, systemId, name);
  if (other === undefined || other.id === id) return;
  throw commandError("conflict", "partnerNameTaken", { id: other.id, name: JSON.stringify(other.name) });
}

import { MAX_SANDBOX_RIDES, scopeNames } from "@bikeshare/contract";
import type { DeliveryName } from "@bikeshare/contract";
import type { SandboxEvent, SandboxStatus } from "@bikeshare/contract/sandbox";
import { serviceError } from "@bikeshare/rules";
import { lengthOf } from "../city/counts/service.ts";
import { describeDemoTypes, describeRegions } from "../city/descriptions/made-up-city.ts";
import { clearCity } from "../city/fleet/clear-city.ts";
import { createSystem } from "../city/systems/service.ts";
import type { ActorContext, CommandContext } from "../command-context.ts";
import { commandError } from "../command-errors.ts";
import { insertActOf } from "../partners/audit/queries.ts";
import { isAgencyPartner, notifyKeysChanged } from "../partners/keys/service.ts";
import { createPartnerOfSandbox, mustLock } from "../partners/service.ts";
import type { Transaction } from "../storage/db/database.ts";
import { CityActs } from "./acts.ts";
import { causeEvent } from "./causes.ts";
import { replaceCity, sandboxCity } from "./city.ts";
import {
  deleteAnswers,
  findSandbox,
  findSandboxOf,
  insertSandbox,
  lockSandboxCity,
  type SandboxRow,
  updateSandboxCity,
  updateSandboxUse,
} from "./queries.ts";
import { inTurn } from "./turns.ts";

export type { SandboxRow } from "./queries.ts";

/** Milliseconds between two starts of rides in a sandbox, and from the creation of its city until the first. */
export const RIDE_INTERVAL_MS = 60_000;

/** The seed of a new sandbox's first city: the same seed makes the same city. */
const FIRST_SEED = 1;

/**
 * The limits of the API keys that a partner's people may make for its sandbox: `keys` at once, each for at most `days`,
 * with `rate_limit` requests of all of them in any 60 s.
 */
const TEST_KEYS = { scopes: [...scopeNames], rate_limit: 600, days: 365, keys: 10 };

/**
 * A partner, and a system that it is a partner of: the operator's own system or the partner's sandbox. The partner has the
 * same id in both.
 */
interface PartnerInSystem {
  readonly systemId: string;
  readonly partnerId: string;
}

/**
 * Creates a partner's sandbox, unless it has one. The partner belongs to the operator's own system, `liveSystemId`.
 * @throws ServiceError when there is no such partner, when the partner is an agency or suspended, or when the system is
 * itself a sandbox
 */
export function createSandbox(
  context: ActorContext,
  { systemId: liveSystemId, partnerId }: PartnerInSystem,
  seed = FIRST_SEED,
): Promise<{ readonly sandbox: SandboxRow; readonly created: boolean }> {
  return context.db.transaction(async (tx) => {
    // The lock makes two simultaneous requests create one sandbox, not two.
    const partner = await mustLock(tx, liveSystemId, partnerId);
    const held = await findSandboxOf(tx, liveSystemId, partnerId);
    if (held !== undefined) return { sandbox: held, created: false };
    if (partner.suspended_at !== null) throw commandError("conflict", "partnerSuspended", { partnerId });
    if (await isAgencyPartner(tx, liveSystemId, partnerId))
      throw commandError("conflict", "sandboxOfAgency", { partnerId });
    if ((await findSandbox(tx, liveSystemId)) !== undefined)
      throw commandError("conflict", "sandboxOfSandbox", { systemId: liveSystemId });
    const inTransaction = { ...context, db: tx };
    const systemId = context.ids.next("sandbox");
    const now = new Date(context.clock());
    const firstRideAt = new Date(now.getTime() + RIDE_INTERVAL_MS);
    await createSystem(tx, systemId, `${partner.name}: sandbox`, now.getTime());
    await createPartnerOfSandbox(inTransaction, systemId, partner, TEST_KEYS);
    const sandbox: SandboxRow = {
      system_id: systemId,
      live_system_id: liveSystemId,
      partner_id: partnerId,
      seed,
      created_at: now,
      reset_at: now,
      used_at: now,
      rides_at: firstRideAt,
      has_city: true,
      advanced_seconds: 0,
      faults: null,
      webhook_faults: null,
    };
    await insertSandbox(tx, sandbox);
    await describeDemoTypes(inTransaction, systemId);
    await describeRegions(inTransaction, systemId, sandboxCity(seed));
    await replaceCity(inTransaction, tx, systemId, seed);
    const detail = { sandbox: systemId, seed };
    await insertActOf(context, tx, { systemId: liveSystemId, action: "sandbox.created", subject: partnerId, detail });
    return { sandbox, created: true };
  });
}

/**
 * Returns the system id of a partner's sandbox, for a request to the partner's own system or to the sandbox; undefined when
 * the partner has none.
 */
export async function systemOfSandbox(
  { db }: Pick<CommandContext, "db">,
  { systemId, partnerId }: PartnerInSystem,
): Promise<string | undefined> {
  const sandbox = (await findSandbox(db, systemId)) ?? (await findSandboxOf(db, systemId, partnerId));
  return sandbox?.system_id;
}

/** Returns the state of a sandbox. */
export async function statusOf(context: Pick<CommandContext, "db">, systemId: string): Promise<SandboxStatus> {
  const { db } = context;
  const sandbox = await findSandbox(db, systemId);
  if (sandbox === undefined) throw new Error(`system ${systemId} is no sandbox`);
  const [stations, bikes, rides] = await Promise.all(
    (["stations", "bikes", "rides"] as const).map((list) => lengthOf(db, systemId, list)),
  );
  return {
    system_id: systemId,
    seed: sandbox.seed,
    reset_at: sandbox.reset_at.toISOString(),
    stations: stations ?? 0,
    bikes: bikes ?? 0,
    rides: rides ?? 0,
    max_rides: MAX_SANDBOX_RIDES,
  };
}

/**
 * Replaces a sandbox's city by a new one, when the sandbox's turn comes (`inTurn` lets a process do one act at a time
 * for all sandboxes). Keeps the answers for repeated requests, which a sweeper deletes later, because the sandbox is in
 * use.
 * @param seed the seed of the new city; the previous seed when left out
 */
export function resetSandbox(context: CommandContext, systemId: string, seed?: number): Promise<void> {
  const reset = async (tx: Transaction) => {
    await lockSandboxCity(tx, systemId);
    const sandbox = await findSandbox(tx, systemId);
    if (sandbox === undefined) throw new Error(`system ${systemId} is no sandbox`);
    const next = seed ?? sandbox.seed;
    await replaceCity({ ...context, db: tx }, tx, systemId, next);
    const now = context.clock();
    const rides_at = new Date(now + RIDE_INTERVAL_MS);
    await updateSandboxCity(tx, { ...sandbox, seed: next, reset_at: new Date(now), has_city: true, rides_at });
    await notifyFaultsEnded(tx, systemId);
  };
  return inTurn(context.db, systemId, () => context.db.transaction(reset));
}

/**
 * Deletes the city of an unused sandbox. The next use of the sandbox makes it again. Deletes the answers for repeated
 * requests too, because no sweeper does so in an unused sandbox. Takes no turn: the periodic work that calls it empties
 * one sandbox after another.
 */
export function emptySandbox(context: CommandContext, systemId: string): Promise<void> {
  return context.db.transaction(async (tx) => {
    await lockSandboxCity(tx, systemId);
    const sandbox = await findSandbox(tx, systemId);
    if (sandbox?.has_city !== true) return;
    await clearCity(context, tx, systemId);
    await deleteAnswers(tx, systemId);
    await updateSandboxCity(tx, { ...sandbox, has_city: false });
    await notifyFaultsEnded(tx, systemId);
  });
}

/**
 * Notifies every process that a sandbox has no faults any more. Processes cache with a key whether its sandbox has faults
 * of the API, so they must reload the keys. The second notification makes dispatchers reload the faults of deliveries.
 */
async function notifyFaultsEnded(tx: Transaction, systemId: string): Promise<void> {
  await notifyKeysChanged(tx, systemId);
  tx.notify("webhook_endpoints", systemId);
}

/**
 * Causes an event in a sandbox when its turn comes.
 * @throws ServiceError when the sandbox is full, too many acts wait, or the city lacks what the event needs
 */
export function triggerEvent(
  context: CommandContext,
  sandbox: PartnerInSystem,
  name: DeliveryName,
  stationId?: string,
): Promise<SandboxEvent> {
  return inTurn(context.db, sandbox.systemId, async () => {
    await requireRoom(context, sandbox.systemId);
    return causeEvent(context, new CityActs(context, sandbox), name, stationId);
  });
}

/** Requires that a sandbox has fewer than MAX_SANDBOX_RIDES rides. @throws ServiceError `sandbox_full` */
export async function requireRoom({ db }: Pick<CommandContext, "db">, systemId: string): Promise<void> {
  if ((await lengthOf(db, systemId, "rides")) >= MAX_SANDBOX_RIDES) throw serviceError("sandbox_full");
}

/** Minimum milliseconds between two records of a sandbox's use. Too low: writes a row with each request. */
const USE_INTERVAL_MS = 60_000;

/** Records that a sandbox is used now, so that its rides and deliveries go on. */
export function noteSandboxUse({ db, clock }: Pick<CommandContext, "db" | "clock">, systemId: string): Promise<void> {
  return updateSandboxUse(db, systemId, new Date(clock()), new Date(clock() - USE_INTERVAL_MS));
}

import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable, QueryRunner, Transaction } from "../../storage/db/database.ts";
import { giveOwnShard } from "../../storage/distribution/own-shard.ts";
import {
  type AnySystemRow,
  findSystemName,
  insertSystem,
  listLiveSystems,
  listSystems,
  listSystemsAtWork,
  type SystemAtWork,
  type SystemRow,
  updateSystemName,
} from "./queries.ts";

/*
 * Creates, names and lists systems, and finds the system that a command works on.
 */

export type { SystemAtWork, SystemRow } from "./queries.ts";

/**
 * Creates a system on behalf of an actor, with its own shard if the database is distributed.
 * @returns false when there is a system with this id already
 */
export async function addSystem(context: ActorContext, systemId: string, name: string): Promise<boolean> {
  const isMade = await context.db.transaction(async (tx) => {
    if (!(await createSystem(tx, systemId, name, context.clock()))) return false;
    await insertActOf(context, tx, { systemId, action: "system.created", subject: systemId, detail: { name } });
    return true;
  });
  if (isMade) await giveOwnShard(context.db, systemId);
  return isMade;
}

/** Creates a system, without an audit entry or its own shard. @returns false when there is a system with this id already */
export function createSystem(db: Queryable, systemId: string, name: string, now: number): Promise<boolean> {
  return insertSystem(db, { system_id: systemId, name, created_at: new Date(now) });
}

/** Returns the operator's systems, without partners' sandboxes, oldest first. */
export function systemsOf(db: Queryable): Promise<SystemRow[]> {
  return listLiveSystems(db);
}

/** Returns every system, sandboxes too, oldest first. */
export function everySystemOf(db: Queryable): Promise<AnySystemRow[]> {
  return listSystems(db);
}

/**
 * Milliseconds for which background work on a sandbox goes on after its last use. Too low: a tester who waits for a delivery
 * gets none. Too high: unused sandboxes cost as much as used ones.
 */
export const SANDBOX_AWAKE_MS = 3_600_000;

/** Returns the systems that background work is for: those of the operator, and the sandboxes in use. */
export function systemsAtWork(db: Queryable, now: number): Promise<SystemAtWork[]> {
  return listSystemsAtWork(db, new Date(now - SANDBOX_AWAKE_MS));
}

/**
 * Returns the system that a command works on. A system that is the only one need not be named. When there is none, creates a
 * system with the id `firstId`.
 * @throws Error when the named system does not exist, or when there are several systems and none is named
 */
export async function resolveSystem(
  context: ActorContext,
  named: string | undefined,
  firstId: string,
): Promise<string> {
  const ids = (await listLiveSystems(context.db)).map((system) => system.system_id);
  if (named !== undefined) {
    if (await hasSystem(context.db, named)) return named;
    throw commandError("not_found", "systemOption", { id: named, ids: ids.join(", ") || "none" });
  }
  const [only, ...others] = ids;
  if (only === undefined) {
    await addSystem(context, firstId, firstId);
    return firstId;
  }
  if (others.length > 0) throw commandError("conflict", "severalSystems", { ids: ids.join(", ") });
  return only;
}

/** Returns the name under which a system is listed; undefined without such a system. */
export function nameOfSystem(db: QueryRunner, systemId: string): Promise<string | undefined> {
  return findSystemName(db, systemId);
}

/** Tells whether a system exists. A sandbox counts, too. */
export async function hasSystem(db: QueryRunner, systemId: string): Promise<boolean> {
  return (await findSystemName(db, systemId)) !== undefined;
}

/** Changes the name under which a system is listed. */
export function renameSystem(tx: Transaction, systemId: string, name: string): Promise<void> {
  return updateSystemName(tx, systemId, name);
}

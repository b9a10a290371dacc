import { systemsOf } from "../../city/systems/service.ts";
import type { Database, Queryable } from "../db/database.ts";
import { missingFor, tableSteps } from "./distribution.rules.ts";
import { firstSystemTable, giveOwnShard, sharesShard } from "./own-shard.ts";
import {
  type DatabaseNode,
  deleteLocalRows,
  findExtension,
  findServerState,
  insertExtension,
  listDistributedTables,
  listNodes,
  type ServerState,
  updateDatabaseSettings,
  updateToReference,
  updateToSystem,
} from "./queries.ts";
import { readTableKinds } from "./table-kinds.ts";

/*
 * Distributes a database over several servers with Citus. A reference table is copied to every node. A system table is split
 * by `system_id`: the rows of each system are in one shard, on one node. The shards of all system tables are beside those of
 * the first, so that a node has a system's rows of all tables.
 */

export type { DatabaseNode } from "./queries.ts";

/** How far a database with the extension Citus is distributed over several servers. */
export interface DistributionState {
  /** Tables that only the coordinator has. */
  readonly undistributed: readonly string[];
  /** Systems that share a shard with other systems. */
  readonly sharing: readonly string[];
  readonly nodes: readonly DatabaseNode[];
}

/** Returns how far a database is distributed; undefined: it does not have the extension. */
export async function examineDistribution(db: Database): Promise<DistributionState | undefined> {
  if (!(await findExtension(db))) return undefined;
  const { referenceTables, systemTables } = tableSteps(await readTableKinds(), await listDistributedTables(db));
  const sharing: string[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    if (await sharesShard(db, systemId)) sharing.push(systemId);
  }
  return { undistributed: [...referenceTables, ...systemTables], sharing, nodes: await listNodes(db) };
}

/**
 * The initial number of shards. One is enough, because each system gets a separate shard. A further shard would be another
 * table on disk for each of our tables and for each of their days.
 */
const FIRST_SHARDS = 1;

/** The changes that `distribute` has made, or that `planDistribution` expects. */
interface Distribution {
  /** Whether the extension is newly created. */
  readonly extension: boolean;
  /** Tables that are newly distributed. */
  readonly tables: readonly string[];
  /** Systems that newly get a separate shard. */
  readonly systems: readonly string[];
}

/** Called with the name of each step before the step begins. */
type OnStep = (step: string) => void;

/**
 * Distributes a migrated database. Each step is a separate transaction, and completed steps are skipped: call it again after
 * an interruption.
 * @throws Error with the missing requirements
 */
export async function distribute(db: Database, onStep: OnStep): Promise<Distribution> {
  const { is_created: isCreated } = await readyState(db);
  if (!isCreated) {
    onStep("the extension");
    await insertExtension(db);
  }
  const tables = await distributeTables(db, onStep);
  // Gives the nodes' sessions the settings of our own, such as UTC.
  await updateDatabaseSettings(db);
  const systems: string[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    onStep(`system ${systemId}`);
    if (await giveOwnShard(db, systemId)) systems.push(systemId);
  }
  return { extension: !isCreated, tables, systems };
}

/** Returns the steps that `distribute` would take. @throws Error as `distribute` does */
export async function planDistribution(db: Database): Promise<Distribution> {
  const kinds = await readTableKinds();
  const { is_created: isCreated } = await readyState(db);
  const systems = (await systemsOf(db)).map((system) => system.system_id);
  if (!isCreated) return { extension: true, tables: [...kinds.keys()], systems };
  const steps = tableSteps(kinds, await listDistributedTables(db));
  // All system tables are colocated with the first one, so without it no system has a shard yet.
  const isBegun = !steps.systemTables.includes(await firstSystemTable());
  const sharing: string[] = [];
  for (const systemId of systems) if (!isBegun || (await sharesShard(db, systemId))) sharing.push(systemId);
  return { extension: false, tables: [...steps.referenceTables, ...steps.systemTables], systems: sharing };
}

/** Returns the state of a server that has all that is needed. @throws Error with the missing requirements */
async function readyState(db: Database): Promise<ServerState> {
  const state = await findServerState(db);
  const missing = missingFor(state);
  if (missing.length > 0) throw new Error(["This database cannot be distributed yet:", ...missing].join("\n- "));
  return state;
}

/** Distributes the remaining tables of a database that has the extension. @returns the names of these tables */
export async function distributeTables(db: Queryable, onStep: OnStep = () => undefined): Promise<string[]> {
  const kinds = await readTableKinds();
  const steps = tableSteps(kinds, await listDistributedTables(db));
  const first = await firstSystemTable();
  const done: string[] = [];
  for (const table of steps.referenceTables) {
    onStep(table);
    await updateToReference(db, table);
    done.push(table);
  }
  for (const table of steps.systemTables) {
    onStep(table);
    await updateToSystem(db, table, table === first ? { shards: FIRST_SHARDS } : { beside: first });
    done.push(table);
  }
  // The distribution has copied the rows to the shards, and left the old ones on the coordinator, where no query sees them.
  // This frees their space, also in tables of earlier runs that were interrupted before.
  for (const table of kinds.keys()) await deleteLocalRows(db, table);
  return done;
}

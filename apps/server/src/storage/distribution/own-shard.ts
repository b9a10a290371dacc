import type { Queryable } from "../db/database.ts";
import { tablesOfKind } from "./distribution.rules.ts";
import { findExtension, findOwnShard, listDistributedTables, updateToOwnShard } from "./queries.ts";
import { readTableKinds } from "./table-kinds.ts";

/**
 * Gives a system a shard of its own of every table, so that it can lie on a machine, and be moved to another, by itself.
 * @returns false: the database is not distributed, or the system has one
 */
export async function giveOwnShard(db: Queryable, systemId: string): Promise<boolean> {
  if (!(await findExtension(db)) || !(await sharesShard(db, systemId))) return false;
  await updateToOwnShard(db, await firstSystemTable(), systemId);
  return true;
}

/** Whether a system of a database that has the extension lies beside others in the shards of distributed tables. */
export async function sharesShard(db: Queryable, systemId: string): Promise<boolean> {
  const table = await firstSystemTable();
  return (await listDistributedTables(db)).has(table) && !(await findOwnShard(db, table, systemId));
}

/** The table beside whose shards those of every other system table lie: what is done to its shards is done to theirs. */
export async function firstSystemTable(): Promise<string> {
  const [first] = tablesOfKind(await readTableKinds(), "system");
  if (first === undefined) throw new Error("no migration creates a system table");
  return first;
}

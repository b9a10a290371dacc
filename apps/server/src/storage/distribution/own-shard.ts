import type { Queryable } from "../db/database.ts";
import { tablesOfKind } from "./distribution.rules.ts";
import { findExtension, findOwnShard, listDistributedTables, updateToOwnShard } from "./queries.ts";
import { readTableKinds } from "./table-kinds.ts";

/*
 * Finds out whether a system has shards of its own in a database that Citus distributes. A system table has rows of all
 * systems and is split by system into shards; all system tables are split alike (colocated).
 */

/**
 * Gives a system a separate shard of every system table, so that it can be placed on, and moved to, any node.
 * @returns false when the database is not distributed, or the system has separate shards already
 */
export async function giveOwnShard(db: Queryable, systemId: string): Promise<boolean> {
  if (!(await findExtension(db)) || !(await sharesShard(db, systemId))) return false;
  await updateToOwnShard(db, await firstSystemTable(), systemId);
  return true;
}

/** Tells whether a system shares its shards with other systems. The database must have the extension. */
export async function sharesShard(db: Queryable, systemId: string): Promise<boolean> {
  const table = await firstSystemTable();
  return (await listDistributedTables(db)).has(table) && !(await findOwnShard(db, table, systemId));
}

/** Returns the table with which all other system tables are colocated. What is done to its shards is done to theirs, too. */
export async function firstSystemTable(): Promise<string> {
  const [first] = tablesOfKind(await readTableKinds(), "system");
  if (first === undefined) throw new Error("no migration creates a system table");
  return first;
}

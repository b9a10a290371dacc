import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { addDays, partitionOf } from "./partition.ts";

const partitions = statement(
  "eventPartitions.all",
  `select c.relname::text as name
   from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'events'::regclass order by c.relname`,
);

const forgetCounts = statement(
  "eventPartitions.forgetCounts",
  "delete from event_counts where system_id = $1 and recorded_on = $2::date",
);

/** The names of the partitions there are. */
export async function readPartitions(db: Queryable): Promise<string[]> {
  return (await db.query<{ name: string }>(partitions)).map(({ name }) => name);
}

/** Lets one transaction at a time change the set of partitions. Nobody who reads or writes events waits for it. */
export async function lockPartitions(tx: Transaction): Promise<void> {
  await tx.run("lock table only events in share update exclusive mode");
}

/**
 * Makes a day's partition, with the index that leads to what a partner may see (`slice` in queries.ts). Made by the side and attached, because `create table … partition of` would wait for
 * everybody who reads events, and hold up all who come after.
 */
export async function insertPartition(tx: Transaction, day: string): Promise<void> {
  const name = partitionOf(day);
  await tx.run(`create table ${name} (like events)`);
  await tx.run(`alter table events attach partition ${name} for values from ('${day}') to ('${addDays(day, 1)}')`);
}

/** Forgets how many events a system had on a day. */
export async function deleteDayCounts(tx: Transaction, systemId: string, day: string): Promise<void> {
  await tx.query(forgetCounts, [systemId, day]);
}

/**
 * Drops a day's partition. It needs the whole of `events` for an instant, and gives up when it does not get it in
 * `patience` milliseconds: as long as it waits, readers wait behind it.
 */
export async function dropPartition(tx: Transaction, day: string, patience: number): Promise<void> {
  await tx.run(`set local lock_timeout = ${patience}`);
  await tx.run(`drop table if exists ${partitionOf(day)}`);
}

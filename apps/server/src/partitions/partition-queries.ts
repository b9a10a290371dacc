import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";
import { addDays, type DailyTable, defaultOf, type Dependent, partitionOf } from "./partition.rules.ts";

const partitions = statement(
  "partitions.all",
  `select c.relname::text as name
   from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = $1::text::regclass order by c.relname`,
);

// The names of tables and columns come from partition.rules.ts: no statement can take them as values.
const forget = ({ table, day }: Dependent): Statement =>
  statement(
    `partitions.forget.${table}`,
    `with gone as (delete from ${table} where system_id = $1 and ${day} = $2::date returning 1)
     select count(*) as n from gone`,
  );
const forgetSome = ({ table, day }: Dependent): Statement =>
  statement(`partitions.forgetSome.${table}`, deleteSome(table, day));
const hasDay = (table: DailyTable): Statement =>
  statement(
    `partitions.hasDay.${table.name}`,
    `select exists (select from ${defaultOf(table)} where system_id = $1 and ${table.day} = $2::date) as found`,
  );
const firstBefore = (table: DailyTable): Statement =>
  statement(
    `partitions.firstBefore.${table.name}`,
    `select min(${table.day}) as day from ${defaultOf(table)} where system_id = $1 and ${table.day} < $2::date`,
  );
const deleteOfDay = (table: DailyTable): Statement =>
  statement(`partitions.deleteOfDay.${table.name}`, deleteSome(defaultOf(table), table.day));

/** Rows that others hold locked stay: they are found again by the next look. */
function deleteSome(table: string, day: string): string {
  return `with old as materialized (
      select ctid from ${table} where system_id = $1 and ${day} = $2::date limit $3 for update skip locked),
    gone as (
      delete from ${table} where system_id = $1 and ctid = any(array(select ctid from old)) returning 1)
    select count(*) as n from gone`;
}

/** The names of the partitions that a table has. */
export async function listPartitions(db: Queryable, { name }: DailyTable): Promise<string[]> {
  return (await db.query<{ name: string }>(partitions, [name])).map((row) => row.name);
}

/** Lets one transaction at a time change a table's partitions. Nobody who reads or writes rows waits for it. */
export async function lockPartitions(tx: Transaction, { name }: DailyTable): Promise<void> {
  await tx.run(`lock table only ${name} in share update exclusive mode`);
}

/** Keeps everybody from a table's default partition until the transaction ends. */
export async function lockDefault(tx: Transaction, table: DailyTable): Promise<void> {
  await tx.run(`lock table ${defaultOf(table)} in access exclusive mode`);
}

/**
 * From here on the transaction gives up, with the code 55P03, a lock that it does not get in so many milliseconds: as
 * long as it waits for one, all who come after wait behind it.
 */
export async function updateLockTimeout(tx: Transaction, milliseconds: number): Promise<void> {
  await tx.run(`set local lock_timeout = ${milliseconds}`);
}

/** From here on the transaction gives up, with the code 57014, a statement that takes longer than so many milliseconds. */
export async function updateStatementTimeout(tx: Transaction, milliseconds: number): Promise<void> {
  await tx.run(`set local statement_timeout = ${milliseconds}`);
}

/**
 * Makes a day's partition, with all indexes and checks of its table. Made by the side and attached, because `create
 * table … partition of` would wait for everybody who reads the table, and hold up all who come after. Beside a default
 * partition that is read through, to see that it has no row of that day: `lockDefault` first.
 */
export async function insertPartition(tx: Transaction, table: DailyTable, day: string): Promise<void> {
  const name = partitionOf(table, day);
  await tx.run(`create table ${name} (like ${table.name} including defaults including constraints)`);
  await tx.run(
    `alter table ${table.name} attach partition ${name} for values from ('${day}') to ('${addDays(day, 1)}')`,
  );
}

/** Drops a day's partition. It needs the whole of the table, and its default partition, for an instant. */
export async function deletePartition(tx: Transaction, table: DailyTable, day: string): Promise<void> {
  await tx.run(`drop table if exists ${partitionOf(table, day)}`);
}

/** Whether a system has rows of a day in the table's default partition. */
export async function findInDefault(db: Queryable, table: DailyTable, systemId: string, day: string): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(hasDay(table), [systemId, day])).found;
}

/** The first day before `day` of which a system has rows in the table's default partition; null: none. */
export async function findFirstDayInDefault(
  db: Queryable,
  table: DailyTable,
  systemId: string,
  day: string,
): Promise<string | null> {
  return oneRow(await db.query<{ day: string | null }>(firstBefore(table), [systemId, day])).day;
}

/** Deletes a system's rows of a day from the table's default partition, `limit` at most. @returns how many */
export async function deleteFromDefault(
  db: Queryable,
  table: DailyTable,
  systemId: string,
  day: string,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deleteOfDay(table), [systemId, day, limit])).n;
}

/** Deletes what a system has in another table that tells of a day. @returns how many rows */
export async function deleteDependents(
  db: Queryable,
  dependent: Dependent,
  systemId: string,
  day: string,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(forget(dependent), [systemId, day])).n;
}

/** The same for `limit` rows at most, and none that others hold locked. @returns how many */
export async function deleteSomeDependents(
  db: Queryable,
  dependent: Dependent,
  systemId: string,
  day: string,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(forgetSome(dependent), [systemId, day, limit])).n;
}

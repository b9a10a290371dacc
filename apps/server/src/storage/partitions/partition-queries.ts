import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";
import { type DailyTable, type DayColumn, defaultOf, endOf, partitionOf } from "./partition.rules.ts";

/*
 * Statements for the partitions of the daily tables. The audit log may belong to another role than the service's
 * (audit-owner-queries.ts). Then functions of that role create and drop its partitions, because only the owner of a table
 * can.
 */

/** Lists the names of a table's partitions, that of the default one included. */
const partitions = statement(
  "partitions.all",
  `select c.relname::text as name
   from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = $1::text::regclass order by c.relname`,
);

// Names of tables and columns are part of the text, because a statement cannot take them as values. All of them come from
// partition.rules.ts.
const deleteDay = ({ table, day }: DayColumn): Statement =>
  statement(`partitions.deleteDay.${table}`, `delete from ${table} where system_id = $1 and ${day} = $2::date`);
// Rows that other transactions have locked stay: the next run finds them again.
const deleteBatch = ({ table, day }: DayColumn): Statement =>
  statement(
    `partitions.deleteBatch.${table}`,
    `with old as materialized (
       select ctid from ${table} where system_id = $1 and ${day} = $2::date limit $3 for update skip locked),
     gone as (
       delete from ${table} where system_id = $1 and ctid = any(array(select ctid from old)) returning 1)
     select count(*) as n from gone`,
  );
const hasRows = ({ table, day }: DayColumn): Statement =>
  statement(
    `partitions.hasDays.${table}`,
    `select exists (
       select from ${table} where system_id = $1 and ${day} >= $2::date and ${day} < $3::date) as found`,
  );
const firstBefore = ({ table, day }: DayColumn): Statement =>
  statement(
    `partitions.firstBefore.${table}`,
    `select min(${day}) as day from ${table} where system_id = $1 and ${day} < $2::date`,
  );

/** Returns the names of the partitions that a table has, that of the default one included. */
export async function listPartitions(db: Queryable, { name }: DailyTable): Promise<string[]> {
  return (await db.query<{ name: string }>(partitions, [name])).map((row) => row.name);
}

const functions = statement(
  "partitions.functions",
  "select to_regprocedure($1::text || '_create_month(date)') is not null as found",
);

/** Tells whether another role owns a table and provides the functions that create and drop its partitions. */
export async function findHasOwnFunctions(db: Queryable, { name, isAppendOnly }: DailyTable): Promise<boolean> {
  return isAppendOnly === true && oneRow(await db.query<{ found: boolean }>(functions, [name])).found;
}

/** Lets one transaction at a time change a table's partitions. Statements that read or write rows do not wait for it. */
export async function lockPartitions(tx: Transaction, table: DailyTable): Promise<void> {
  const { name } = table;
  // Before PostgreSQL 17 `lock table` needs a right to change rows, which is withheld here. `comment on` takes the same lock
  // and needs only the table's owner. Where another role owns the table, our role has the right `maintain`, which suffices.
  if (table.isAppendOnly === true && !(await findHasOwnFunctions(tx, table)))
    await tx.run(`comment on table ${name} is null`);
  else await tx.run(`lock table only ${name} in share update exclusive mode`);
}

/** Blocks all reads and writes of a table's default partition until the transaction ends. */
export async function lockDefault(tx: Transaction, table: DailyTable): Promise<void> {
  await tx.run(`lock table ${defaultOf(table)} in access exclusive mode`);
}

/**
 * Makes the transaction fail, with code 55P03, when it waits for a lock for longer than `milliseconds`. While it waits,
 * later statements on the same table wait behind it.
 */
export async function updateLockTimeout(tx: Transaction, milliseconds: number): Promise<void> {
  await tx.run(`set local lock_timeout = ${milliseconds}`);
}

/** Makes the transaction fail, with code 57014, when one of its statements takes longer than `milliseconds`. */
export async function updateStatementTimeout(tx: Transaction, milliseconds: number): Promise<void> {
  await tx.run(`set local statement_timeout = ${milliseconds}`);
}

/**
 * Creates the partition that begins on a day, with all indexes and checks of its table. Creates a table and then attaches
 * it, because `create table … partition of` would wait for all readers of the parent table, and all later statements would
 * wait behind it. Attaching searches the whole default partition, if there is one, for rows of that day: call `lockDefault`
 * first.
 */
export async function insertPartition(tx: Transaction, table: DailyTable, day: string): Promise<void> {
  const name = partitionOf(table, day);
  if (await findHasOwnFunctions(tx, table)) {
    await tx.run(`select ${table.name}_create_month('${day}')`);
    return;
  }
  const storage = `with (fillfactor = ${table.fillfactor ?? 100})`;
  await tx.run(
    `create table ${name} (like ${table.name} including defaults including constraints including generated) ${storage}`,
  );
  await tx.run(
    `alter table ${table.name} attach partition ${name} for values from ('${day}') to ('${endOf(table, day)}')`,
  );
  // The rights on the parent table do not apply to a statement that names the partition itself.
  if (table.isAppendOnly === true) await tx.run(`revoke update, delete, truncate on ${name} from current_user`);
}

/** Drops the partition that begins on a day. Briefly blocks all reads and writes of the table and its default partition. */
export async function deletePartition(tx: Transaction, table: DailyTable, day: string): Promise<void> {
  const name = partitionOf(table, day);
  if (await findHasOwnFunctions(tx, table)) await tx.run(`select ${table.name}_drop_month('${day}')`);
  else await tx.run(`drop table if exists ${name}`);
}

/** Tells whether a system has rows of the days from `day` up to, but not including, `end`. */
export async function findHasRows(
  db: Queryable,
  column: DayColumn,
  systemId: string,
  day: string,
  end: string,
): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(hasRows(column), [systemId, day, end])).found;
}

/** Returns the earliest day before `day` that a system has rows of; null: there is none. */
export async function findFirstDay(
  db: Queryable,
  column: DayColumn,
  systemId: string,
  day: string,
): Promise<string | null> {
  return oneRow(await db.query<{ day: string | null }>(firstBefore(column), [systemId, day])).day;
}

/** Deletes a system's rows of a day. */
export async function deleteRowsOfDay(db: Queryable, column: DayColumn, systemId: string, day: string): Promise<void> {
  await db.query(deleteDay(column), [systemId, day]);
}

/**
 * Deletes up to `limit` of a system's rows of a day, and skips rows that other transactions have locked. @returns how
 * many
 */
export async function deleteSomeRowsOfDay(
  db: Queryable,
  column: DayColumn,
  systemId: string,
  day: string,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deleteBatch(column), [systemId, day, limit])).n;
}

/**
 * Deletes up to `limit` of a system's rows of a day from the default partition, by a function of the table's owner, which
 * deletes nothing of a day within the retention period. @returns how many
 */
export async function deleteSomePastRows(
  db: Queryable,
  { name }: DailyTable,
  systemId: string,
  day: string,
  limit: number,
): Promise<number> {
  const text = `select ${name}_delete_past($1, $2::date, $3::integer) as n`;
  return oneRow(await db.query<{ n: number }>(statement("", text), [systemId, day, limit])).n;
}

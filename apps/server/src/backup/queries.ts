import type { Readable } from "node:stream";
import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";

/** The rows of a table as text, without the columns that the database generates. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

const foreignKeys = statement(
  "backup.foreignKeys",
  `select conrelid::regclass::text as "table", confrelid::regclass::text as refers_to
   from pg_constraint where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace`,
);
const copiedTables = statement(
  "backup.copiedTables",
  `select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     and a.attgenerated = ''
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname <> 'migrations'
   group by c.relname order by c.relname collate "C"`,
);
const now = statement("backup.now", "select date_trunc('milliseconds', now()) as at");

/**
 * Makes all that the transaction reads the data of one instant, which `findInstant` then gives. Must come first. Rows may be
 * written meanwhile; no partition may be dropped.
 */
export async function lockForReading(tx: Transaction, tables: readonly string[]): Promise<void> {
  await tx.run("set transaction isolation level repeatable read, read only");
  await tx.run(`lock table ${tables.map(quoted).join(", ")} in access share mode`);
}

/** Every table that the database has, but the list of migrations, which migrating writes. */
export function listCopiedTables(db: Queryable): Promise<CopiedTable[]> {
  return db.query(copiedTables);
}

/** When the transaction began. */
export async function findInstant(tx: Transaction): Promise<Date> {
  return oneRow(await tx.query<{ at: Date }>(now)).at;
}

/** A stream of a table's rows, of all its partitions. */
export function copyOut(tx: Transaction, { name, columns }: CopiedTable): Promise<Readable> {
  return tx.copyOut(`copy (select ${columns.map(quoted).join(", ")} from ${quoted(name)}) to stdout`);
}

/** A stream into a table. */
export function copyIn(tx: Transaction, { name, columns }: CopiedTable): Promise<NodeJS.WritableStream> {
  return tx.copyIn(`copy ${quoted(name)} (${columns.map(quoted).join(", ")}) from stdin`);
}

/** The first of the tables that has rows. */
export async function findTableWithRows(db: Queryable, tables: readonly string[]): Promise<string | undefined> {
  const parts = tables.map((name, index) => `select ${index} as n where exists (select from ${quoted(name)})`);
  const [found] = await db.query<{ n: number }>(statement("", `${parts.join(" union all ")} limit 1`));
  return found === undefined ? undefined : tables[found.n];
}

/** Which tables refer to which. */
export function listForeignKeys(db: Queryable): Promise<{ readonly table: string; readonly refers_to: string }[]> {
  return db.query(foreignKeys);
}

/** Lets the planner and index-only scans know of rows that were just copied. */
export async function updateStatistics(db: Queryable, tables: readonly string[]): Promise<void> {
  await db.query(statement("", `vacuum (analyze) ${tables.map(quoted).join(", ")}`));
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

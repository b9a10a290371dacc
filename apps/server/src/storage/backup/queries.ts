import type { Readable } from "node:stream";
import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";

/** The rows of a table as text, without the columns that the database generates. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Memory for sorting one index. Beyond it PostgreSQL uses temporary files. */
const INDEX_MEMORY = "256MB";

const indexes = statement(
  "backup.indexes",
  `select i.indrelid::regclass::text as "table", i.indexrelid::regclass::text as name,
     -- of a partitioned table it would be one without those of the partitions
     regexp_replace(pg_get_indexdef(i.indexrelid), '^(CREATE (UNIQUE )?INDEX \\S+ ON) ONLY ', '\\1 ') as definition
   from pg_index i join pg_class t on t.oid = i.indrelid
   where t.relnamespace = current_schema()::regnamespace and not t.relispartition and pg_has_role(t.relowner, 'member')
     and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))
   order by i.indexrelid`,
);
const constraints = statement(
  "backup.constraints",
  `select conrelid::regclass::text as "table", quote_ident(conname) as name, contype = 'f' as "isForeignKey",
     pg_get_constraintdef(oid) as definition
   from pg_constraint
   where contype in ('p', 'u', 'x', 'f') and conparentid = 0 and connamespace = current_schema()::regnamespace
     and pg_has_role((select relowner from pg_class where pg_class.oid = conrelid), 'member')
   order by oid`,
);
const copiedTables = statement(
  "backup.copiedTables",
  `select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     and a.attgenerated = ''
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname not in ('migrations', 'trip_upload_parts')
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

/**
 * Every table that the database has, but the list of migrations, which migrating writes, and the bytes of files that are about
 * to be imported, which may be many and are sent again.
 */
export function listCopiedTables(db: Queryable): Promise<CopiedTable[]> {
  return db.query(copiedTables);
}

/** When the transaction began. */
export async function findInstant(tx: Transaction): Promise<Date> {
  return oneRow(await tx.query<{ at: Date }>(now)).at;
}

/** Returns a stream of a table's rows, of all its partitions. */
export function copyOut(tx: Transaction, { name, columns }: CopiedTable): Promise<Readable> {
  return tx.copyOut(`copy (select ${columns.map(quoted).join(", ")} from ${quoted(name)}) to stdout`);
}

/** Returns a stream into a table. */
export function copyIn(tx: Transaction, { name, columns }: CopiedTable): Promise<NodeJS.WritableStream> {
  return tx.copyIn(`copy ${quoted(name)} (${columns.map(quoted).join(", ")}) from stdin`);
}

/**
 * Drops every index, key and foreign key of the tables that this role owns, which are all but the audit log where that
 * belongs to another: to make one of all rows at once takes a fraction of the time that
 * adding each row to it takes.
 * @returns makes them again, as they were
 */
export async function deleteIndexes(tx: Transaction): Promise<() => Promise<void>> {
  const plain = await tx.query<{ name: string; definition: string }>(indexes);
  const all = await tx.query<{ table: string; name: string; isForeignKey: boolean; definition: string }>(constraints);
  // A foreign key needs the key that it refers to.
  const foreign = all.filter(({ isForeignKey }) => isForeignKey);
  const keys = all.filter(({ isForeignKey }) => !isForeignKey);
  for (const { table, name } of [...foreign, ...keys]) await tx.run(`alter table ${table} drop constraint ${name}`);
  for (const { name } of plain) await tx.run(`drop index ${name}`);
  return async () => {
    await tx.run(`set local maintenance_work_mem = '${INDEX_MEMORY}'`);
    const add = ({ table, name, definition }: (typeof all)[number]) =>
      tx.run(`alter table ${table} add constraint ${name} ${definition}`);
    for (const key of keys) await add(key);
    for (const { definition } of plain) await tx.run(definition);
    for (const key of foreign) await add(key);
  };
}

/** Returns the first of the tables that has rows. */
export async function findTableWithRows(db: Queryable, tables: readonly string[]): Promise<string | undefined> {
  const parts = tables.map((name, index) => `select ${index} as n where exists (select from ${quoted(name)})`);
  const [found] = await db.query<{ n: number }>(statement("", `${parts.join(" union all ")} limit 1`));
  return found === undefined ? undefined : tables[found.n];
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

import type { Readable } from "node:stream";
import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";

/** A table that is backed up, and its columns, without those that the database generates. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Memory for sorting one index. If it needs more, PostgreSQL uses temporary files. */
const INDEX_MEMORY = "256MB";

// Leaves out the indexes of keys and exclusion constraints: those belong to `constraints`, and cannot be dropped alone.
const indexes = statement(
  "backup.indexes",
  `select i.indrelid::regclass::text as "table", i.indexrelid::regclass::text as name,
     -- ONLY would create an index on a partitioned table without the indexes on its partitions
     regexp_replace(pg_get_indexdef(i.indexrelid), '^(CREATE (UNIQUE )?INDEX \\S+ ON) ONLY ', '\\1 ') as definition
   from pg_index i join pg_class t on t.oid = i.indrelid
   where t.relnamespace = current_schema()::regnamespace and not t.relispartition and pg_has_role(t.relowner, 'member')
     and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))
   order by i.indexrelid`,
);
// `contype`: p is a primary key, u a unique, x an exclusion and f a foreign key constraint. `conparentid = 0` leaves
// out the constraints of partitions, which come and go with their parents'.
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
 * Makes a transaction read one snapshot, taken by its first query after this call. Must be the transaction's first call.
 * Rows may be written meanwhile, but no partition can be dropped.
 */
export async function lockForReading(tx: Transaction, tables: readonly string[]): Promise<void> {
  await tx.run("set transaction isolation level repeatable read, read only");
  await tx.run(`lock table ${tables.map(quoted).join(", ")} in access share mode`);
}

/**
 * Lists the tables of the database. Leaves out the table of migrations, which `migrate` writes at a restore, and the content
 * of uploaded files before their import, which may be large and can be uploaded again.
 */
export function listCopiedTables(db: Queryable): Promise<CopiedTable[]> {
  return db.query(copiedTables);
}

/** Returns the time at which the transaction began. Its snapshot is not older. */
export async function findInstant(tx: Transaction): Promise<Date> {
  return oneRow(await tx.query<{ at: Date }>(now)).at;
}

/** Returns a stream of a table's rows, including all its partitions. */
export function copyOut(tx: Transaction, { name, columns }: CopiedTable): Promise<Readable> {
  return tx.copyOut(`copy (select ${columns.map(quoted).join(", ")} from ${quoted(name)}) to stdout`);
}

/** Returns a stream into a table. */
export function copyIn(tx: Transaction, { name, columns }: CopiedTable): Promise<NodeJS.WritableStream> {
  return tx.copyIn(`copy ${quoted(name)} (${columns.map(quoted).join(", ")}) from stdin`);
}

/**
 * Drops every index, key and foreign key of the tables that this role owns: all tables, except for the audit log if that
 * belongs to another role. Creating an index for all rows at once takes a fraction of the time of adding row after row.
 * @returns a function that creates the same indexes and keys again
 */
export async function deleteIndexes(tx: Transaction): Promise<() => Promise<void>> {
  const plain = await tx.query<{ name: string; definition: string }>(indexes);
  const all = await tx.query<{ table: string; name: string; isForeignKey: boolean; definition: string }>(constraints);
  // Foreign keys are dropped first and created last, because each needs the key that it refers to.
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

/** Returns one of the tables that has rows; undefined: none has. */
export async function findTableWithRows(db: Queryable, tables: readonly string[]): Promise<string | undefined> {
  const parts = tables.map((name, index) => `select ${index} as n where exists (select from ${quoted(name)})`);
  // The empty name: PostgreSQL does not keep the statement, which is run once.
  const [found] = await db.query<{ n: number }>(statement("", `${parts.join(" union all ")} limit 1`));
  return found === undefined ? undefined : tables[found.n];
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

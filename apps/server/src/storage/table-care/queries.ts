import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";

/** A table of which PostgreSQL knows too little. */
export interface NeglectedTable {
  readonly name: string;
  /** 8 KiB pages. */
  readonly pages: number;
}

/*
 * Tables that were never analysed; those of which a tenth has changed since; and those of which index-only scans must read more
 * than a tenth of the rows. Autovacuum finds the first two within a minute and the third only where many rows came: with 2 % of
 * new rows or 20 % of changed ones. Parts of partitioned tables are among them, and so are only tables that we may vacuum.
 */
const neglected = statement(
  "tableCare.neglected",
  `select c.relname::text as name, (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as pages
   from pg_class c join pg_stat_user_tables s on s.relid = c.oid
   where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_has_role(c.relowner, 'usage')
     and not pg_is_in_recovery()
     and pg_relation_size(c.oid) >= $1::int * current_setting('block_size')::int
     and (c.reltuples < 0
       or s.n_mod_since_analyze > greatest(1000, c.reltuples / 10)
       or c.relallvisible < 0.9 * pg_relation_size(c.oid) / current_setting('block_size')::int)
   order by pages, name`,
);

/** Tables of at least so many pages that need care, the small ones first. */
export function listNeglectedTables(
  db: QueryRunner,
  { minPages }: { readonly minPages: number },
): Promise<NeglectedTable[]> {
  return db.query<NeglectedTable>(neglected, [minPages]);
}

const ownProcess = statement("tableCare.ownProcess", "select pg_backend_pid() as pid");

/** PostgreSQL's process of the one connection of a pool. */
export async function findProcess(db: QueryRunner): Promise<number> {
  return oneRow(await db.query<{ pid: number }>(ownProcess)).pid;
}

const cancelStatement = statement("tableCare.cancel", "select pg_cancel_backend($1::int) as done");

/** Cancels the statement of a process of ours. */
export async function notifyToCancel(db: QueryRunner, pid: number): Promise<void> {
  await db.query(cancelStatement, [pid]);
}

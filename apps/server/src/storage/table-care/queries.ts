import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { IS_DISTRIBUTED } from "../db/sql-fragments.ts";
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
const NEGLECTED = `
  from (
    select c.relname::text as name, (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as pages,
      c.reltuples, c.relallvisible, s.n_mod_since_analyze
    from pg_class c join pg_stat_user_tables s on s.relid = c.oid
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_has_role(c.relowner, 'usage')
  ) as found
  where not pg_is_in_recovery()
    and (reltuples < 0 or n_mod_since_analyze > greatest(1000, reltuples / 10) or relallvisible < 0.9 * pages)`;

const neglected = statement(
  "tableCare.neglected",
  `select name, pages ${NEGLECTED} and pages >= $1::int order by pages, name`,
);

// Rows lie in shards, on machines that are asked for theirs. A shard's name ends with its number, and a vacuum of the table
// reaches all of its shards. A machine that does not answer is left out.
const neglectedShards = statement(
  "tableCare.neglectedShards",
  `select shard.logicalrelid::text as name, sum(found.pages)::int as pages
   from run_command_on_all_nodes(
       $$select coalesce(jsonb_agg(jsonb_build_object('name', name, 'pages', pages)), '[]') ${NEGLECTED}$$, true, true
     ) as answer
     cross join jsonb_to_recordset(case when answer.success then answer.result::jsonb end) as found (name text, pages int)
     join pg_dist_shard shard on shard.shardid::text = substring(found.name from '_([0-9]+)$')
   where found.pages >= $1::int
   group by 1
   order by pages, name`,
);

const isDistributed = statement("tableCare.isDistributed", `select ${IS_DISTRIBUTED} as found`);

/** Tables of which some part has at least so many pages and needs care, the small ones first. */
export async function listNeglectedTables(
  db: QueryRunner,
  { minPages }: { readonly minPages: number },
): Promise<NeglectedTable[]> {
  const { found } = oneRow(await db.query<{ found: boolean }>(isDistributed));
  return db.query<NeglectedTable>(found ? neglectedShards : neglected, [minPages]);
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

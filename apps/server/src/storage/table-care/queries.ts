import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { IS_DISTRIBUTED } from "../db/sql-fragments.ts";
import { statement } from "../db/statement.ts";

/** A table whose statistics or visibility map are out of date, so that PostgreSQL reads it slowly. */
export interface NeglectedTable {
  readonly name: string;
  /** The size in pages of 8 KiB. */
  readonly pages: number;
}

/*
 * Three kinds of tables: those never analyzed; those with more than a tenth of the rows, and 1,000 rows, changed since the
 * last analysis; and those with more than a tenth of the pages not marked all-visible, where index-only scans must also read
 * rows. Autovacuum finds the first two kinds within a minute, but the third, unless a migration has set less, only after
 * 20 % of new or changed rows. Includes partitions. Excludes tables that this role may not vacuum.
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

// In a distributed database the rows are in shards, so each node is asked for its neglected shards. A shard's name ends
// with its id, which leads to its table; a vacuum of the table includes all its shards. The two `true`: asks the nodes
// in parallel, and gives a warning instead of an error for a node that does not answer, which is left out.
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

/** Lists tables that need a vacuum and have at least `minPages` pages (or a shard that does), smallest first. */
export async function listNeglectedTables(
  db: QueryRunner,
  { minPages }: { readonly minPages: number },
): Promise<NeglectedTable[]> {
  const { found } = oneRow(await db.query<{ found: boolean }>(isDistributed));
  return db.query<NeglectedTable>(found ? neglectedShards : neglected, [minPages]);
}

const ownProcess = statement("tableCare.ownProcess", "select pg_backend_pid() as pid");

/** Returns the id of the PostgreSQL process that serves the only connection of a pool. */
export async function findProcess(db: QueryRunner): Promise<number> {
  return oneRow(await db.query<{ pid: number }>(ownProcess)).pid;
}

const cancelStatement = statement("tableCare.cancel", "select pg_cancel_backend($1::int) as done");

/** Cancels the statement that a PostgreSQL process is running. */
export async function notifyToCancel(db: QueryRunner, pid: number): Promise<void> {
  await db.query(cancelStatement, [pid]);
}

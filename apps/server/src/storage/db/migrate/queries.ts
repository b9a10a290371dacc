import type { Queryable } from "../database.ts";
import { codeOf, sqlState } from "../errors.ts";
import { IS_DISTRIBUTED } from "../sql-fragments.ts";
import { statement } from "../statement.ts";
import type { RecordedMigration } from "./compatibility.rules.ts";
import { explainUnreadableMigrations } from "./known-schema.ts";
import type { Migration } from "./program.ts";

/** Anything that runs statements: a pool, a transaction, or the session that migrates. */
export type Runner = Pick<Queryable, "query">;

/** SQL that creates the table of migrations. It has one row for each migration that was begun. */
export const createMigrations = `
  create table if not exists migrations (
    number         integer primary key,
    name           text not null,
    -- the oldest version of the program that works on the changed schema; null: only versions that have the migration
    oldest_program text,
    steps_done     integer not null,
    -- the key of the last row that a running backfill has reached
    position       text[],
    -- null: the migration is under way
    applied_at     timestamptz(3)
  )`;

/**
 * The number of the advisory lock of the one process that migrates: "bike" in ASCII. The lock belongs to a session, so it is
 * free as soon as no statement of a killed migrator runs any more.
 */
const MIGRATOR_LOCK = 0x62696b65;

const recorded = statement(
  "migrations.recorded",
  "select number, oldest_program, steps_done, position, applied_at from migrations order by number",
);
// Statements with an empty name run rarely, so PostgreSQL does not keep them prepared. $4: the steps that are done. $6: all
// steps of the migration.
const record = statement(
  "",
  `insert into migrations (number, name, oldest_program, steps_done, position, applied_at)
   values ($1, $2, $3, $4::integer, $5, case when $4 = $6::integer then now() end)
   on conflict (number) do update set
     steps_done = excluded.steps_done, position = excluded.position, applied_at = excluded.applied_at`,
);
const tryLock = statement("", "select pg_try_advisory_lock($1) as locked");
const indexState = statement("", "select indisvalid from pg_index where indexrelid = to_regclass($1)");
const lockHolders = statement(
  "",
  `select distinct pid, coalesce(nullif(application_name, ''), usename, 'autovacuum') as who, state,
     usesysid is null as "isAutovacuum",
     extract(epoch from clock_timestamp() - xact_start)::integer as seconds, left(query, 100) as statement
   from pg_locks join pg_stat_activity using (pid)
   where locktype = 'relation' and database = (select oid from pg_database where datname = current_database())
     and granted and pid <> pg_backend_pid()
     and relation in (select to_regclass(name) from unnest($1::text[]) as name)
   order by "isAutovacuum" desc, seconds desc nulls last limit 3`,
);

const deadlockTimeout = statement(
  "",
  "select extract(epoch from current_setting('deadlock_timeout')::interval) * 1000 as ms",
);

/** The holder of a lock on a table. */
export interface LockHolder {
  readonly pid: number;
  /** The name that the program gave PostgreSQL, or else its role. */
  readonly who: string;
  /** Whether the process is an autovacuum: among the processes that lock tables, only autovacuums have no user. */
  readonly isAutovacuum: boolean;
  /** The process's state as PostgreSQL names it, such as `idle in transaction`; null: unknown. */
  readonly state: string | null;
  /** Seconds since the process's transaction began; null: the transaction has ended. */
  readonly seconds: number | null;
  readonly statement: string;
}

/**
 * Returns every migration that was applied or begun; none if no program has migrated the database yet.
 * @throws UnknownSchemaError
 */
export async function listRecordedMigrations(db: Runner): Promise<RecordedMigration[]> {
  try {
    return await db.query<RecordedMigration>(recorded);
  } catch (error) {
    if (codeOf(error) !== sqlState.undefinedTable) throw explainUnreadableMigrations(error);
    return [];
  }
}

/** Records that the first `stepsDone` steps of a migration are applied. With the last step the migration is applied. */
export async function insertProgress(
  db: Runner,
  { number, name, oldestProgram, steps }: Migration,
  stepsDone: number,
  position: readonly string[] | null = null,
): Promise<void> {
  await db.query(record, [number, name, oldestProgram ?? null, stepsDone, position, steps.length]);
}

/** Tries to take the lock of the one process that migrates, for the rest of the session. @returns whether it was free */
export async function lockAsMigrator(db: Runner): Promise<boolean> {
  return (await db.query<{ locked: boolean }>(tryLock, [MIGRATOR_LOCK])).some(({ locked }) => locked);
}

/** Tells whether an index exists, and whether it is valid: an index is invalid if building it was interrupted. */
export async function findIndexState(db: Runner, name: string): Promise<"none" | "valid" | "invalid"> {
  const [index] = await db.query<{ indisvalid: boolean }>(indexState, [name]);
  if (index === undefined) return "none";
  return index.indisvalid ? "valid" : "invalid";
}

const distributed = statement("migrations.distributed", `select ${IS_DISTRIBUTED} as found`);

/** Tells whether Citus distributes the database over several servers. */
export async function findWhetherDistributed(db: Runner): Promise<boolean> {
  return (await db.query<{ found: boolean }>(distributed, [])).some(({ found }) => found);
}

/** Returns who holds locks on some tables: autovacuums first, then the oldest transactions. At most three. */
export function listLockHolders(db: Runner, tables: readonly string[]): Promise<LockHolder[]> {
  return db.query(lockHolders, [tables]);
}

/** Returns PostgreSQL's `deadlock_timeout` in milliseconds: after it a waiting statement checks who holds the lock. */
export async function findDeadlockTimeout(db: Runner): Promise<number> {
  return Number((await db.query<{ ms: string | number }>(deadlockTimeout, []))[0]?.ms);
}

/** The present size of a table with all its partitions. */
export interface TableSize {
  readonly table: string;
  readonly indexes: readonly string[];
  /** The size of the table including its indexes. */
  readonly bytes: number;
  /** The number of rows, as the last vacuum or analyze estimated it; 0 before the first. */
  readonly rows: number;
}

// `pg_partition_tree` has no row for a table without partitions, so the table itself is added. `reltuples` is -1 before
// the first vacuum or analyze.
const tableSizes = statement(
  "",
  `select t.relname::text as "table",
     array(select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid
           where i.indrelid = t.oid) as indexes,
     sum(pg_total_relation_size(part.oid))::float8 as bytes, sum(greatest(part.reltuples, 0))::float8 as rows
   from pg_class t
   cross join lateral (select relid from pg_partition_tree(t.oid) union select t.oid) as tree
   join pg_class part on part.oid = tree.relid and part.relkind <> 'p'
   where t.relnamespace = current_schema()::regnamespace and t.relkind in ('r', 'p')
   group by t.oid, t.relname`,
);

/** Returns the size of every table in the schema. */
export function listTableSizes(db: Runner): Promise<TableSize[]> {
  return db.query(tableSizes);
}

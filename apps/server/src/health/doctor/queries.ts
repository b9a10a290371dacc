import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/** Settings of the PostgreSQL server that the service's guarantees depend on. */
export interface ServerSettings {
  /** `server_version_num`, such as 150018. */
  readonly version: number;
  readonly now: Date;
  readonly fsync: boolean;
  readonly full_page_writes: boolean;
  readonly autovacuum: boolean;
  readonly synchronous_commit: string;
  readonly max_connections: number;
  readonly superuser_reserved_connections: number;
  readonly is_replica: boolean;
}

const settings = statement(
  "doctor.settings",
  `select current_setting('server_version_num')::int as version, clock_timestamp() as now,
     current_setting('fsync')::bool as fsync, current_setting('full_page_writes')::bool as full_page_writes,
     current_setting('autovacuum')::bool as autovacuum, current_setting('synchronous_commit') as synchronous_commit,
     current_setting('max_connections')::int as max_connections,
     current_setting('superuser_reserved_connections')::int as superuser_reserved_connections,
     pg_is_in_recovery() as is_replica`,
);
const unusedIndexes = statement(
  "doctor.unusedIndexes",
  `select quote_ident(i.relname) as index, pg_relation_size(i.oid) as bytes
   from pg_stat_user_indexes s join pg_class i on i.oid = s.indexrelid join pg_index x on x.indexrelid = i.oid
   where s.idx_scan = 0 and not x.indisunique and pg_relation_size(i.oid) > $1
     -- PostgreSQL counts uses since the schema was created, or since somebody reset the counters. The condition is a
     -- subquery, so that it is evaluated first: in a join, the sizes of all indexes would be computed first.
     and (select coalesce(d.stats_reset, (select min(applied_at) from migrations)) < now() - interval '7 days'
          from pg_stat_database d where d.datname = current_database())
     and s.schemaname = current_schema()
   order by bytes desc limit 5`,
);

/** Rights of the service's role in the whole of PostgreSQL, beyond its own database. */
export interface RoleRights {
  /** The role's name, quoted for use in a statement. */
  readonly role: string;
  readonly is_superuser: boolean;
  /** The role that PostgreSQL was set up with (always with the oid 10), which stays a superuser. */
  readonly is_first: boolean;
  readonly may_create_roles: boolean;
  readonly may_bypass_row_security: boolean;
}

const roleRights = statement(
  "doctor.roleRights",
  `select quote_ident(rolname) as role, rolsuper as is_superuser, oid = 10 as is_first, rolcreaterole as may_create_roles,
     rolbypassrls as may_bypass_row_security
   from pg_roles where rolname = current_user`,
);

export async function findRoleRights(db: Queryable): Promise<RoleRights> {
  return oneRow(await db.query<RoleRights>(roleRights));
}

export async function findSettings(db: Queryable): Promise<ServerSettings> {
  return oneRow(await db.query<ServerSettings>(settings));
}

/**
 * Lists the largest indexes above `minBytes`, five at most, other than unique ones, that no statement has used since
 * PostgreSQL began to count uses; none when that is less than a week ago.
 */
export function listUnusedIndexes(db: Queryable, minBytes: number): Promise<{ index: string; bytes: number }[]> {
  return db.query(unusedIndexes, [minBytes]);
}

const synchronousStandbys = statement(
  "doctor.synchronousStandbys",
  "select current_setting('synchronous_standby_names') as names",
);

/** Returns the setting `synchronous_standby_names`: the replicas that commits wait for; empty: none. */
export async function findSynchronousStandbys(db: Queryable): Promise<string> {
  return oneRow(await db.query<{ names: string }>(synchronousStandbys)).names;
}

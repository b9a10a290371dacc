import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/** Figures that PostgreSQL reports of itself. */
export interface ServerUse {
  /** Bytes of this database. */
  readonly size_bytes: number;
  /** Connections of all programs to this server, in all its databases. */
  readonly connections: number;
  /** Connections that roles other than superusers may have. */
  readonly max_connections: number;
  /** Age of the oldest open transaction of this database; 0: none is open. Without `pg_monitor`, that of this role alone. */
  readonly oldest_transaction_seconds: number;
}

// A role without `pg_monitor` sees no `backend_type` of other roles' processes, but those of clients have a database.
const use = statement(
  "databaseHealth.use",
  `select pg_database_size(current_database()) as size_bytes,
     (select count(*) from pg_stat_activity
       where datid is not null and usesysid is not null
         and coalesce(backend_type, 'client backend') = 'client backend') as connections,
     current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max_connections,
     coalesce((select extract(epoch from clock_timestamp() - min(xact_start)) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()), 0)::float8
       as oldest_transaction_seconds`,
);

export async function findServerUse(db: Queryable): Promise<ServerUse> {
  return oneRow(await db.query<ServerUse>(use));
}

/** The replicas with one name that stream from this server. Replicas without a name are called `walreceiver`. */
export interface ReplicaLag {
  /** The name (`application_name`) that these replicas share. */
  readonly replica: string;
  /** The lag of the replica among them that is furthest behind. */
  readonly lag_bytes: number;
  readonly lag_seconds: number;
}

// A role without `pg_monitor` sees replicas without their values: those rows are left out.
const replicas = statement(
  "databaseHealth.replicas",
  `select application_name as replica,
     max(greatest(0, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)))::float8 as lag_bytes,
     max(coalesce(extract(epoch from replay_lag), 0))::float8 as lag_seconds
   from pg_stat_replication where replay_lsn is not null and not pg_is_in_recovery()
   group by application_name
   order by application_name limit $1`,
);

/** Lists the replicas that stream now, by name, `limit` at most. */
export function listReplicaLags(db: Queryable, limit: number): Promise<ReplicaLag[]> {
  return db.query(replicas, [limit]);
}

const missing = statement(
  "databaseHealth.missingReplicas",
  `select slot_name::text as name,
     pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 as kept_bytes
   from pg_replication_slots
   where slot_type = 'physical' and not active and not temporary and restart_lsn is not null and not pg_is_in_recovery()
   order by slot_name`,
);

/** Lists replicas that streamed with a slot and no longer do, and the bytes of WAL that are kept for them. */
export function listMissingReplicas(db: Queryable): Promise<{ readonly name: string; readonly kept_bytes: number }[]> {
  return db.query(missing);
}

// A role without `pg_monitor` sees null as the state of each replica. Any streaming replica then counts as synchronous.
const isCommitWaiting = statement(
  "databaseHealth.isCommitWaiting",
  `select current_setting('synchronous_standby_names') <> ''
     and not exists (select from pg_stat_replication where coalesce(sync_state in ('sync', 'quorum'), true)) as waits`,
);

/** Tells whether commits wait for a synchronous replica although none is connected. */
export async function findIsCommitWaiting(db: Queryable): Promise<boolean> {
  return oneRow(await db.query<{ waits: boolean }>(isCommitWaiting)).waits;
}

const longTransactions = statement(
  "databaseHealth.longTransactions",
  `select pid, extract(epoch from now() - xact_start)::int as seconds, left(application_name, 60) as program
   from pg_stat_activity
   where datname = current_database() and xact_start < now() - $1::int * interval '1 s' and backend_type = 'client backend'
   order by xact_start limit 5`,
);

/** Lists the transactions that have been open for more than `seconds`: the five oldest at most. */
export function listLongTransactions(
  db: Queryable,
  seconds: number,
): Promise<{ pid: number; seconds: number; program: string }[]> {
  return db.query(longTransactions, [seconds]);
}

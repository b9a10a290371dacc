import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { IS_DISTRIBUTED } from "../db/sql-fragments.ts";
import { statement } from "../db/statement.ts";
import type { TableKind } from "./table-kinds.ts";

/** The facts that decide whether a database can be distributed. */
export interface ServerState {
  /** The major version of PostgreSQL. */
  readonly version: number;
  /** Whether the extension is installed on the server, loaded by it, and created in the database. */
  readonly is_available: boolean;
  readonly is_loaded: boolean;
  readonly is_created: boolean;
  readonly is_superuser: boolean;
  /** The role that is connected. */
  readonly role: string;
  /** Connections of the service and of other commands. */
  readonly sessions: number;
}

// A setting of the extension is known only to a server that has loaded it.
const server = statement(
  "distribution.server",
  `select current_setting('server_version_num')::int / 10000 as version,
     exists (select from pg_available_extensions where name = 'citus') as is_available,
     current_setting('citus.shard_count', true) is not null as is_loaded,
     ${IS_DISTRIBUTED} as is_created,
     (select rolsuper from pg_roles where rolname = current_user) as is_superuser, current_user::text as role,
     (select count(*)::int from pg_stat_activity
      where datname = current_database() and application_name = 'bikeshare' and pid <> pg_backend_pid()) as sessions`,
);

/** Returns the state of the database's server. */
export async function findServerState(db: Queryable): Promise<ServerState> {
  return oneRow(await db.query<ServerState>(server));
}

const isCreated = statement("distribution.isCreated", `select ${IS_DISTRIBUTED} as found`);

/** Tells whether the database has the extension: without it none of the other statements here works. */
export async function findExtension(db: Queryable): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(isCreated)).found;
}

const tables = statement(
  "distribution.tables",
  `select logicalrelid::text as name, case when partmethod = 'h' then 'system' else 'reference' end as kind
   from pg_dist_partition where partmethod = 'h' or repmodel = 't'`,
);

/** Returns the tables that are distributed, with their partitions. */
export async function listDistributedTables(db: Queryable): Promise<Map<string, TableKind>> {
  const rows = await db.query<{ name: string; kind: TableKind }>(tables);
  return new Map(rows.map(({ name, kind }) => [name, kind]));
}

const create = statement("distribution.createExtension", "create extension if not exists citus");

export async function insertExtension(db: Queryable): Promise<void> {
  await db.query(create);
}

// Sessions that the extension opens for itself have the database's settings, and not those of ours.
const setTimeZone = statement(
  "distribution.setTimeZone",
  `select run_command_on_all_nodes(format('alter database %I set timezone = %L', current_database(), 'UTC'))`,
);
const propagateLocalSettings = statement(
  "distribution.propagateLocalSettings",
  `select run_command_on_all_nodes(
     format('alter database %I set citus.propagate_set_commands = %L', current_database(), 'local'))`,
);

/**
 * Has the sessions in which machines run our statements read dates in UTC, as ours do, and give up locks when ours would.
 */
export async function updateDatabaseSettings(db: Queryable): Promise<void> {
  await db.query(setTimeZone);
  await db.query(propagateLocalSettings);
}

const createReference = statement("distribution.reference", "select create_reference_table($1::text::regclass)");
const createSystem = statement(
  "distribution.system",
  "select create_distributed_table($1::text::regclass, 'system_id', colocate_with => 'none', shard_count => $2::int)",
);
const createBeside = statement(
  "distribution.beside",
  "select create_distributed_table($1::text::regclass, 'system_id', colocate_with => $2)",
);

/** Puts a copy of a table on every machine. */
export async function updateToReference(db: Queryable, table: string): Promise<void> {
  await db.query(createReference, [table]);
}

/**
 * Spreads a table, and its partitions, over shards by system.
 * @param to the table whose shards its own lie beside, or how many shards the first of all gets
 */
export async function updateToSystem(db: Queryable, table: string, to: string | number): Promise<void> {
  await db.query(typeof to === "number" ? createSystem : createBeside, [table, to]);
}

const localBytes = statement(
  "distribution.localBytes",
  "select coalesce(sum(pg_relation_size(relid)), 0)::bigint as bytes from pg_partition_tree($1::text::regclass)",
);
const truncateLocal = statement(
  "distribution.truncateLocal",
  "select truncate_local_data_after_distributing_table($1::text::regclass)",
);

const notTruncatable = statement(
  "distribution.notTruncatable",
  `select relid::regclass::text as name from pg_partition_tree($1::text::regclass)
   where not has_table_privilege(relid, 'truncate')`,
);

/**
 * Frees the space of the rows that a table had before it was distributed. The service's role may not truncate the audit log,
 * unless it grants itself the right, as the owner of a table can.
 */
export async function deleteLocalRows(db: Queryable, table: string): Promise<void> {
  if (oneRow(await db.query<{ bytes: number }>(localBytes, [table])).bytes === 0) return;
  await db.transaction(async (tx) => {
    const names = (await tx.query<{ name: string }>(notTruncatable, [table])).map(({ name }) => name).join(", ");
    if (names !== "") await tx.run(`grant truncate on ${names} to current_user`);
    await tx.query(truncateLocal, [table]);
    if (names !== "") await tx.run(`revoke truncate on ${names} from current_user`);
  });
}

const ownShard = statement(
  "distribution.ownShard",
  `select shardminvalue = shardmaxvalue as is_own
   from pg_dist_shard where shardid = get_shard_id_for_distribution_column($1::text::regclass, $2::text)`,
);
const isolate = statement(
  "distribution.isolate",
  "select isolate_tenant_to_new_shard($1::text::regclass, $2::text, 'CASCADE', shard_transfer_mode => 'block_writes')",
);

/** Tells whether a system has a shard of every system table for itself. */
export async function findOwnShard(db: Queryable, table: string, systemId: string): Promise<boolean> {
  return oneRow(await db.query<{ is_own: boolean }>(ownShard, [table, systemId])).is_own;
}

/** Moves a system into a separate shard of every system table. Writes to the shards that it leaves are blocked meanwhile. */
export async function updateToOwnShard(db: Queryable, table: string, systemId: string): Promise<void> {
  await db.query(isolate, [table, systemId]);
}

/** A machine of a distributed database, and the settings of its PostgreSQL. */
export interface DatabaseNode {
  readonly host: string;
  readonly port: number;
  /** The one that takes our connections. */
  readonly is_coordinator: boolean;
  readonly is_active: boolean;
  /** Whether systems may lie on it. */
  readonly has_systems: boolean;
  /** Reference tables of which it has no copy. */
  readonly missing_copies: number;
  /** Null: it does not answer. */
  readonly settings: NodeSettings | null;
}

/** Settings of a machine on which a distributed database depends. */
interface NodeSettings {
  readonly max_connections: number;
  readonly max_prepared_transactions: number;
  readonly wal_level: string;
  /** Milliseconds between two looks at transactions that a crash has left prepared; -1: none. */
  readonly recovery_interval: number;
  /** The initial settings of a session there, such as `TimeZone=UTC`. */
  readonly session_defaults: readonly string[];
}

const nodes = statement(
  "distribution.nodes",
  `select node.nodename as host, node.nodeport as port, node.groupid = 0 as is_coordinator, node.isactive as is_active,
     node.shouldhaveshards as has_systems,
     (select count(*)::int from pg_dist_partition reference
      where reference.repmodel = 't' and not exists (
        select from pg_dist_shard shard join pg_dist_placement placement using (shardid)
        where shard.logicalrelid = reference.logicalrelid and placement.groupid = node.groupid)) as missing_copies,
     case when answer.success then answer.result::json end as settings
   from pg_dist_node node
     left join run_command_on_all_nodes(
       'select jsonb_object_agg(name, case when name = ''wal_level'' then to_json(setting) else to_json(setting::bigint) end)
          || jsonb_build_object(''session_defaults'', coalesce((
            select to_json(setconfig) from pg_db_role_setting join pg_database d on d.oid = setdatabase
            where d.datname = current_database() and setrole = 0), ''[]''))
        from (select case when name = ''citus.recover_2pc_interval'' then ''recovery_interval'' else name end as name, setting
              from pg_settings where name in (''max_connections'', ''max_prepared_transactions'', ''wal_level'',
                ''citus.recover_2pc_interval'')) as wanted', true, true) as answer using (nodeid)
   where node.noderole = 'primary'
   order by node.groupid`,
);

/** Returns the machines of a database that has the extension; none before its first table is distributed. */
export function listNodes(db: Queryable): Promise<DatabaseNode[]> {
  return db.query<DatabaseNode>(nodes);
}

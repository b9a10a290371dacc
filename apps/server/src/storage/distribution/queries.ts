import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { IS_DISTRIBUTED } from "../db/sql-fragments.ts";
import { statement } from "../db/statement.ts";
import type { TableKind } from "./table-kinds.ts";

/*
 * Statements for a database that the extension Citus distributes over several nodes. A reference table is copied to every
 * node. A system table is split by system into shards, and colocated system tables are split alike.
 */

/** The facts that decide whether a database can be distributed over several servers by the extension Citus. */
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
  /** Open connections of the service and of other commands. */
  readonly sessions: number;
}

// `is_loaded`: a server knows the extension's settings only if it has loaded the extension.
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

/** Tells whether the database has the extension, which most of the statements below need. */
export async function findExtension(db: Queryable): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(isCreated)).found;
}

// `partmethod = 'h'`: split by a hash of the system. `repmodel = 't'`: a copy on every node.
const tables = statement(
  "distribution.tables",
  `select logicalrelid::text as name, case when partmethod = 'h' then 'system' else 'reference' end as kind
   from pg_dist_partition where partmethod = 'h' or repmodel = 't'`,
);

/** Returns the tables that are distributed, including partitions, with their kinds. */
export async function listDistributedTables(db: Queryable): Promise<Map<string, TableKind>> {
  const rows = await db.query<{ name: string; kind: TableKind }>(tables);
  return new Map(rows.map(({ name, kind }) => [name, kind]));
}

const create = statement("distribution.createExtension", "create extension if not exists citus");

/** Creates the extension in the database. */
export async function insertExtension(db: Queryable): Promise<void> {
  await db.query(create);
}

// Sessions that the extension opens between nodes have the settings of the database instead of those of our connections.
const setTimeZone = statement(
  "distribution.setTimeZone",
  `select run_command_on_all_nodes(format('alter database %I set timezone = %L', current_database(), 'UTC'))`,
);
// Passes `set local` of a transaction, such as its lock timeout, on to the nodes.
const propagateLocalSettings = statement(
  "distribution.propagateLocalSettings",
  `select run_command_on_all_nodes(
     format('alter database %I set citus.propagate_set_commands = %L', current_database(), 'local'))`,
);

/**
 * Makes the sessions in which nodes run our statements use UTC and the same lock timeout as our own connections.
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

/** Puts a copy of a table on every node. */
export async function updateToReference(db: Queryable, table: string): Promise<void> {
  await db.query(createReference, [table]);
}

/**
 * Distributes a table, and its partitions, over shards by system.
 * @param to the number of shards, for the first table; for each other one, the first table, beside whose shards its own are
 */
export async function updateToSystem(
  db: Queryable,
  table: string,
  to: { readonly shards: number } | { readonly beside: string },
): Promise<void> {
  await ("shards" in to ? db.query(createSystem, [table, to.shards]) : db.query(createBeside, [table, to.beside]));
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
 * Frees the space of the rows that a table had before it was distributed. The service's role has no right to truncate the
 * audit log, but can grant itself the right as the owner of the table.
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

/**
 * Tells whether a system has a shard of every system table for itself.
 * @param table any system table, because all of them are colocated
 */
export async function findOwnShard(db: Queryable, table: string, systemId: string): Promise<boolean> {
  return oneRow(await db.query<{ is_own: boolean }>(ownShard, [table, systemId])).is_own;
}

/** Moves a system into a separate shard of every system table. Blocks writes to the shards that the system leaves. */
export async function updateToOwnShard(db: Queryable, table: string, systemId: string): Promise<void> {
  await db.query(isolate, [table, systemId]);
}

/** A node (a PostgreSQL server) of a distributed database, and its settings. */
export interface DatabaseNode {
  readonly host: string;
  readonly port: number;
  /** Whether our connections go to this node. */
  readonly is_coordinator: boolean;
  readonly is_active: boolean;
  /** Whether the node may have rows of systems. */
  readonly has_systems: boolean;
  /** The number of reference tables of which the node has no copy. */
  readonly missing_copies: number;
  /** Null: the node does not answer. */
  readonly settings: NodeSettings | null;
}

/** Settings of a node that a distributed database depends on. */
interface NodeSettings {
  readonly max_connections: number;
  readonly max_prepared_transactions: number;
  readonly wal_level: string;
  /** Milliseconds between two searches for transactions that a crash has left prepared; -1: never. */
  readonly recovery_interval: number;
  /** The initial settings of each session on the node, such as `TimeZone=UTC`. */
  readonly session_defaults: readonly string[];
}

// Each node is asked for its settings: in parallel, and with a warning instead of an error for a node that does not
// answer (the two `true`). Such a node stays in the result, without settings. Of the settings, only `wal_level` is no
// number.
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

/** Returns the nodes of a database that has the extension; none before the first table is distributed. */
export function listNodes(db: Queryable): Promise<DatabaseNode[]> {
  return db.query<DatabaseNode>(nodes);
}

import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";

/** A machine of a distributed database, and what its PostgreSQL is set to. */
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
  /** What sessions of the database begin with there, such as `TimeZone=UTC`. */
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

/** The machines of a database that has the extension; none before its first table is distributed. */
export function listNodes(db: Queryable): Promise<DatabaseNode[]> {
  return db.query<DatabaseNode>(nodes);
}

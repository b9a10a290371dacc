import { statement } from "../statement.ts";
import type { Runner } from "./queries.ts";

/** A table as it is, with all its partitions. */
export interface TableSize {
  readonly table: string;
  readonly indexes: readonly string[];
  /** With its indexes. */
  readonly bytes: number;
  /** As the last vacuum or analyze estimated them; 0 before the first. */
  readonly rows: number;
}

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

/** Every table of ours. */
export function listTableSizes(db: Runner): Promise<TableSize[]> {
  return db.query(tableSizes);
}

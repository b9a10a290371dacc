import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

const columns = columnsOfTable("stations").only(
  "id",
  "name",
  "lat",
  "lon",
  "capacity",
  "region_id",
  "num_bikes_available",
  "num_docks_available",
  "is_renting",
  "is_returning",
  "status",
  "offline_reason",
  "last_reported",
);

/** A station as a map shows it. */
export type StationMapRow = RowOf<typeof columns>;

const all = statement(
  "stations.listForMap",
  `select ${columns.list()} from stations where system_id = $1 and status <> 'removed' order by id`,
);

/** Lists the stations of a system for a map, including planned and excluding removed ones. */
export function listStationsForMap(db: Queryable, systemId: string): Promise<StationMapRow[]> {
  return db.query<StationMapRow>(all, [systemId]);
}

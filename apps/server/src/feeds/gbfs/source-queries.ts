import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

const countStations = statement(
  "gbfsSources.countStations",
  `select source, status, count(*)::int as n from stations where system_id = $1 group by source, status`,
);

const countBikes = statement(
  "gbfsSources.countBikes",
  `select source, count(*)::int as n from bikes where system_id = $1 and vehicle_state <> 'removed' group by source`,
);

// The stations of a system are few enough to be looked at one by one.
const listMissing = statement(
  "gbfsSources.listMissing",
  `select source, id, name, status, absent_snapshots, status_as_of from stations
   where system_id = $1 and absent_snapshots > 0 and status <> 'removed'
   order by status_as_of desc nulls last, id limit $2`,
);

/** How many stations of a source have a status. */
export type StationCount = Pick<Tables["stations"], "source" | "status"> & { readonly n: number };

export function countStationsBySource(db: Queryable, systemId: string): Promise<StationCount[]> {
  return db.query<StationCount>(countStations, [systemId]);
}

export function countBikesBySource(
  db: Queryable,
  systemId: string,
): Promise<{ readonly source: string; readonly n: number }[]> {
  return db.query(countBikes, [systemId]);
}

/** A station that the newest snapshots of its source did not list. */
export type MissingStation = Pick<
  Tables["stations"],
  "source" | "id" | "name" | "status" | "absent_snapshots" | "status_as_of"
>;

/** The stations that are missing, the last to be listed first. */
export function listMissingStations(db: Queryable, systemId: string, limit: number): Promise<MissingStation[]> {
  return db.query<MissingStation>(listMissing, [systemId, limit]);
}

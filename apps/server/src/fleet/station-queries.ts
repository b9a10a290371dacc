import { columnsOfTable, type RowOf } from "../db/columns.ts";
import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

/** What commands write: counters follow from bikes, and the rest is of feeds and imports. */
const columns = columnsOfTable("stations").without(
  "system_id",
  "updated_at",
  "source",
  "counters",
  "num_bikes_available",
  "num_bikes_reserved",
  "num_bikes_disabled",
  "vehicle_types_available",
  "last_reported",
  "absent_snapshots",
  "information_as_of",
  "status_as_of",
  "import_id",
);

/** A station as commands read and write it. */
export type StationFields = RowOf<typeof columns>;

const lock = statement(
  "fleet.lockStations",
  `select ${columns.list()} from stations where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insert = statement(
  "fleet.insertStations",
  `insert into stations (system_id, updated_at, source, counters, ${columns.list()})
   select $1, $2::timestamptz, 'operator', 'operated', ${columns.list()} from ${columns.recordset(3, "w")} order by id
   on conflict (system_id, id) do nothing returning id, json`,
);

const update = statement(
  "fleet.updateStations",
  `update stations s set ${columns.without("id").assignments("w")}, updated_at = $2::timestamptz
   from ${columns.recordset(3, "w")}
   where s.system_id = $1 and s.id = w.id returning s.id, s.json`,
);

const json = statement(
  "fleet.stationJson",
  "select id, json from stations where system_id = $1 and id = any($2::text[])",
);

const locations = statement(
  "fleet.stationLocations",
  "select id, lat, lon from stations where system_id = $1 and id = any($2::text[]) and status <> 'removed'",
);

type WrittenStation = Pick<Tables["stations"], "id" | "json">;

/** Locks stations in the order of their ids. */
export function lockStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<StationFields[]> {
  return tx.query<StationFields>(lock, [systemId, ids]);
}

/** Inserts stations of the operator. @returns the JSON, by id, of those whose id was free */
export function insertStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  stations: readonly StationFields[],
): Promise<ReadonlyMap<string, string>> {
  return write(tx, insert, systemId, now, stations);
}

/** Updates stations, which are locked. @returns their JSON by id */
export function updateStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  stations: readonly StationFields[],
): Promise<ReadonlyMap<string, string>> {
  return write(tx, update, systemId, now, stations);
}

async function write(
  tx: Transaction,
  statementToRun: typeof insert,
  systemId: string,
  now: Date,
  stations: readonly StationFields[],
): Promise<ReadonlyMap<string, string>> {
  if (stations.length === 0) return new Map();
  const rows = await tx.query<WrittenStation>(statementToRun, [systemId, now, JSON.stringify(stations)]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

/** The JSON of stations, by id. */
export async function listStationJson(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.query<WrittenStation>(json, [systemId, ids]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

/** Where stations are, by id; without those that do not exist or were removed. */
export async function findStationLocations(
  db: Queryable,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly lat: number; readonly lon: number }>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<Pick<Tables["stations"], "id" | "lat" | "lon">>(locations, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

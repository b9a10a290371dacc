import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

type Row = Tables["stations"];

/** A station as commands see it, locked. */
export type LiveStation = Pick<
  Row,
  | "id"
  | "name"
  | "short_name"
  | "lat"
  | "lon"
  | "address"
  | "region_id"
  | "capacity"
  | "is_virtual_station"
  | "is_installed"
  | "is_renting"
  | "is_returning"
  | "num_docks_available"
  | "num_docks_disabled"
  | "status"
  | "offline_reason"
  | "was_installed"
>;

const columns = `id, name, short_name, lat, lon, address, region_id, capacity, is_virtual_station, is_installed, is_renting,
  is_returning, num_docks_available, num_docks_disabled, status, offline_reason, was_installed`;
const types = `id text, name text, short_name text, lat float8, lon float8, address text, region_id text, capacity int,
  is_virtual_station boolean, is_installed boolean, is_renting boolean, is_returning boolean, num_docks_available int,
  num_docks_disabled int, status text, offline_reason text, was_installed boolean`;

const lock = statement(
  "liveStations.lock",
  `select ${columns} from stations where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insert = statement(
  "liveStations.insert",
  `insert into stations (system_id, updated_at, source, counters, ${columns})
   select $1, $2::timestamptz, 'operator', 'operated', ${columns}
   from json_to_recordset($3::json) as written(${types}) order by id
   on conflict (system_id, id) do nothing returning id, json`,
);

const update = statement(
  "liveStations.update",
  `update stations s set (updated_at, name, short_name, lat, lon, address, region_id, capacity, is_virtual_station,
     is_installed, is_renting, is_returning, num_docks_available, num_docks_disabled, status, offline_reason, was_installed)
     = ($2::timestamptz, w.name, w.short_name, w.lat, w.lon, w.address, w.region_id, w.capacity, w.is_virtual_station,
     w.is_installed, w.is_renting, w.is_returning, w.num_docks_available, w.num_docks_disabled, w.status, w.offline_reason,
     w.was_installed)
   from json_to_recordset($3::json) as w(${types})
   where s.system_id = $1 and s.id = w.id returning s.id, s.json`,
);

const wires = statement(
  "liveStations.wires",
  "select id, json from stations where system_id = $1 and id = any($2::text[])",
);
const tell = statement("liveStations.tell", "select pg_notify('stations', $1)");

/** Locks stations, in the order of their ids, and gives them by id. */
export async function lockStations(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, LiveStation>> {
  const rows = await tx.query<LiveStation>(lock, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Makes stations of the operator's; gives the JSON texts, by id, of those that were not there. */
export async function insertStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  stations: readonly LiveStation[],
): Promise<Map<string, string>> {
  return write(tx, insert, systemId, now, stations);
}

/** Writes stations that are locked; gives their JSON texts by id. */
export async function updateStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  stations: readonly LiveStation[],
): Promise<Map<string, string>> {
  return write(tx, update, systemId, now, stations);
}

/** The JSON texts of stations, by id. */
export async function stationWires(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<Pick<Row, "id" | "json">>(wires, [systemId, [...ids]]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

async function write(
  tx: Transaction,
  statementToRun: typeof insert,
  systemId: string,
  now: Date,
  stations: readonly LiveStation[],
): Promise<Map<string, string>> {
  if (stations.length === 0) return new Map();
  const rows = await tx.query<Pick<Row, "id" | "json">>(statementToRun, [systemId, now, JSON.stringify(stations)]);
  await tx.query(tell, [systemId]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

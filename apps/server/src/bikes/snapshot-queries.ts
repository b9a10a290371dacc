import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import type { MirroredBike } from "./bike.ts";

/** A bike as the database has it: what a snapshot is compared with. */
export interface BikeRow extends MirroredBike, Pick<Tables["bikes"], "id" | "source"> {}

/** A row to be written. */
export type BikeWrite = Omit<BikeRow, "source">;

const columns = `id, number, vehicle_type_id, vehicle_state, station_id, lat, lon, current_range_meters, last_reported,
  source`;
const writtenColumns = `id text, number text, vehicle_type_id text, vehicle_state text, station_id text, lat float8,
  lon float8, current_range_meters int, last_reported timestamptz`;

const heldBikes = statement(
  "bikeSnapshot.held",
  `select ${columns} from bikes where system_id = $1 and source = $2
   union all
   select ${columns} from bikes where system_id = $1 and source <> $2 and id = any($3::text[])`,
);

// In the order of the primary key, so that two transactions never wait for each other in a ring.
const lockBikes = statement(
  "bikeSnapshot.lock",
  `select ${columns} from bikes where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insertBikes = statement(
  "bikeSnapshot.insert",
  `insert into bikes (system_id, source, updated_at, id, number, vehicle_type_id, vehicle_state, station_id, lat, lon,
     current_range_meters, last_reported)
   select $1, $2, $3::timestamptz, id, number, vehicle_type_id, vehicle_state, station_id, lat, lon,
     current_range_meters, last_reported
   from json_to_recordset($4::json) as written(${writtenColumns})
   order by id
   on conflict (system_id, id) do nothing
   returning id`,
);

const updateBikes = statement(
  "bikeSnapshot.update",
  `update bikes set updated_at = $2::timestamptz, number = written.number,
     vehicle_type_id = written.vehicle_type_id, vehicle_state = written.vehicle_state,
     station_id = written.station_id, lat = written.lat, lon = written.lon,
     current_range_meters = written.current_range_meters, last_reported = written.last_reported
   from json_to_recordset($3::json) as written(${writtenColumns})
   where bikes.system_id = $1 and bikes.id = written.id`,
);

const deleteBikes = statement("bikeSnapshot.delete", "delete from bikes where system_id = $1 and id = any($2::text[])");

const notifyBikes = statement("bikeSnapshot.notify", "select pg_notify('bikes', $1)");

/** What `columns` gives. */
type Stored = Pick<
  Tables["bikes"],
  | "id"
  | "number"
  | "vehicle_type_id"
  | "vehicle_state"
  | "station_id"
  | "lat"
  | "lon"
  | "current_range_meters"
  | "last_reported"
  | "source"
>;

/** The bikes of a source, and those of other sources that have one of `ids`. Not locked. */
export async function findBikes(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<BikeRow[]> {
  return (await tx.query<Stored>(heldBikes, [systemId, source, ids])).map(fromStored);
}

/** Bikes as they are now, locked until the transaction ends. */
export async function lockAndFindBikes(tx: Transaction, systemId: string, ids: readonly string[]): Promise<BikeRow[]> {
  return (await tx.query<Stored>(lockBikes, [systemId, ids])).map(fromStored);
}

/** Inserts those that are not there; gives the ids it inserted. `at` in milliseconds since 1970. */
export async function insertBikeRows(
  tx: Transaction,
  systemId: string,
  source: string,
  at: number,
  rows: readonly BikeWrite[],
): Promise<string[]> {
  const inserted = await tx.query<Pick<BikeRow, "id">>(insertBikes, [systemId, source, new Date(at), stored(rows)]);
  return inserted.map((row) => row.id);
}

/** Rewrites bikes, which the transaction has locked. `at` in milliseconds since 1970. */
export async function updateBikeRows(
  tx: Transaction,
  systemId: string,
  at: number,
  rows: readonly BikeWrite[],
): Promise<void> {
  await tx.query(updateBikes, [systemId, new Date(at), stored(rows)]);
}

/** Deletes bikes, which the transaction has locked. */
export async function deleteBikeRows(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(deleteBikes, [systemId, ids]);
}

/** Tells listeners, once the transaction has committed, that bikes of this system changed. */
export async function notifyBikesChanged(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(notifyBikes, [systemId]);
}

function fromStored(row: Stored): BikeRow {
  return { ...row, last_reported: row.last_reported && row.last_reported.getTime() };
}

function stored(rows: readonly BikeWrite[]): string {
  return JSON.stringify(
    rows.map((row) => ({
      ...row,
      last_reported: row.last_reported === null ? null : new Date(row.last_reported).toISOString(),
    })),
  );
}

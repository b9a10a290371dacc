import type { Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import { isSubscribed } from "../webhooks/queue/sql-fragments.ts";
import type { MirroredBike } from "./bike.ts";

/** A bike as the database has it: what a snapshot is compared with. Instants in milliseconds since 1970. */
export interface BikeRow extends MirroredBike, Pick<Tables["bikes"], "id" | "source" | "ride_id" | "reservation_id"> {
  /** When what was last reported of the bike was so; null: nothing was, beside what feeds say. */
  readonly reported_at: number | null;
}

/** A row to be written. */
export interface BikeWrite extends MirroredBike {
  readonly id: string;
}

// Instants as numbers, because tens of thousands of rows are compared, and all but a few are then forgotten.
const columns = `id, number, vehicle_type_id, vehicle_state, station_id, lat, lon, current_range_meters,
  (extract(epoch from last_reported) * 1000)::float8 as last_reported, source, ride_id, reservation_id,
  (extract(epoch from greatest(reported_state_at, reported_position_at)) * 1000)::float8 as reported_at`;
const writtenColumns = `id text, number text, vehicle_type_id text, vehicle_state text, station_id text, lat float8,
  lon float8, current_range_meters int, last_reported timestamptz`;

const heldBikes = statement("bikeSnapshot.held", `select ${columns} from bikes where system_id = $1 and source = $2`);

const countHeld = statement(
  "bikes.countHeld",
  "select count(*)::integer as n from bikes where system_id = $1 and source = $2 and id = any($3)",
);

const bikesOfOtherSources = statement(
  "bikeSnapshot.ofOtherSources",
  `select ${columns} from bikes where system_id = $1 and source <> $2 and id = any($3::text[])`,
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
   returning id, case when ${isSubscribed("bike.state_changed")} then json end as json`,
);

// What was reported by the side is kept only of bikes that commands have touched (reported_state is not null); for
// those the feed's word, as of the snapshot, is one more report. Bikes that are held or ridden are not written, except
// to end the hold. In `returning` the bike as the statement found it has the state before.
const updateBikes = statement(
  "bikeSnapshot.update",
  `with changed as (
   update bikes b set updated_at = $2::timestamptz, number = w.number,
     vehicle_type_id = w.vehicle_type_id, vehicle_state = w.vehicle_state,
     station_id = w.station_id, lat = w.lat, lon = w.lon,
     current_range_meters = w.current_range_meters, last_reported = w.last_reported, reservation_id = null,
     reported_state = case when b.reported_state is not null then
       case w.vehicle_state when 'reserved' then 'available' else w.vehicle_state end end,
     reported_station_id = case when b.reported_state is not null then w.station_id end,
     reported_lat = case when b.reported_state is not null then w.lat end,
     reported_lon = case when b.reported_state is not null then w.lon end,
     reported_state_at = case when b.reported_state is not null then $3::timestamptz end,
     reported_position_at = case when b.reported_state is not null then $3::timestamptz end,
     reported_range_at = case when b.reported_state is not null then $3::timestamptz end
   from json_to_recordset($4::json) as w(${writtenColumns})
   where b.system_id = $1 and b.id = w.id
   returning b.id, case when ${isSubscribed("bike.state_changed")} and b.vehicle_state <> (
     select before.vehicle_state from bikes before where before.system_id = $1 and before.id = b.id) then b.json end as json)
   select json from changed where json is not null order by id`,
);

const deleteBikes = statement("bikeSnapshot.delete", "delete from bikes where system_id = $1 and id = any($2::text[])");

const notifyBikes = statement("bikeSnapshot.notify", "select pg_notify('bikes', $1)");

/** The bikes of a source. Not locked. */
export function findBikes(tx: Transaction, systemId: string, source: string): Promise<BikeRow[]> {
  return tx.query<BikeRow>(heldBikes, [systemId, source]);
}

/** How many bikes of a source have one of `ids`. */
export async function countHeldBikes(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(countHeld, [systemId, source, ids])).n;
}

/** Those bikes of other sources that have one of `ids`. Not locked. */
export function listBikesOfOtherSources(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<BikeRow[]> {
  return tx.query<BikeRow>(bikesOfOtherSources, [systemId, source, ids]);
}

/** Bikes as they are now, locked until the transaction ends. */
export function lockAndFindBikes(tx: Transaction, systemId: string, ids: readonly string[]): Promise<BikeRow[]> {
  return tx.query<BikeRow>(lockBikes, [systemId, ids]);
}

/** A bike that was inserted, with its JSON where somebody wants to be told of it. */
export interface InsertedBike {
  readonly id: string;
  readonly json: string | null;
}

/** Inserts those that are not there; gives what it inserted. `at` in milliseconds since 1970. */
export function insertBikeRows(
  tx: Transaction,
  systemId: string,
  source: string,
  at: number,
  rows: readonly BikeWrite[],
): Promise<InsertedBike[]> {
  return tx.query<InsertedBike>(insertBikes, [systemId, source, new Date(at), stored(rows)]);
}

/**
 * Rewrites bikes, which the transaction has locked; no reservation holds them afterwards.
 * @param at when it is written, milliseconds since 1970
 * @param snapshotAt when the feed said so, milliseconds since 1970
 * @returns the JSON texts of those whose state changed, where somebody wants to be told
 */
export async function updateBikeRows(
  tx: Transaction,
  systemId: string,
  at: number,
  snapshotAt: number,
  rows: readonly BikeWrite[],
): Promise<string[]> {
  const values = [systemId, new Date(at), new Date(snapshotAt), stored(rows)];
  return (await tx.query<Pick<Tables["bikes"], "json">>(updateBikes, values)).map((row) => row.json);
}

/** Deletes bikes, which the transaction has locked. */
export async function deleteBikeRows(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(deleteBikes, [systemId, ids]);
}

/** Tells listeners, once the transaction has committed, that bikes of this system changed. */
export async function notifyBikesChanged(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(notifyBikes, [systemId]);
}

function stored(rows: readonly BikeWrite[]): string {
  return JSON.stringify(
    rows.map((row) => ({
      ...row,
      last_reported: row.last_reported === null ? null : new Date(row.last_reported).toISOString(),
    })),
  );
}

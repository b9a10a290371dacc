import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

type Row = Tables["rides"];

/** A ride that is over, as it is written. */
export type PastRideRow = Pick<
  Row,
  | "id"
  | "bike_id"
  | "start_station_id"
  | "end_station_id"
  | "started_at"
  | "distance_meters"
  | "vehicle_type_id"
  | "rider_category"
  | "end_reason"
  | "duration_seconds"
  | "is_countable"
> & { readonly ended_at: Date };

/** What is stored of a ride with the id of a past one. It may be under way. */
export type StoredPastRide = PastRideRow & Pick<Row, "status">;

const columns = `id, bike_id, start_station_id, end_station_id, started_at, ended_at, distance_meters, vehicle_type_id,
  rider_category, end_reason, duration_seconds, is_countable`;
const types = `id text, bike_id text, start_station_id text, end_station_id text, started_at timestamptz,
  ended_at timestamptz, distance_meters int, vehicle_type_id text, rider_category text, end_reason text,
  duration_seconds int, is_countable boolean`;

const insert = statement(
  "pastRides.insert",
  `insert into rides (system_id, updated_at, source, status, ${columns})
   select $1, $2::timestamptz, 'operator', 'completed', ${columns}
   from json_to_recordset($3::json) as written(${types}) order by id
   on conflict (system_id, id) do nothing returning id`,
);

// One by one, each by the primary key: as in the statement that locks live rides.
const find = statement(
  "pastRides.find",
  `select ride.* from (select id from unnest($2::text[]) as given(id) order by id collate "C") as wanted
   cross join lateral (select status, ${columns} from rides where system_id = $1 and id = wanted.id for update) as ride`,
);

const update = statement(
  "pastRides.update",
  `update rides r set updated_at = $2::timestamptz, ended_at = w.ended_at, start_station_id = w.start_station_id,
     end_station_id = w.end_station_id, distance_meters = w.distance_meters, vehicle_type_id = w.vehicle_type_id,
     rider_category = w.rider_category, end_reason = w.end_reason, duration_seconds = w.duration_seconds,
     is_countable = w.is_countable
   from json_to_recordset($3::json) as w(${types})
   where r.system_id = $1 and r.id = w.id`,
);

/** Makes rides of those whose id is free; gives their ids. */
export async function insertPastRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly PastRideRow[],
): Promise<string[]> {
  if (rides.length === 0) return [];
  return (await tx.query<Pick<Row, "id">>(insert, [systemId, now, JSON.stringify(rides)])).map((row) => row.id);
}

/** Locks rides and gives them by id. */
export async function findPastRides(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, StoredPastRide>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<StoredPastRide>(find, [systemId, ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Corrects rides that are over. */
export async function updatePastRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly PastRideRow[],
): Promise<void> {
  if (rides.length > 0) await tx.query(update, [systemId, now, JSON.stringify(rides)]);
}

import type { BikeFacts, BikeView } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import { isSubscribed } from "../webhooks/queue/sql-fragments.ts";
import type { ReportedState } from "./bike.ts";

type Row = Tables["bikes"];

/** A bike as commands see it, locked. What was never reported is what the row shows. */
export interface LiveBike extends BikeFacts<ReportedState> {
  readonly id: string;
  readonly number: string | null;
  readonly vehicle_type_id: string | null;
  readonly vehicle_state: BikeView<ReportedState>["vehicle_state"];
  readonly station_id: string | null;
  readonly current_range_meters: number | null;
  readonly reported_state_at: Date | null;
  readonly reported_position_at: Date | null;
  readonly reported_range_at: Date | null;
}

/** A bike that this transaction has locked. */
export interface LockedBike extends LiveBike {
  readonly last_reported: Date | null;
}

const lock = statement(
  "liveBikes.lock",
  `select id, number, vehicle_type_id, vehicle_state, station_id, current_range_meters, ride_id, reservation_id,
     coalesce(reported_state, case when vehicle_state in ('reserved', 'on_trip') then 'available' else vehicle_state end) as reported_state,
     reported_state_at,
     case when reported_position_at is null and reported_state is null then station_id else reported_station_id end as reported_station_id,
     case when reported_position_at is null and reported_state is null then lat else reported_lat end as reported_lat,
     case when reported_position_at is null and reported_state is null then lon else reported_lon end as reported_lon,
     reported_position_at, reported_range_at, last_reported
   from bikes where system_id = $1 and id = any($2::text[]) order by id for update`,
);

/** A bike's whole live state, to be written. */
export interface LiveBikeWrite extends BikeFacts<ReportedState>, BikeView<ReportedState> {
  readonly id: string;
  readonly number: string | null;
  readonly vehicle_type_id: string | null;
  readonly current_range_meters: number | null;
  readonly reported_state_at: Date | null;
  readonly reported_position_at: Date | null;
  readonly reported_range_at: Date | null;
  /** When it reported itself; null or earlier than what is kept: that stays. */
  readonly last_reported: Date | null;
  /** Whether the bike gets a new public id. */
  readonly renew_public_id: boolean;
  readonly public_id: string;
}

const written = `unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::float8[], $10::int[],
     $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::text[], $16::float8[], $17::float8[], $18::timestamptz[],
     $19::timestamptz[], $20::timestamptz[], $21::boolean[], $22::text[])
   as w (id, number, vehicle_type_id, vehicle_state, station_id, lat, lon, current_range_meters, ride_id, reservation_id,
     reported_state, reported_state_at, reported_station_id, reported_lat, reported_lon, reported_position_at,
     reported_range_at, last_reported, renew_public_id, public_id)`;

// The bike as the statement found it has the state before: a row's own new version is not seen in `returning`.
const update = statement(
  "liveBikes.update",
  `with changed as (
   update bikes b set number = w.number, vehicle_type_id = w.vehicle_type_id, vehicle_state = w.vehicle_state,
     station_id = w.station_id, lat = w.lat, lon = w.lon, current_range_meters = w.current_range_meters,
     ride_id = w.ride_id, reservation_id = w.reservation_id, reported_state = w.reported_state,
     reported_state_at = w.reported_state_at, reported_station_id = w.reported_station_id,
     reported_lat = w.reported_lat, reported_lon = w.reported_lon, reported_position_at = w.reported_position_at,
     reported_range_at = w.reported_range_at, last_reported = greatest(w.last_reported, b.last_reported),
     public_id = case when w.renew_public_id or b.public_id is null then w.public_id else b.public_id end,
     updated_at = $2::timestamptz
   from ${written}
   where b.system_id = $1 and b.id = w.id
   returning b.id, case when ${isSubscribed("bike.state_changed")} and b.vehicle_state <> (
     select before.vehicle_state from bikes before where before.system_id = $1 and before.id = b.id) then b.json end as json)
   select json from changed where json is not null order by id`,
);

const insert = statement(
  "liveBikes.insert",
  `insert into bikes (system_id, updated_at, source, id, number, vehicle_type_id, vehicle_state, station_id, lat, lon,
     current_range_meters, ride_id, reservation_id, reported_state, reported_state_at, reported_station_id, reported_lat,
     reported_lon, reported_position_at, reported_range_at, last_reported, public_id)
   select $1, $2::timestamptz, 'operator', id, number, vehicle_type_id, vehicle_state, station_id, lat, lon,
     current_range_meters, ride_id, reservation_id, reported_state, reported_state_at, reported_station_id, reported_lat,
     reported_lon, reported_position_at, reported_range_at, last_reported, public_id
   from ${written}
   order by id
   on conflict (system_id, id) do nothing
   returning id, case when ${isSubscribed("bike.state_changed")} then json end as json`,
);

const tell = statement("liveBikes.tell", "select pg_notify('bikes', $1)");

/** Locks bikes, in the order of their ids, and gives them by id. */
export async function lockBikes(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, LockedBike>> {
  const rows = await tx.query<LockedBike>(lock, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Writes bikes that are locked. @returns the JSON texts of those whose state changed, where somebody wants to be told */
export async function writeBikes(
  tx: Transaction,
  systemId: string,
  now: Date,
  bikes: readonly LiveBikeWrite[],
): Promise<string[]> {
  if (bikes.length === 0) return [];
  const rows = await tx.query<Pick<Row, "json">>(update, [systemId, now, ...columnsOf(bikes)]);
  await tx.query(tell, [systemId]);
  return rows.map((row) => row.json);
}

/** Makes bikes; gives those that were not there, by id: their JSON texts where somebody wants to be told of them, else null. */
export async function insertBikes(
  tx: Transaction,
  systemId: string,
  now: Date,
  bikes: readonly LiveBikeWrite[],
): Promise<Map<string, string | null>> {
  if (bikes.length === 0) return new Map();
  const rows = await tx.query<{ id: string; json: string | null }>(insert, [systemId, now, ...columnsOf(bikes)]);
  await tx.query(tell, [systemId]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

function columnsOf(bikes: readonly LiveBikeWrite[]): unknown[] {
  return [
    bikes.map((bike) => bike.id),
    bikes.map((bike) => bike.number),
    bikes.map((bike) => bike.vehicle_type_id),
    bikes.map((bike) => bike.vehicle_state),
    bikes.map((bike) => bike.station_id),
    bikes.map((bike) => bike.lat),
    bikes.map((bike) => bike.lon),
    bikes.map((bike) => bike.current_range_meters),
    bikes.map((bike) => bike.ride_id),
    bikes.map((bike) => bike.reservation_id),
    bikes.map((bike) => bike.reported_state),
    bikes.map((bike) => bike.reported_state_at),
    bikes.map((bike) => bike.reported_station_id),
    bikes.map((bike) => bike.reported_lat),
    bikes.map((bike) => bike.reported_lon),
    bikes.map((bike) => bike.reported_position_at),
    bikes.map((bike) => bike.reported_range_at),
    bikes.map((bike) => bike.last_reported),
    bikes.map((bike) => bike.renew_public_id),
    bikes.map((bike) => bike.public_id),
  ];
}

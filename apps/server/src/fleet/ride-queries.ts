import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

/** A ride as commands see it, locked. */
export type LiveRide = Pick<
  Tables["rides"],
  | "id"
  | "bike_id"
  | "status"
  | "started_at"
  | "ended_at"
  | "start_station_id"
  | "end_station_id"
  | "distance_meters"
  | "rider_category"
  | "end_reason"
  | "reservation_id"
>;

// One by one (lateral), in the order of their ids, each by the primary key. While the table is young, and nothing is
// known of it yet, `id = any(…)` is planned to read every ride of the system.
const lock = statement(
  "liveRides.lock",
  `select ride.* from (select id from unnest($2::text[]) as given(id) order by id collate "C") as wanted
   cross join lateral (
     select id, bike_id, status, started_at, ended_at, start_station_id, end_station_id, distance_meters, rider_category,
       end_reason, reservation_id
     from rides where system_id = $1 and id = wanted.id for update) as ride`,
);

const bikesOf = statement(
  "liveRides.bikes",
  `select ride.* from unnest($2::text[]) as wanted(id)
   cross join lateral (select id, bike_id from rides where system_id = $1 and id = wanted.id limit 1) as ride`,
);

const insertStarted = statement(
  "liveRides.insertStarted",
  `insert into rides (system_id, id, bike_id, status, start_station_id, started_at, vehicle_type_id, rider_category,
     reservation_id, updated_at, source)
   select $1, id, bike_id, 'started', start_station_id, started_at, vehicle_type_id, rider_category, reservation_id,
     $2::timestamptz, 'operator'
   from unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::text[])
     as started (id, bike_id, start_station_id, started_at, vehicle_type_id, rider_category, reservation_id)
   order by id
   -- Of the id, or of the one started ride that a bike may have.
   on conflict do nothing
   returning id, json`,
);

const finish = statement(
  "liveRides.finish",
  `update rides r set status = f.status, ended_at = f.ended_at, end_station_id = f.end_station_id,
     distance_meters = coalesce(f.distance_meters, r.distance_meters), end_reason = f.end_reason,
     duration_seconds = f.duration_seconds, is_countable = f.is_countable, updated_at = $2::timestamptz
   from unnest($3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::int[], $8::text[], $9::int[], $10::boolean[])
     as f (id, status, ended_at, end_station_id, distance_meters, end_reason, duration_seconds, is_countable)
   where r.system_id = $1 and r.id = f.id and r.status = 'started'
   returning r.id, r.json`,
);

const correct = statement(
  "liveRides.correct",
  `update rides r set ended_at = c.ended_at, start_station_id = c.start_station_id, end_station_id = c.end_station_id,
     distance_meters = c.distance_meters, rider_category = c.rider_category, end_reason = c.end_reason,
     duration_seconds = c.duration_seconds, is_countable = c.is_countable, updated_at = $2::timestamptz
   from json_to_recordset($3::json) as c (id text, ended_at timestamptz, start_station_id text, end_station_id text,
     distance_meters int, rider_category text, end_reason text, duration_seconds int, is_countable boolean)
   where r.system_id = $1 and r.id = c.id and r.status = 'completed'
   returning r.id, r.json`,
);

export interface StartedRide {
  readonly id: string;
  readonly bike_id: string;
  readonly start_station_id: string | null;
  readonly started_at: Date;
  readonly vehicle_type_id: string | null;
  readonly rider_category: LiveRide["rider_category"];
  readonly reservation_id: string | null;
}

export interface FinishedRide {
  readonly id: string;
  readonly status: "completed" | "cancelled";
  readonly ended_at: Date;
  readonly end_station_id: string | null;
  readonly distance_meters: number | null;
  readonly end_reason: NonNullable<LiveRide["end_reason"]>;
  readonly duration_seconds: number;
  readonly is_countable: boolean;
}

/** Locks rides, in the order of their ids, and gives them by id. */
export async function lockRides(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, LiveRide>> {
  const rows = await tx.query<LiveRide>(lock, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The bikes of rides, by the rides' ids; nothing is locked. A ride's bike never changes. */
export async function findBikesOfRides(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<Pick<LiveRide, "id" | "bike_id">>(bikesOf, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row.bike_id]));
}

/** Makes started rides; gives the JSON texts, by id, of those whose id was free. */
export async function insertStartedRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly StartedRide[],
): Promise<Map<string, string>> {
  if (rides.length === 0) return new Map();
  const rows = await tx.query<Pick<Tables["rides"], "id" | "json">>(insertStarted, [
    systemId,
    now,
    rides.map((ride) => ride.id),
    rides.map((ride) => ride.bike_id),
    rides.map((ride) => ride.start_station_id),
    rides.map((ride) => ride.started_at),
    rides.map((ride) => ride.vehicle_type_id),
    rides.map((ride) => ride.rider_category),
    rides.map((ride) => ride.reservation_id),
  ]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

/** Ends started rides, which are locked; gives their JSON texts by id. */
export async function finishRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly FinishedRide[],
): Promise<Map<string, string>> {
  if (rides.length === 0) return new Map();
  const rows = await tx.query<Pick<Tables["rides"], "id" | "json">>(finish, [
    systemId,
    now,
    rides.map((ride) => ride.id),
    rides.map((ride) => ride.status),
    rides.map((ride) => ride.ended_at),
    rides.map((ride) => ride.end_station_id),
    rides.map((ride) => ride.distance_meters),
    rides.map((ride) => ride.end_reason),
    rides.map((ride) => ride.duration_seconds),
    rides.map((ride) => ride.is_countable),
  ]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

/** A completed ride as it is to be. */
export type CorrectedRide = Pick<
  LiveRide,
  "id" | "start_station_id" | "end_station_id" | "distance_meters" | "rider_category" | "end_reason"
> & { readonly ended_at: Date; readonly duration_seconds: number; readonly is_countable: boolean };

/** Corrects completed rides, which are locked; gives their JSON texts by id. */
export async function correctEndedRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly CorrectedRide[],
): Promise<Map<string, string>> {
  if (rides.length === 0) return new Map();
  const rows = await tx.query<Pick<Tables["rides"], "id" | "json">>(correct, [systemId, now, JSON.stringify(rides)]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

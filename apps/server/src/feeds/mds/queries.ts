import type { MultiPolygon } from "@bikeshare/contract";
import type { MdsEventType, MdsVehicleState } from "@bikeshare/contract/mds";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { LeftOutFields } from "./left-out.rules.ts";
import { FORM_FACTOR, joinType, PROPULSION_TYPE } from "./type-sql-fragments.ts";

/*
 * The statements for what agencies read by MDS: agencies and their provider, vehicles, the log of vehicle events, and
 * trips.
 */

/** An agency, with the data of its system's provider: in MDS, that is the operator. */
export interface AgencyRow extends Pick<
  Tables["agencies"],
  "partner_id" | "agency_id" | "time_zone" | "trips_since" | "boundary_hash"
> {
  /** The fields that its requirement file disallows, for each list of MDS (`trips`, `events`, …); null: it has no such file. */
  readonly left_out: LeftOutFields | null;
  /** Its boundary; null: it has none, or the boundary is one of `knownBoundaries`. */
  readonly new_boundary: MultiPolygon | null;
  readonly provider_id: string;
  /** The secret UUID from which `uuidNames` computes the UUIDs that agencies see. */
  readonly namespace: string;
  readonly logged_since: Date;
}

const findAgencyRow = statement(
  "mds.findAgency",
  `select agency.partner_id, agency.agency_id, agency.time_zone, agency.trips_since, agency.boundary_hash,
     case when agency.boundary_hash = any($3::text[]) then null else agency.boundary end as new_boundary,
     agency.left_out, provider.provider_id, provider.namespace, provider.logged_since
   from agencies agency join mds_providers provider on provider.system_id = $1
   where agency.system_id = $1 and agency.partner_id = $2`,
);

const findProviderRow = statement(
  "mds.findProvider",
  "select provider_id, namespace, logged_since from mds_providers where system_id = $1",
);

const insertProviderRow = statement(
  "mds.insertProvider",
  `insert into mds_providers (system_id, provider_id, namespace, logged_since) values ($1, $2, $3, $4)
   on conflict (system_id) do nothing`,
);

/**
 * Returns an agency; undefined when the partner is not one.
 * @param knownBoundaries hashes of boundaries that the caller has in memory, so that they are not read again
 */
export async function findAgency(
  db: QueryRunner,
  systemId: string,
  partnerId: string,
  knownBoundaries: readonly string[] = [],
): Promise<AgencyRow | undefined> {
  return (await db.query<AgencyRow>(findAgencyRow, [systemId, partnerId, knownBoundaries]))[0];
}

/** The operator's ids and dates for MDS, which calls the operator the provider. */
type ProviderRow = Omit<Tables["mds_providers"], "system_id">;

/** Returns a system's provider; undefined before its first agency. */
export async function findProvider(db: QueryRunner, systemId: string): Promise<ProviderRow | undefined> {
  return (await db.query<ProviderRow>(findProviderRow, [systemId]))[0];
}

/** Inserts a system's provider. Changes nothing if the system has one. */
export async function insertProvider(
  tx: Transaction,
  systemId: string,
  { provider_id, namespace, logged_since }: ProviderRow,
): Promise<void> {
  await tx.query(insertProviderRow, [systemId, provider_id, namespace, logged_since]);
}

/** The facts about a vehicle that responses to agencies need. */
export interface VehicleRow {
  readonly id: string;
  readonly number: string | null;
  /** The vehicle's last event in the log, as JSON. */
  readonly last_event: string;
  readonly vehicle_state: string;
  readonly station_id: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
  readonly position_at: Date | null;
  readonly battery_percent: number | null;
  /** The position of its last event, as `event_lat` and `event_lon`; null: unknown. */
  readonly event_lat: number | null;
  readonly event_lon: number | null;
  /** The position before its last event, as `from_lat` and `from_lon`; null: it did not move, or the position is unknown. */
  readonly from_lat: number | null;
  readonly from_lon: number | null;
  readonly form_factor: string | null;
  readonly propulsion_type: string | null;
}

// Parts of the statements below: the columns of a `VehicleRow`, and the tables that they come from.
const event = "b.last_event::json";
const vehicle = `b.id, b.number, b.last_event, b.vehicle_state, b.station_id, b.lat, b.lon,
  b.reported_position_at as position_at, b.battery_percent,
  coalesce((${event} ->> 'lat')::double precision, s.lat) as event_lat,
  coalesce((${event} ->> 'lon')::double precision, s.lon) as event_lon,
  coalesce((${event} #>> '{from,lat}')::double precision, origin.lat) as from_lat,
  coalesce((${event} #>> '{from,lon}')::double precision, origin.lon) as from_lon,
  ${FORM_FACTOR} as form_factor, ${PROPULSION_TYPE} as propulsion_type`;
const from = `from bikes b
  left join stations s on s.system_id = $1 and s.id = ${event} ->> 'station_id'
  left join stations origin on origin.system_id = $1 and origin.id = ${event} #>> '{from,station_id}'
  ${joinType("b.vehicle_type_id")}`;

// Makes the statement of a list. Leaves out a vehicle in one of `states` only if its last event was before $3, so that a
// vehicle stays listed for some time after it left.
const listRows = (name: string, states: string, condition = "") =>
  statement(
    name,
    `select ${vehicle} ${from}
     where b.system_id = $1 and b.last_event is not null and b.id > $2
       and not (b.vehicle_state in (${states}) and (${event} ->> 'at')::double precision < $3)${condition}
     order by b.id limit $4`,
  );
// The list `deployed`: only removed vehicles leave it.
const deployed = listRows("mds.listVehicles", "'removed'");
// The list `statuses`: lost vehicles leave it too. It never has vehicles whose last event has no position.
const statuses = listRows(
  "mds.listVehicleStatuses",
  "'removed', 'missing'",
  ` and coalesce((${event} ->> 'lat')::double precision, s.lat) is not null`,
);
// Unlike the lists, also finds a vehicle that left long ago.
const byId = statement(
  "mds.findVehicle",
  `select ${vehicle} ${from} where b.system_id = $1 and b.last_event is not null and b.id = $2`,
);
const listIds = statement(
  "mds.listVehicleIds",
  "select id from bikes where system_id = $1 and last_event is not null and id > $2 order by id limit $3",
);

/** Which vehicles of a list to return. The list is in the order of their ids. */
export interface VehiclePart {
  /** Returns vehicles after this id; empty: from the first. */
  readonly after: string;
  /** Vehicles that left before this time, in milliseconds since 1970, are not listed. */
  readonly leftSince: number;
  readonly limit: number;
}

/** Returns vehicles that are deployed, or were deployed until recently. */
export function listVehicles(
  db: QueryRunner,
  systemId: string,
  list: "deployed" | "statuses",
  { after, leftSince, limit }: VehiclePart,
): Promise<VehicleRow[]> {
  return db.query<VehicleRow>(list === "deployed" ? deployed : statuses, [systemId, after, leftSince, limit]);
}

/** Returns a vehicle; undefined when there is none with this id whose events are logged. */
export async function findVehicle(db: QueryRunner, systemId: string, id: string): Promise<VehicleRow | undefined> {
  return (await db.query<VehicleRow>(byId, [systemId, id]))[0];
}

/** Returns the ids of vehicles whose events are logged, after an id and in the order of ids. */
export async function listVehicleIds(
  db: QueryRunner,
  systemId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  return (await db.query<{ id: string }>(listIds, [systemId, after, limit])).map(({ id }) => id);
}

/** An event of a vehicle in the log, with the position of its station if the vehicle reported none. */
export interface EventRow extends Omit<Tables["vehicle_events"], "system_id" | "happened_on" | "from_station_id"> {
  readonly from_state: MdsVehicleState | null;
  readonly vehicle_state: MdsVehicleState;
  readonly event_type: MdsEventType;
}

// The conditions of one hour, and of a period from the day $2 to the day $8. That on `happened_on` selects the partitions.
const inHour = "e.system_id = $1 and e.happened_on = $2::date and e.at >= $3::timestamptz and e.at < $4::timestamptz";
const inDays =
  "e.system_id = $1 and e.happened_on between $2::date and $8::date and e.at >= $3::timestamptz and e.at < $4::timestamptz";
// Makes the statement of a list of the log. It returns at most $7 rows after the row with the time $5 and the id $6. For a
// vehicle that reported no position, it returns the position of the station. @param more further columns
const listLog = (name: string, condition: string, more = "") =>
  statement(
    name,
    `select e.id, e.at, e.recorded_at, e.bike_id, e.vehicle_state, e.event_type, e.ride_id, e.station_id, e.battery_percent,
     coalesce(e.lat, s.lat) as lat, coalesce(e.lon, s.lon) as lon, e.from_state,
     coalesce(e.from_lat, origin.lat) as from_lat, coalesce(e.from_lon, origin.lon) as from_lon${more}
   from (select * from vehicle_events e where ${condition} and (e.at, e.id) > ($5::timestamptz, $6::uuid)
         order by e.at, e.id limit $7) as e
   left join stations s on s.system_id = $1 and s.id = e.station_id
   left join stations origin on origin.system_id = $1 and origin.id = e.from_station_id
   order by e.at, e.id`,
  );
const isEvent = "e.event_type <> 'position'";
const listHour = listLog("mds.listEvents", `${inHour} and ${isEvent}`);
const listRecent = listLog("mds.listRecentEvents", `${inDays} and ${isEvent}`);
// `is_under_way` tells whether the bike's latest ride that began before the position had not ended by then. It is computed
// when positions are read, because a position can arrive before the report that its ride started.
const listHourPoints = listLog(
  "mds.listPoints",
  inHour,
  `, e.event_type = 'position' and exists (
       select from (select ended_at from rides r where r.system_id = $1 and r.bike_id = e.bike_id and r.started_at <= e.at
                    order by r.started_at desc, r.id desc limit 1) as ride
       where ride.ended_at is null or ride.ended_at > e.at) as is_under_way`,
);
const stateOfHour = statement(
  "mds.stateOfHour",
  `select count(*) as n, max(recorded_at) as recorded_at from vehicle_events e where ${inHour}`,
);

/** An hour of the log: its day in UTC, its start and its end. */
export interface LogHour {
  readonly day: string;
  readonly from: Date;
  readonly to: Date;
}

/** Returns events of an hour that follow `after`, in the order of their times and ids. */
export function listEvents(
  db: QueryRunner,
  systemId: string,
  { day, from: start, to }: LogHour,
  after: Pick<EventRow, "at" | "id">,
  limit: number,
): Promise<EventRow[]> {
  return db.query<EventRow>(listHour, [systemId, day, start, to, after.at, after.id, limit]);
}

/** A point of the log: an event, or a position that was reported without an event. */
export interface PointRow extends Omit<EventRow, "event_type"> {
  readonly event_type: MdsEventType | "position";
  /** Whether the point is a position that was reported during a ride. */
  readonly is_under_way: boolean;
}

/** Like `listEvents`, but also returns the positions that vehicles reported without an event. */
export function listPoints(
  db: QueryRunner,
  systemId: string,
  { day, from: start, to }: LogHour,
  after: Pick<PointRow, "at" | "id">,
  limit: number,
): Promise<PointRow[]> {
  return db.query<PointRow>(listHourPoints, [systemId, day, start, to, after.at, after.id, limit]);
}

/** A period of the log, with its first and last day in UTC. */
interface LogSpan {
  readonly firstDay: string;
  readonly lastDay: string;
  readonly from: Date;
  readonly to: Date;
}

/** Returns events of a period that follow `after`, in the order of their times and ids. */
export function listRecentEvents(
  db: QueryRunner,
  systemId: string,
  { firstDay, lastDay, from: start, to }: LogSpan,
  after: Pick<EventRow, "at" | "id">,
  limit: number,
): Promise<EventRow[]> {
  return db.query<EventRow>(listRecent, [systemId, firstDay, start, to, after.at, after.id, limit, lastDay]);
}

/** Returns how many events and positions an hour has, and when the newest was recorded. Each new one changes the result. */
export async function findStateOfHour(
  db: QueryRunner,
  systemId: string,
  { day, from: start, to }: LogHour,
): Promise<{ readonly n: number; readonly recorded_at: Date | null }> {
  return oneRow(await db.query<{ n: number; recorded_at: Date | null }>(stateOfHour, [systemId, day, start, to]));
}

/** A completed ride, with the positions of its start and end: those that the ride has, or those of its stations. */
export interface TripRow extends Pick<
  Tables["rides"],
  "id" | "bike_id" | "started_at" | "updated_at" | "standard_cost" | "actual_cost" | "currency"
> {
  readonly ended_at: Date;
  readonly duration_seconds: number;
  readonly distance_meters: number | null;
  readonly start_lat: number | null;
  readonly start_lon: number | null;
  readonly end_lat: number | null;
  readonly end_lon: number | null;
  /** Whether its bike has a lasting id. */
  readonly is_named: boolean;
  /** Whether it ended at a virtual station; null: it ended outside a station, or at one that no longer exists. */
  readonly is_virtual_end: boolean | null;
}

// `is_named` is false for bikes of feeds, whose ids change, and for rides of trip files without bike ids, which have one
// bike for each ride: such a bike has no lasting id for MDS. It is a column rather than a condition, because as a condition
// it would make PostgreSQL sort all rides of the hour for each batch.
const endedIn = `from rides r
  where r.system_id = $1 and r.ended_at >= $2::timestamptz and r.ended_at < $3::timestamptz and r.status = 'completed'`;
const listTripRows = statement(
  "mds.listTrips",
  `select r.id, r.bike_id, r.started_at, r.ended_at, r.updated_at, r.duration_seconds, r.distance_meters,
     r.standard_cost, r.actual_cost, r.currency,
     coalesce(b.source, 'operator') = 'operator' and r.bike_id <> r.source || ':ride:' || r.id as is_named,
     coalesce(r.start_lat, origin.lat) as start_lat, coalesce(r.start_lon, origin.lon) as start_lon,
     coalesce(r.end_lat, target.lat) as end_lat, coalesce(r.end_lon, target.lon) as end_lon,
     target.is_virtual_station as is_virtual_end
   from (select r.* ${endedIn} and (r.ended_at, r.id) > ($4::timestamptz, $5) order by r.ended_at, r.id limit $6) as r
   left join bikes b on b.system_id = $1 and b.id = r.bike_id
   left join stations origin on origin.system_id = $1 and origin.id = r.start_station_id
   left join stations target on target.system_id = $1 and target.id = r.end_station_id
   order by r.ended_at, r.id`,
);
const stateOfTripHour = statement(
  "mds.stateOfTrips",
  `select count(*) as n, max(r.updated_at) as recorded_at ${endedIn}`,
);

/** Returns completed rides that ended in an hour and follow `after`, in the order of their ends and ids. */
export function listTrips(
  db: QueryRunner,
  systemId: string,
  { from: start, to }: LogHour,
  after: Pick<TripRow, "ended_at" | "id">,
  limit: number,
): Promise<TripRow[]> {
  return db.query<TripRow>(listTripRows, [systemId, start, to, after.ended_at, after.id, limit]);
}

/** Returns how many completed rides ended in an hour, and when one of these was last written. */
export async function findStateOfTrips(
  db: QueryRunner,
  systemId: string,
  { from: start, to }: LogHour,
): Promise<{ readonly n: number; readonly recorded_at: Date | null }> {
  return oneRow(await db.query<{ n: number; recorded_at: Date | null }>(stateOfTripHour, [systemId, start, to]));
}

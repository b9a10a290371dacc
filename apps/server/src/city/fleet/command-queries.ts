import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { rowsOfSystem } from "../../storage/db/rows.ts";
import { CHANGED, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { dayOf } from "../../storage/partitions/partition.rules.ts";
import { isSubscribed } from "../../webhooks/queue/sql-fragments.ts";
import { recordUpdated, stateOf, stateSince } from "../history/changes-sql-fragments.ts";
import type { BikeState } from "./bike.rules.ts";
import { freeDocks, hasOwnDocks, standsInDock } from "./dock-sql-fragments.ts";
import type { VehicleEvent, VehiclePosition } from "./vehicle-events.rules.ts";

/*
 * The statements that only command.ts may run: a caller that wrote a bike without command.ts could forget the counters that
 * depend on it. A station's counters are its numbers of bikes and docks. Operated counters are counted from the bikes;
 * mirrored counters come from a feed, and commands only shift them until the next snapshot.
 *
 * A statement whose last part is a `select` without columns returns nothing: `with` needs one.
 *
 * `CHANGED` gives a row a new position in the order of changes, which clients follow. `stateSince`, `stateOf` and
 * `recordUpdated` record a station's new state in its history. `rowsOfSystem` joins rows from parameters with the system, so
 * that a distributed database knows their node; their alias `placed` has the column `system_id`. `standsInDock`,
 * `hasOwnDocks` and `freeDocks` say which bikes take a dock, at which stations docks are counted, and how many are free.
 */

const columns = columnsOfTable("bikes").without("system_id", "updated_at", "source", "source_facts", "change_position");

/** The columns of `BikeState`. Before the first report of a bike, other columns give its `reported_` values. */
const state = `${columns.without("reported_state", "reported_station_id", "reported_lat", "reported_lon").list()}, source,
  coalesce(reported_state, case when vehicle_state in ('reserved', 'on_trip') then 'available' else vehicle_state end) as reported_state,
  case when reported_position_at is null and reported_state is null then station_id else reported_station_id end as reported_station_id,
  case when reported_position_at is null and reported_state is null then lat else reported_lat end as reported_lat,
  case when reported_position_at is null and reported_state is null then lon else reported_lon end as reported_lon`;

const lockBikesById = statement(
  "fleet.lockBikes",
  `select ${state} from bikes where system_id = $1 and id = any($2::text[]) order by id for update`,
);

// Finds and locks the bikes of rides or reservations in one statement. The lateral join looks up each ride or reservation
// by its primary key.
const lockBikesHeldBy = (name: string, table: "rides" | "reservations") =>
  statement(
    name,
    `select ${state} from bikes
     where system_id = $1 and id = any(array(
       select held.bike_id from unnest($2::text[]) as wanted(id)
       cross join lateral (select bike_id from ${table} where system_id = $1 and id = wanted.id limit 1) as held))
     order by id for update`,
  );
const lockBikesByRide = lockBikesHeldBy("fleet.lockBikesOfRides", "rides");
const lockBikesByReservation = lockBikesHeldBy("fleet.lockBikesOfReservations", "reservations");

// Skips bikes that other transactions have locked. It never waits, so it cannot deadlock, whatever else is locked.
const lockBestFreeBikes = statement(
  "fleet.lockFreeBikes",
  `select free.* from unnest($2::text[], $3::text[], $4::int[]) as wanted (station, type, n)
   cross join lateral (
     select ${state} from bikes
     where system_id = $1 and station_id = wanted.station and (wanted.type is null or vehicle_type_id = wanted.type)
       and vehicle_state = 'available' and ride_id is null and reservation_id is null
     order by current_range_meters desc nulls last, id limit wanted.n for update skip locked) as free`,
);

const insertBikeRows = statement(
  "fleet.insertBikes",
  `with notice as materialized (select ${isSubscribed("bike.state_changed")} as is_wanted),
   inserted as (
     insert into bikes (system_id, updated_at, source, ${columns.list()})
     select $1, $2::timestamptz, 'operator', ${columns.list()} from ${columns.unnest(3, "w")}
     order by id
     on conflict (system_id, id) do nothing
     returning id, json)
   select id, case when is_wanted then json end as json from inserted cross join notice`,
);

// The sub-select sees the bike as it was before the statement: `returning` gives only the new version of a row. `step` is a
// further query of the statement, with a comma after it.
const updateBikeRows = (name: string, step = "") =>
  statement(
    name,
    `with ${step}changed as (
   update bikes b set ${CHANGED}, ${columns.without("id").assignments("w")}, ${updatedAt("b", "$2")}
   from ${columns.unnest(3, "w")}
   where b.system_id = $1 and b.id = w.id
   returning b.id, case when ${isSubscribed("bike.state_changed")} and b.vehicle_state <> (
     select before.vehicle_state from bikes before where before.system_id = $1 and before.id = b.id) then b.json end as json)
   select json from changed where json is not null order by id`,
  );
const updateUnloggedBikes = updateBikeRows("fleet.updateBikes");

const eventColumns = columnsOfTable("vehicle_events").without("system_id");
/** $1 and $2 are the system and the time; then come the columns of bikes, then those of events. */
const FIRST_EVENT_PARAMETER = 3 + columns.names.length;
const updateLoggedBikes = updateBikeRows(
  "fleet.updateLoggedBikes",
  `logged as (
     insert into vehicle_events (system_id, ${eventColumns.list()})
     select placed.system_id, ${eventColumns.list("event")}
     from ${rowsOfSystem(eventColumns.unnest(FIRST_EVENT_PARAMETER, "event"))}),
   `,
);

// A system has a row in `mds_providers` once it has an agency that reads it by MDS.
const findProvider = statement("fleet.isLogged", "select 1 as n from mds_providers where system_id = $1");

const insertRetiredPublicIds = statement(
  "fleet.retirePublicIds",
  `insert into retired_public_ids (system_id, public_id, bike_id, retired_at)
   select $1, public_id, bike_id, $2::timestamptz from unnest($3::text[], $4::text[]) as w(public_id, bike_id)
   on conflict (system_id, public_id) do nothing`,
);

// Locks stations before their bikes are recounted, so that the recount sees the changes of every other command. A station
// with mirrored counters is locked only when its counters change.
const lockCounted = statement(
  "fleet.lockCountedStations",
  `select id, counters, status from stations
   where system_id = $1 and id = any($2::text[]) and (counters = 'operated' or id = any($3::text[]))
   order by id for update`,
);

/** SQL: an element of the JSON array `vehicle_types_available`, as text. */
const typeJson = (id: string, count: string) =>
  `'{"vehicle_type_id":' || to_json(${id}) || ',"count":' || ${count} || '}'`;

// The lateral join counts the bikes of each station through an index, whatever the planner's statistics say. With a plain
// join the planner sometimes reads every bike of the system for one batch. `by_type` is the JSON of the available bikes by
// type. It is written as text, so that it can be compared with the stored one.
const recount = statement(
  "fleet.recountStations",
  `with counts as materialized (
     select wanted.id, coalesce(c.available, 0) as available, coalesce(c.reserved, 0) as reserved,
       coalesce(c.disabled, 0) as disabled, coalesce(c.standing, 0) as standing, coalesce(c.by_type, '[]') as by_type
     from unnest($2::text[]) as wanted(id)
     left join lateral (
       select sum(available)::int as available, sum(reserved)::int as reserved, sum(disabled)::int as disabled,
         sum(standing)::int as standing,
         '[' || string_agg(${typeJson("vehicle_type_id", "available")}, ','
           order by vehicle_type_id) filter (where vehicle_type_id is not null) || ']' as by_type
       from (select vehicle_type_id, count(*) filter (where vehicle_state = 'available') as available,
               count(*) filter (where vehicle_state = 'reserved') as reserved,
               count(*) filter (where vehicle_state = 'non_operational') as disabled,
               count(*) filter (where ${standsInDock("bikes")}) as standing
             from bikes where system_id = $1 and station_id = wanted.id group by vehicle_type_id) as types) as c on true),
   updated as (
   update stations s set ${CHANGED}, ${stateSince("s", "$3")}, num_bikes_available = c.available,
     num_bikes_reserved = c.reserved, num_bikes_disabled = c.disabled, vehicle_types_available = c.by_type::json,
     num_docks_available = c.docks, ${updatedAt("s", "$3")}
   from (select counts.*, case when ${hasOwnDocks("station")} then ${freeDocks({
     base: "station.docks_base",
     capacity: "station.capacity",
     disabled: "station.num_docks_disabled",
     standing: "counts.standing",
   })} else station.num_docks_available end as docks
     from counts join stations station on station.system_id = $1 and station.id = counts.id) as c
   where s.system_id = $1 and s.id = c.id and s.counters = 'operated'
     and (s.num_bikes_available, s.num_bikes_reserved, s.num_bikes_disabled, s.vehicle_types_available::text,
         s.num_docks_available)
       is distinct from (c.available, c.reserved, c.disabled, c.by_type, c.docks)
   returning s.id, ${stateOf("s")}),
   ${recordUpdated("updated")}
   select`,
);

// Adds the given shifts to each listed type, adds up the types listed earlier, and limits each type to what is left of the
// new total: when a bike leaves whose type the feed does not list, the last listed types count fewer. `before` is the sum of
// the counts of the types listed earlier. Docks are not shifted: only the feed of a mirrored station tells their number.
const shift = statement(
  "fleet.shiftCounters",
  `with given as materialized (
     select id, type, sum(available)::int as available, sum(reserved)::int as reserved
     from unnest($2::text[], $3::int[], $4::int[], $6::text[]) as each(id, available, reserved, type)
     group by id, type),
   total as materialized (
     select id, sum(available)::int as available, sum(reserved)::int as reserved
     from given group by id having bool_or(available <> 0 or reserved <> 0)),
   updated as (
   update stations s set ${CHANGED}, ${stateSince("s", "$5")}, num_bikes_available = greatest(0, s.num_bikes_available + total.available),
     num_bikes_reserved = greatest(0, s.num_bikes_reserved + total.reserved),
     vehicle_types_available = (
       select coalesce('[' || string_agg(${typeJson("id", "greatest(0, least(count, s.num_bikes_available + total.available - before))")},
         ',' order by n) || ']', '[]')
       from (select id, count, n, sum(count) over (order by n) - count as before
             from (select type ->> 'vehicle_type_id' as id, n, greatest(0, (type ->> 'count')::bigint + coalesce(
                     (select given.available from given where given.id = s.id and given.type = listed.type ->> 'vehicle_type_id'),
                     0)) as count
                   from json_array_elements(s.vehicle_types_available) with ordinality as listed(type, n)) as shifted) as summed
     )::json,
     ${updatedAt("s", "$5")}
   from total
   where s.system_id = $1 and s.id = total.id
   returning s.id, ${stateOf("s")}),
   ${recordUpdated("updated")}
   select`,
);

/** Records public ids that bikes no longer have. */
export function retirePublicIds(
  tx: Transaction,
  systemId: string,
  now: Date,
  retired: readonly { readonly publicId: string; readonly bikeId: string }[],
): void {
  const publicIds = retired.map(({ publicId }) => publicId);
  tx.send(insertRetiredPublicIds, [systemId, now, publicIds, retired.map(({ bikeId }) => bikeId)]);
}

/** Locks bikes in the order of their ids. */
export function lockBikes(tx: Transaction, systemId: string, ids: readonly string[]): Promise<BikeState[]> {
  return tx.query<BikeState>(lockBikesById, [systemId, ids]);
}

/** Locks the bikes of rides, in the order of the bikes' ids. */
export function lockBikesOfRides(tx: Transaction, systemId: string, rideIds: readonly string[]): Promise<BikeState[]> {
  return tx.query<BikeState>(lockBikesByRide, [systemId, rideIds]);
}

/** Locks the bikes of reservations, in the order of the bikes' ids. */
export function lockBikesOfReservations(
  tx: Transaction,
  systemId: string,
  reservationIds: readonly string[],
): Promise<BikeState[]> {
  return tx.query<BikeState>(lockBikesByReservation, [systemId, reservationIds]);
}

/** A request for up to `limit` free bikes of a station. */
export interface WantedFreeBikes {
  readonly stationId: string;
  /** Null: any type. */
  readonly vehicleTypeId: string | null;
  readonly limit: number;
}

/**
 * Locks free bikes that no other transaction has locked: at each station those with the longest range. Returns a bike
 * twice when it matches two of the requests.
 */
export function lockFreeBikes(
  tx: Transaction,
  systemId: string,
  wanted: readonly WantedFreeBikes[],
): Promise<BikeState[]> {
  return tx.query<BikeState>(lockBestFreeBikes, [
    systemId,
    wanted.map(({ stationId }) => stationId),
    wanted.map(({ vehicleTypeId }) => vehicleTypeId),
    wanted.map(({ limit }) => limit),
  ]);
}

/** A bike that was inserted, with its JSON; null when no webhook endpoint subscribes to `bike.state_changed`. */
export interface InsertedBike {
  readonly id: string;
  readonly json: string | null;
}

/** Inserts the bikes whose ids are free. @returns the inserted bikes */
export function insertBikes(
  tx: Transaction,
  systemId: string,
  now: Date,
  bikes: readonly BikeState[],
): Promise<InsertedBike[]> {
  return tx.query<InsertedBike>(insertBikeRows, [systemId, now, ...columns.arrays(bikes)]);
}

/** Tells whether the vehicle events of a system are logged. */
export async function isLoggedSystem(tx: Transaction, systemId: string): Promise<boolean> {
  return (await tx.query(findProvider, [systemId])).length > 0;
}

/** A vehicle event or position, with the id of its bike. */
export type LoggedEvent = (VehicleEvent | VehiclePosition) & { readonly bike_id: string };

/**
 * Updates locked bikes, and logs their events.
 * @returns the JSON of bikes whose state changed; empty when no webhook endpoint subscribes to `bike.state_changed`
 */
export async function updateBikes(
  tx: Transaction,
  systemId: string,
  now: Date,
  bikes: readonly BikeState[],
  events: readonly LoggedEvent[],
): Promise<string[]> {
  const values = [systemId, now, ...columns.arrays(bikes)];
  const rows = await (events.length === 0
    ? tx.query<{ json: string }>(updateUnloggedBikes, values)
    : tx.query<{ json: string }>(updateLoggedBikes, [...values, ...eventColumns.arrays(events.map(eventRow))]));
  return rows.map(({ json }) => json);
}

/**
 * Locks stations in the order of their ids: those of `ids` with operated counters, and those of `shiftedIds` with mirrored
 * counters.
 */
export async function lockCountedStations(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
  shiftedIds: readonly string[],
): Promise<{ readonly operated: string[]; readonly mirrored: ReadonlySet<string>; readonly removed: string[] }> {
  const rows = await tx.query<Pick<Tables["stations"], "id" | "counters" | "status">>(lockCounted, [
    systemId,
    ids,
    shiftedIds,
  ]);
  const idsOf = (isOne: (row: (typeof rows)[number]) => boolean) => rows.filter(isOne).map(({ id }) => id);
  return {
    operated: idsOf(({ counters }) => counters === "operated"),
    mirrored: new Set(idsOf(({ counters }) => counters === "mirrored")),
    removed: idsOf(({ status }) => status === "removed"),
  };
}

/** Sets the counters of locked stations with operated counters by counting their bikes. */
export function updateCounters(tx: Transaction, systemId: string, now: Date, stationIds: readonly string[]): void {
  tx.send(recount, [systemId, stationIds, now]);
}

/** Returns the row of `vehicle_events` for an event or a position. Only an event may have `from`, the origin of a move. */
function eventRow({ at, recorded_at: recordedAt, ...event }: LoggedEvent) {
  const from = "from" in event ? event.from : undefined;
  return {
    ...event,
    at: new Date(at),
    recorded_at: new Date(recordedAt),
    happened_on: dayOf(at),
    from_state: from?.state ?? null,
    from_station_id: from?.station_id ?? null,
    from_lat: from?.lat ?? null,
    from_lon: from?.lon ?? null,
  };
}

/**
 * A change of a station's mirrored counters for one vehicle type: the `CounterShift` of `@bikeshare/rules` with that type.
 * The next snapshot overwrites it.
 */
export interface CounterShift {
  readonly stationId: string;
  /** Null: unknown type. */
  readonly vehicleTypeId: string | null;
  readonly available: number;
  readonly reserved: number;
}

/** Changes the mirrored counters of locked stations. */
export function updateCountersBy(tx: Transaction, systemId: string, now: Date, shifts: readonly CounterShift[]): void {
  tx.send(shift, [
    systemId,
    shifts.map(({ stationId }) => stationId),
    shifts.map(({ available }) => available),
    shifts.map(({ reserved }) => reserved),
    now,
    shifts.map(({ vehicleTypeId }) => vehicleTypeId),
  ]);
}

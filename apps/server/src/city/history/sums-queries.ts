import type { Queryable, QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { runsOf, stationPieces } from "./changes-sql-fragments.ts";

// The statements of `sums.ts`, which keeps the sums for summaries and forecasts: rides and states of each station by hour
// (`station_hours`), rides between pairs of stations by day (`flow_days`, called flows), rides by quarter of an hour
// (`ride_quarters`), and samples of the fleet (`fleet_samples`).
//
// A mark is a row that asks for an hour (`sum_marks`) or a day of flows (`flow_marks`) to be summed again. Summing computes
// all of it anew and deletes its marks. A mark with `and_after` stands for its hour and all later ones. A mark with
// `is_first` says that its hour has no sums yet, so readers show the rides as unknown rather than 0.
//
// `rowsOfSystem` joins rows with `placed`, the system's row of `placed_systems`, which a distributed database needs for
// an insert. A statement that only writes ends with an empty `select`: the steps of its `with` do the work.

/**
 * The progress of a system's sums:
 * - `position`: rides that were written up to it have marked their hours
 * - `next_hour`: the first hour that has not been marked as ended
 * - `summed_from`: the first hour that readers take as summed
 * - `summed_to`: until when the current hour has been summed
 * - `flows_to`: the last time at which no day of flows was marked
 */
export type SumProgress = Tables["sum_progress"];

const insertMarks = statement(
  "sums.insertMarks",
  `insert into sum_marks (system_id, hour, of_flows)
   select placed.system_id, marked.hour, true
   from ${rowsOfSystem("unnest($2::timestamptz[]) as marked (hour)")}`,
);

/** Marks hours, with their days of flows, as to be summed again, in the transaction that changes rides in them. */
export function insertSumMarks(tx: Pick<Transaction, "send">, systemId: string, hours: Iterable<Date>): void {
  const distinct = [...new Set([...hours].map((hour) => hour.getTime()))].sort((a, b) => a - b);
  if (distinct.length > 0) tx.send(insertMarks, [systemId, distinct.map((hour) => new Date(hour))]);
}

const insertOpenMarkStatement = statement(
  "sums.insertOpenMark",
  "insert into sum_marks (system_id, hour, of_flows, and_after) values ($1, $2, false, true)",
);

/** Marks an hour and all later past hours as to be summed again, because a station's state lasts until its next change. */
export function insertOpenMark(tx: Pick<Transaction, "send">, systemId: string, hour: Date): void {
  tx.send(insertOpenMarkStatement, [systemId, hour]);
}

const expandMarks = statement(
  "sums.expandOpenMarks",
  `with opened as (
     delete from sum_marks where system_id = $1 and and_after returning hour),
   written as (
     insert into sum_marks (system_id, hour, of_flows)
     select placed.system_id, marked.hour, false
     from ${rowsOfSystem(
       `(select min(hour) as hour from opened) as earliest
         cross join generate_series($2::timestamptz, $3::timestamptz - interval '1 hour', interval '1 hour') as marked (hour)`,
       `marked.hour >= earliest.hour
         and not exists (select from sum_marks known where known.system_id = $1 and known.hour = marked.hour and not known.and_after)`,
     )})
   select (select min(hour) from opened) as "from"`,
);

/**
 * Replaces the marks of `insertOpenMark` by one mark for each hour from the earliest of them on, unless the hour is marked
 * already. Hours before `oldest`, and from `nextHour` on, get no mark.
 * @returns the hour of the earliest replaced mark; null: there was none
 */
export async function expandOpenMarks(
  tx: Transaction,
  systemId: string,
  { oldest, nextHour }: { readonly oldest: Date; readonly nextHour: Date },
): Promise<Date | null> {
  return oneRow(await tx.query<{ from: Date | null }>(expandMarks, [systemId, oldest, nextHour])).from;
}

const beginProgress = statement(
  "sums.beginProgress",
  `insert into sum_progress (system_id, position, summed_from, next_hour, time_zone)
   select placed.system_id, 0, first.hour, first.hour, $2
   from placed_systems placed cross join (
     select date_trunc('hour', greatest($3::timestamptz, least($4::timestamptz,
       (select min(started_at) from rides where system_id = $1),
       (select min(known_since) from stations where system_id = $1)))) as hour) as first
   where placed.system_id = $1
   on conflict (system_id) do nothing`,
);

const lockProgress = statement(
  "sums.lockProgress",
  "select * from sum_progress where system_id = $1 for update skip locked",
);

const findProgress = statement("sums.findProgress", "select * from sum_progress where system_id = $1");

const updateProgress = statement(
  "sums.updateProgress",
  `update sum_progress set position = $2::bigint, summed_from = $3::timestamptz, next_hour = $4::timestamptz,
     summed_to = $5::timestamptz, flows_to = $6::timestamptz, time_zone = $7
   where system_id = $1`,
);

/** Begins the sums of a system, if they have not begun, at its first ride or station state, but not before `oldest`. */
export async function insertProgress(
  tx: Transaction,
  systemId: string,
  { timeZone, oldest, now }: { readonly timeZone: string; readonly oldest: Date; readonly now: Date },
): Promise<void> {
  await tx.query(beginProgress, [systemId, timeZone, oldest, now]);
}

/** Keeps other processes from summing. @returns the progress of the sums; undefined when another process sums */
export async function lockSumProgress(tx: Transaction, systemId: string): Promise<SumProgress | undefined> {
  return (await tx.query<SumProgress>(lockProgress, [systemId]))[0];
}

/** Returns the progress of the sums; undefined: they have not begun. */
export async function findSumProgress(db: QueryRunner, systemId: string): Promise<SumProgress | undefined> {
  return (await db.query<SumProgress>(findProgress, [systemId]))[0];
}

/** Stores the progress of a system's sums, whose row is locked. */
export function updateSumProgress(tx: Transaction, progress: SumProgress): void {
  const { system_id, position, summed_from, next_hour, summed_to, flows_to, time_zone } = progress;
  tx.send(updateProgress, [system_id, position, summed_from, next_hour, summed_to, flows_to, time_zone]);
}

/**
 * SQL: the hour in which an instant lies. It does not use `date_trunc`, because Citus refuses functions of columns in a
 * `delete` that may depend on a setting.
 */
const utcHour = (instant: string) => `date_bin(interval '1 hour', ${instant}, timestamptz 'epoch')`;

// `change_position` is the time of a ride's last write, in microseconds since 1970. Rides that were written before
// change positions existed have position 0. They are summed when the sums begin.
const changedHours = statement(
  "sums.changedHours",
  `with last as materialized (
     select coalesce((
       select change_position from rides
       where system_id = $1 and change_position > $2::bigint and change_position < $3::bigint
       order by change_position offset $4::int limit 1), $3::bigint - 1) as position),
   changed as materialized (
     select started_at, ended_at from rides
     where system_id = $1 and change_position > $2::bigint and change_position <= (select position from last))
   select (select position from last) as position, count(*) as n,
     array(select distinct ${utcHour("at")}
       from (select started_at as at from changed union all select ended_at from changed) as both_ends where at is not null) as hours
   from changed`,
);

/** The hours in which rides that were written since a position started and ended. */
export interface ChangedHours {
  /** The position of the last ride that was read, or just before `before` if all were read. */
  readonly position: number;
  /** The number of rides that were read. */
  readonly n: number;
  readonly hours: readonly Date[];
}

/**
 * Finds the hours of rides that were written after a position and before another.
 * @param before a position before which all writes are visible
 * @param limit the rides to read, in the order of their positions; one more is read if there are more
 */
export async function findChangedHours(
  tx: Transaction,
  systemId: string,
  { after, before, limit }: { readonly after: number; readonly before: number; readonly limit: number },
): Promise<ChangedHours> {
  return oneRow(await tx.query<ChangedHours>(changedHours, [systemId, after, before, limit]));
}

const markHours = statement(
  "sums.markHours",
  `insert into sum_marks (system_id, hour, of_flows, is_first)
   select placed.system_id, marked.hour, true, $4::timestamptz is null or marked.hour >= $4
   from ${rowsOfSystem("generate_series($2::timestamptz, $3::timestamptz - interval '1 hour', interval '1 hour') as marked (hour)")}`,
);

/**
 * Marks every hour from `from` until before `to`, with its days of flows.
 * @param summedTo the instant until which hours were summed while they were current; null: none was. Marks the hours from
 *   this instant on as never summed (`is_first`)
 */
export async function insertMarksBetween(
  tx: Transaction,
  systemId: string,
  { from, to, summedTo }: { readonly from: Date; readonly to: Date; readonly summedTo: Date | null },
): Promise<void> {
  await tx.query(markHours, [systemId, from, to, summedTo]);
}

const markRideHours = statement(
  "sums.markRideHours",
  `insert into sum_marks (system_id, hour, of_flows, is_first)
   select placed.system_id, marked.hour, false, not exists (
     select from ride_quarters q
     where q.system_id = $1 and q.starts_at >= marked.hour and q.starts_at < marked.hour + interval '1 hour')
   from ${rowsOfSystem("unnest($2::timestamptz[]) as marked (hour)")}`,
);

/**
 * Marks hours in which written rides start or end, but not their days of flows (`insertFlowMarks` does). An hour without
 * any counted ride is marked as never summed (`is_first`), so that readers get null instead of 0 until it is summed.
 */
export async function insertRideMarks(tx: Transaction, systemId: string, hours: readonly Date[]): Promise<void> {
  if (hours.length > 0) await tx.query(markRideHours, [systemId, hours]);
}

const takeMarks = statement(
  "sums.takeMarks",
  `with due as materialized (
     select hour, bool_or(of_flows) as of_flows from sum_marks
     where system_id = $1 and hour < $2::timestamptz and not and_after group by hour order by hour desc limit $3::int),
   taken as (
     delete from sum_marks where system_id = $1 and hour = any(array(select hour from due)) and not and_after returning 1)
   select hour, of_flows from due order by hour`,
);

const isAnyHourMarked = statement(
  "sums.isHourMarked",
  "select exists (select from sum_marks where system_id = $1 and hour < $2) as found",
);

/** Tells whether hours before an instant are to be summed. */
export async function hasSumMarks(db: QueryRunner, systemId: string, before: Date): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(isAnyHourMarked, [systemId, before])).found;
}

/** An hour that is to be summed. */
export interface MarkedHour {
  readonly hour: Date;
  /** Whether the flows of its day are to be summed again, too. */
  readonly of_flows: boolean;
}

/** Deletes the marks of the newest marked hours before an instant. @returns these hours, oldest first */
export function takeSumMarks(tx: Transaction, systemId: string, before: Date, limit: number): Promise<MarkedHour[]> {
  return tx.query<MarkedHour>(takeMarks, [systemId, before, limit]);
}

/** SQL: a step with the hours $2 that begin before $3. An hour that contains $3 ends there. */
const HOURS = `hours as materialized (
    select hour as starts_at, least(hour + interval '1 hour', $3::timestamptz) as ends_at
    from unnest($2::timestamptz[]) as given (hour) where hour < $3::timestamptz)`;

/** The columns of `station_hours` that are summed. */
const columns = [
  "rides_started",
  "rides_ended",
  "seconds_online",
  "seconds_empty",
  "seconds_full",
  "seconds_offline",
  "bike_seconds",
  "bikes",
  "docks",
] as const;

/**
 * SQL: an array of a station's bikes or docks at the beginning of each quarter of an hour; null: not online. At each
 * beginning there is one piece at most, whose number `max` takes. 32767 is the largest `smallint`.
 */
const quarters = (column: "bikes" | "docks") =>
  `array[${[0, 1, 2, 3]
    .map(
      (quarter) =>
        `(max(least(${column}, 32767)) filter (where status = 'online' and at <= hour + interval '${quarter * 15} minutes'
           and until > hour + interval '${quarter * 15} minutes'))::smallint`,
    )
    .join(", ")}]`;

/** SQL: the seconds of an hour in which a station meets a condition. */
const seconds = (condition: string) => `coalesce(sum(seconds) filter (where ${condition}), 0)`;

/*
 * Computes hours again from the beginning. A ride counts as started unless it was cancelled, so a ride under way does;
 * only a completed ride counts as ended. Writes only rows that differ, and deletes the row of a station that has
 * nothing in an hour any more.
 */
const sumStations = statement(
  "sums.sumStations",
  `with ${HOURS},
   started as (
     select hours.starts_at as hour, r.start_station_id as station_id, count(*)::int as n
     from hours join rides r on r.system_id = $1 and r.started_at >= hours.starts_at and r.started_at < hours.ends_at
     where r.status <> 'cancelled' and r.start_station_id is not null group by 1, 2),
   ended as (
     select hours.starts_at as hour, r.end_station_id as station_id, count(*)::int as n
     from hours join rides r on r.system_id = $1 and r.ended_at >= hours.starts_at and r.ended_at < hours.ends_at
     where r.status = 'completed' and r.end_station_id is not null group by 1, 2),
   pieces as (${stationPieces("hours")}),
   states as (
     select hour, station_id, ${seconds("status = 'online'")}::int as seconds_online,
       ${seconds("status = 'online' and bikes = 0")}::int as seconds_empty,
       ${seconds("status = 'online' and docks = 0")}::int as seconds_full,
       ${seconds("status = 'offline'")}::int as seconds_offline,
       coalesce(sum(seconds * bikes) filter (where status = 'online'), 0)::bigint as bike_seconds,
       ${quarters("bikes")} as bikes, ${quarters("docks")} as docks
     from pieces where status in ('online', 'offline') group by hour, station_id),
   fresh as materialized (
     select hour, station_id, coalesce(started.n, 0) as rides_started, coalesce(ended.n, 0) as rides_ended,
       coalesce(seconds_online, 0) as seconds_online, coalesce(seconds_empty, 0) as seconds_empty,
       coalesce(seconds_full, 0) as seconds_full, coalesce(seconds_offline, 0) as seconds_offline,
       coalesce(bike_seconds, 0) as bike_seconds, coalesce(bikes, array[null, null, null, null]::smallint[]) as bikes,
       coalesce(docks, array[null, null, null, null]::smallint[]) as docks
     from states full join started using (hour, station_id) full join ended using (hour, station_id)),
   gone as (
     delete from station_hours where system_id = $1 and hour = any($2::timestamptz[])
       and (hour, station_id) not in (select hour, station_id from fresh)),
   written as (
     insert into station_hours (system_id, hour, station_id, ${columns.join(", ")})
     select placed.system_id, fresh.hour, fresh.station_id, ${columns.map((name) => `fresh.${name}`).join(", ")}
     from ${rowsOfSystem("fresh")}
     on conflict (system_id, station_id, hour) do update set ${columns.map((name) => `${name} = excluded.${name}`).join(", ")}
     where (${columns.map((name) => `station_hours.${name}`).join(", ")})
       is distinct from (${columns.map((name) => `excluded.${name}`).join(", ")}))
   select`,
);

const QUARTER = "interval '15 minutes'";
/** SQL: the beginning of the quarter of an hour in which an instant lies. */
const utcQuarter = (instant: string) => `date_bin(${QUARTER}, ${instant}, timestamptz 'epoch')`;

// Computes the rides of the whole system in the quarters of hours again. Writes only rows that differ. $4 and $5 are the
// bounds of the hours $2 together, for the index by `starts_at`.
const sumQuarters = statement(
  "sums.sumQuarters",
  `with ${HOURS},
   counted as (
     select ${utcQuarter("r.started_at")} as starts_at, 1 as started, 0 as ended
     from hours join rides r on r.system_id = $1 and r.started_at >= hours.starts_at and r.started_at < hours.ends_at
     where r.status <> 'cancelled'
     union all
     select ${utcQuarter("r.ended_at")}, 0, 1
     from hours join rides r on r.system_id = $1 and r.ended_at >= hours.starts_at and r.ended_at < hours.ends_at
     where r.status = 'completed'),
   fresh as materialized (
     select starts_at, sum(started)::int as rides_started, sum(ended)::int as rides_ended from counted group by starts_at),
   gone as (
     delete from ride_quarters where system_id = $1
       and ${utcHour("starts_at")} = any($2::timestamptz[]) and starts_at >= $4::timestamptz and starts_at < $5::timestamptz
       and starts_at not in (select starts_at from fresh)),
   written as (
     insert into ride_quarters (system_id, starts_at, rides_started, rides_ended)
     select placed.system_id, fresh.starts_at, fresh.rides_started, fresh.rides_ended from ${rowsOfSystem("fresh")}
     on conflict (system_id, starts_at) do update
     set rides_started = excluded.rides_started, rides_ended = excluded.rides_ended
     where (ride_quarters.rides_started, ride_quarters.rides_ended)
       is distinct from (excluded.rides_started, excluded.rides_ended))
   select`,
);

/** Computes the stations' hours again. @param until leaves out what happens from this instant on */
export async function sumStationHours(
  tx: Transaction,
  systemId: string,
  hours: readonly Date[],
  until: Date,
): Promise<void> {
  if (hours.length > 0) await tx.query(sumStations, [systemId, hours, until]);
}

const HOUR_MS = 3_600_000;

/** Computes the numbers of rides in the quarters of hours again. @param until leaves out what happens later */
export async function sumRideQuarters(
  tx: Transaction,
  systemId: string,
  hours: readonly Date[],
  until: Date,
): Promise<void> {
  if (hours.length === 0) return;
  const times = hours.map((hour) => hour.getTime());
  const [first, last] = [new Date(Math.min(...times)), new Date(Math.max(...times) + HOUR_MS)];
  await tx.query(sumQuarters, [systemId, hours, until, first, last]);
}

/** The numbers of a sample, as SQL. `full` is quoted, because it is a keyword. */
const SAMPLE = ["available", "reserved", "on_trip", "disabled", "missing", "online", "empty", '"full"', "offline"];

/** SQL: stores samples. @param isLive whether they were taken at their time, rather than made afterwards */
const insertSample = (rows: string, isLive: boolean) => `
   insert into fleet_samples (system_id, at, ${SAMPLE.join(", ")}, is_live)
   select placed.system_id, sampled.at, ${SAMPLE.map((name) => `sampled.${name}`).join(", ")}, ${isLive}
   from ${rowsOfSystem(`(${rows}) as sampled`)}
   on conflict (system_id, at) do update set ${SAMPLE.map((name) => `${name} = excluded.${name}`).join(", ")},
     is_live = excluded.is_live`;

/**
 * SQL: the fleet and the stations now. Bikes at stations come from the stations' counters, the others from their own rows:
 * among them all bikes that cannot be contacted, because no counter includes these.
 * `missing` is null when no bike is stored, and so is `on_trip` when no ride is under way either.
 */
const liveFleet = `
  select stations.available + bikes.available as available, stations.reserved + bikes.reserved as reserved,
    case when bikes.n > 0 or rides.n > 0 then greatest(bikes.on_trip, rides.n) end as on_trip,
    stations.disabled + bikes.disabled as disabled, case when bikes.n > 0 then bikes.missing end as missing,
    online, empty, "full", offline
  from (
    select coalesce(sum(num_bikes_available), 0)::int as available, coalesce(sum(num_bikes_reserved), 0)::int as reserved,
      coalesce(sum(num_bikes_disabled), 0)::int as disabled,
      (count(*) filter (where status = 'online'))::int as online,
      (count(*) filter (where status = 'online' and num_bikes_available = 0))::int as empty,
      (count(*) filter (where status = 'online' and num_docks_available = 0))::int as "full",
      (count(*) filter (where status = 'offline'))::int as offline
    from stations where system_id = $1 and status <> 'removed') as stations
  cross join (
    select count(*)::int as n,
      (count(*) filter (where vehicle_state = 'available' and station_id is null))::int as available,
      (count(*) filter (where vehicle_state = 'reserved' and station_id is null))::int as reserved,
      (count(*) filter (where vehicle_state = 'on_trip'))::int as on_trip,
      (count(*) filter (where vehicle_state = 'non_contactable'
        or (vehicle_state = 'non_operational' and station_id is null)))::int as disabled,
      (count(*) filter (where vehicle_state = 'missing'))::int as missing
    from bikes where system_id = $1 and vehicle_state <> 'removed') as bikes
  cross join (select count(*)::int as n from rides where system_id = $1 and status = 'started') as rides`;

const takeSample = statement(
  "sums.takeSample",
  `with now as (${liveFleet}),
   written as (${insertSample(`select $2::timestamptz as at, now.* from now`, true)})
   select`,
);

const hasSample = statement(
  "sums.hasSample",
  "select exists (select from fleet_samples where system_id = $1 and at = $2::timestamptz and is_live) as found",
);

/** Stores a sample of the fleet and the stations now as that of `at`, unless `at` has a live one. @returns whether it did */
export async function insertFleetSample(tx: Transaction, systemId: string, at: Date): Promise<boolean> {
  if (oneRow(await tx.query<{ found: boolean }>(hasSample, [systemId, at])).found) return false;
  await tx.query(takeSample, [systemId, at]);
  return true;
}

/** The numbers of bikes and stations by their present state. */
export type FleetNow = Pick<
  Tables["fleet_samples"],
  "available" | "reserved" | "on_trip" | "disabled" | "missing" | "online" | "empty" | "full" | "offline"
>;

const fleetNow = statement("sums.fleetNow", `with now as (${liveFleet}) select * from now`);

/** Counts the bikes and stations of a system by their present state. */
export async function findFleetNow(db: QueryRunner, systemId: string): Promise<FleetNow> {
  return oneRow(await db.query<FleetNow>(fleetNow, [systemId]));
}

/** SQL: the time between two samples. */
const BETWEEN_SAMPLES = "interval '5 minutes'";

/*
 * Makes samples for times without a live sample, such as those of a replayed feed. Stations come from their recorded
 * changes; a time at which none is known to be online or offline gets no sample. Bikes on rides come from the rides
 * that began within the day before; their number is null when no ride began in that day. They are read once for
 * consecutive hours together, because each of these hours would read nearly the same rides.
 */
const makeSamples = statement(
  "sums.makeSamples",
  `with ${HOURS},
   instants as materialized (
     select hours.starts_at as hour, each.at from hours
     cross join generate_series(hours.starts_at, hours.ends_at - interval '1 second', ${BETWEEN_SAMPLES}) as each (at)
     where not exists (
       select from fleet_samples known where known.system_id = $1 and known.at = each.at and known.is_live)),
   pieces as materialized (${stationPieces("hours")}),
   counted as (
     select instants.at, instants.hour, sum(bikes)::int as available, sum(reserved)::int as reserved,
       sum(coalesce(disabled, 0))::int as disabled,
       (count(*) filter (where status = 'online'))::int as online,
       (count(*) filter (where status = 'online' and bikes = 0))::int as empty,
       (count(*) filter (where status = 'online' and docks = 0))::int as "full",
       (count(*) filter (where status = 'offline'))::int as offline
     from instants join pieces on pieces.hour = instants.hour and pieces.at <= instants.at and pieces.until > instants.at
     where pieces.status in ('online', 'offline')
     group by instants.at, instants.hour),
   underway as materialized (
     select each.at, count(*)::int as n
     from ${runsOf("hours")} as run
     join rides r on r.system_id = $1 and r.started_at > run.starts_at - interval '1 day' and r.started_at < run.ends_at
     cross join generate_series(
       greatest(run.starts_at, date_bin(${BETWEEN_SAMPLES}, r.started_at + ${BETWEEN_SAMPLES} - interval '1 microsecond', timestamptz 'epoch')),
       least(run.ends_at, r.ended_at, r.started_at + interval '1 day') - interval '1 microsecond', ${BETWEEN_SAMPLES}) as each (at)
     where r.status <> 'cancelled' and (r.ended_at > run.starts_at or r.ended_at is null)
     group by each.at),
   riding as (
     select counted.at,
       case when exists (
         select from rides r
         where r.system_id = $1 and r.started_at > counted.at - interval '1 day' and r.started_at <= counted.at
           and r.status <> 'cancelled') then coalesce(underway.n, 0) end as n
     from counted left join underway on underway.at = counted.at),
   written as (${insertSample(
     `select counted.at, available, reserved, riding.n as on_trip, disabled,
        null::int as missing, online, empty, "full", offline
      from counted join riding on riding.at = counted.at`,
     false,
   )})
   select`,
);

/** Makes the samples of hours for the times without a live sample. @param until leaves out what happens later */
export async function makeFleetSamples(
  tx: Transaction,
  systemId: string,
  hours: readonly Date[],
  until: Date,
): Promise<void> {
  if (hours.length > 0) await tx.query(makeSamples, [systemId, hours, until]);
}

// `$4` is the time at which past days are due, and decides which day is today; `$5` is the time at which today is due.
// An hour (UTC) lies in two days where a time zone has an offset of half an hour: both days are marked.
const markDays = statement(
  "sums.markDays",
  `insert into flow_marks (system_id, day, due_at)
   select placed.system_id, marked.day, case when marked.day = ($4::timestamptz at time zone $3)::date then $5::timestamptz else $4 end
   from ${rowsOfSystem(`(
     select distinct (at at time zone $3)::date as day
     from unnest($2::timestamptz[]) as given (hour)
     cross join lateral (values (hour), (hour + interval '59 minutes 59 seconds')) as ends (at)) as marked`)}
   on conflict (system_id, day) do nothing`,
);

/** Marks the days of these hours, so that their flows are summed again: past days at `now`, today at `todayAt`. */
export async function insertFlowMarks(
  tx: Transaction,
  systemId: string,
  hours: readonly Date[],
  { timeZone, now, todayAt }: { readonly timeZone: string; readonly now: Date; readonly todayAt: Date },
): Promise<void> {
  if (hours.length > 0) await tx.query(markDays, [systemId, hours, timeZone, now, todayAt]);
}

const isAnyDayMarked = statement(
  "sums.isFlowMarked",
  "select exists (select from flow_marks where system_id = $1) as found",
);

/** Tells whether there are days whose flows are to be summed, now or later. */
export async function hasFlowMarks(tx: Transaction, systemId: string): Promise<boolean> {
  return oneRow(await tx.query<{ found: boolean }>(isAnyDayMarked, [systemId])).found;
}

const takeFlowMark = statement(
  "sums.takeFlowMark",
  `with due as materialized (
     select day from flow_marks where system_id = $1 and due_at <= $2::timestamptz order by day desc limit 1),
   taken as (delete from flow_marks where system_id = $1 and day = any(array(select day from due)) returning 1)
   select day::text as day from due`,
);

/** Deletes the mark of the newest day whose flows are due. @returns the day (`2026-01-31`); undefined: none is due */
export async function takeDueFlowDay(tx: Transaction, systemId: string, now: Date): Promise<string | undefined> {
  return (await tx.query<{ day: string }>(takeFlowMark, [systemId, now]))[0]?.day;
}

const sumFlows = statement(
  "sums.sumFlows",
  `with fresh as materialized (
     select start_station_id, end_station_id, count(*)::int as rides from rides
     where system_id = $1 and status = 'completed' and start_station_id is not null and end_station_id is not null
       and started_at >= $2::date::timestamp at time zone $3 and started_at < ($2::date + 1)::timestamp at time zone $3
     group by start_station_id, end_station_id),
   gone as (
     delete from flow_days where system_id = $1 and day = $2::date
       and (start_station_id, end_station_id) not in (select start_station_id, end_station_id from fresh)),
   written as (
     insert into flow_days (system_id, start_station_id, end_station_id, day, rides)
     select placed.system_id, fresh.start_station_id, fresh.end_station_id, $2::date, fresh.rides
     from ${rowsOfSystem("fresh")}
     on conflict (system_id, start_station_id, end_station_id, day) do update set rides = excluded.rides
     where flow_days.rides <> excluded.rides)
   select`,
);

/** Computes the flows of a day again. */
export async function sumFlowDay(tx: Transaction, systemId: string, day: string, timeZone: string): Promise<void> {
  await tx.query(sumFlows, [systemId, day, timeZone]);
}

const markAllDays = statement(
  "sums.markAllDays",
  `insert into flow_marks (system_id, day, due_at)
   select placed.system_id, marked.at::date, $5::timestamptz
   from ${rowsOfSystem(
     "generate_series(($2::timestamptz at time zone $4)::date, ($3::timestamptz at time zone $4)::date, interval '1 day') as marked (at)",
   )}
   on conflict (system_id, day) do nothing`,
);

/** Marks all days between two instants, because days have other hours in another time zone. */
export async function insertAllFlowMarks(
  tx: Transaction,
  systemId: string,
  {
    from,
    to,
    timeZone,
    dueAt,
  }: { readonly from: Date; readonly to: Date; readonly timeZone: string; readonly dueAt: Date },
): Promise<void> {
  await tx.query(markAllDays, [systemId, from, to, timeZone, dueAt]);
}

const deletePast = (table: string, key: string, time: string) =>
  statement(
    `sums.deletePast.${table}`,
    `with past as materialized (
       select ${key} from ${table} where system_id = $1 and ${time} < $2 order by ${time} limit $3::int),
     deleted as (
       delete from ${table} where system_id = $1 and (${key}) in (select ${key} from past) returning 1)
     select count(*) as n from deleted`,
  );

const pasts = {
  station_hours: deletePast("station_hours", "station_id, hour", "hour"),
  flow_days: deletePast("flow_days", "start_station_id, end_station_id, day", "day"),
  ride_quarters: deletePast("ride_quarters", "starts_at", "starts_at"),
  fleet_samples: deletePast("fleet_samples", "at", "at"),
} as const;

/** A table of sums. */
export type SumTable = keyof typeof pasts;

/** Deletes up to `limit` sums from before an instant, the oldest first. @returns how many */
export async function deletePastSums(
  db: Queryable,
  table: SumTable,
  systemId: string,
  before: Date,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(pasts[table], [systemId, before, limit])).n;
}

import type { Flow, Station } from "@bikeshare/contract";
import type { StationWeek } from "@bikeshare/contract/console";
import type { QueryRunner } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { FLAG_UNITS, STATUSES } from "./changes-state.rules.ts";
import type { KnownHour } from "./typical.rules.ts";

/*
 * Reads the sums (`sums-queries.ts`) for forecasts, flows and summaries: of one station, of pairs of stations, and of the
 * whole system. Also finds since when stations are empty, full or offline.
 */

const hours = statement(
  "typical.hours",
  `select (extract(epoch from hour) * 1000)::float8 as at, to_char(hour at time zone $5, 'YYYY-MM-DD') as day,
     (extract(hour from hour at time zone $5) * 60 + extract(minute from hour at time zone $5))::int as minute, bikes, docks
   from station_hours
   where system_id = $1 and station_id = $2 and hour >= $3::timestamptz and hour < $4::timestamptz
     and seconds_online + seconds_offline > 0
   order by hour`,
);

/** Selects hours of a station, from `from` until before `to`. */
export interface HourSelection {
  readonly stationId: string;
  readonly from: Date;
  readonly to: Date;
  readonly timeZone: string;
}

/** Returns the hours of a station whose state is known, oldest first. */
export function listKnownHours(
  db: QueryRunner,
  systemId: string,
  { stationId, from, to, timeZone }: HourSelection,
): Promise<KnownHour[]> {
  return db.query<KnownHour>(hours, [systemId, stationId, from, to, timeZone]);
}

const firstHour = statement(
  "typical.firstHour",
  `select hour from station_hours
   where system_id = $1 and station_id = $2 and seconds_online + seconds_offline > 0 order by hour limit 1`,
);

/** Returns the first hour in which a station's state is known; undefined: there is none. */
export async function findFirstKnownHour(
  db: QueryRunner,
  systemId: string,
  stationId: string,
): Promise<Date | undefined> {
  return (await db.query<{ hour: Date }>(firstHour, [systemId, stationId]))[0]?.hour;
}

const station = statement(
  "typical.station",
  `select num_bikes_available, num_docks_available, capacity from stations where system_id = $1 and id = $2`,
);

/** The present bikes and docks of a station. */
export type StationNow = Pick<Station, "num_bikes_available" | "num_docks_available" | "capacity">;

/** Returns what a station has now; undefined: there is no such station. */
export async function findStationNow(db: QueryRunner, systemId: string, id: string): Promise<StationNow | undefined> {
  return (await db.query<StationNow>(station, [systemId, id]))[0];
}

const week = statement(
  "typical.week",
  `select extract(isodow from hour at time zone $5)::int as weekday, extract(hour from hour at time zone $5)::int as hour,
     count(*)::int as hours, round(sum(bike_seconds) / nullif(sum(seconds_online), 0), 1)::float8 as bikes,
     round(avg(rides_started), 2)::float8 as rides_started, round(avg(rides_ended), 2)::float8 as rides_ended,
     round(avg(seconds_empty) / 60, 1)::float8 as minutes_empty, round(avg(seconds_full) / 60, 1)::float8 as minutes_full
   from station_hours
   where system_id = $1 and station_id = $2 and station_hours.hour >= $3::timestamptz and station_hours.hour < $4::timestamptz
   group by 1, 2 order by 1, 2`,
);

/** Returns the means of a station's hours by weekday and hour of the day. */
export function listWeekCells(
  db: QueryRunner,
  systemId: string,
  { stationId, from, to, timeZone }: HourSelection,
): Promise<StationWeek["data"]> {
  return db.query<StationWeek["data"][number]>(week, [systemId, stationId, from, to, timeZone]);
}

// SQL for a page of pairs of stations: $2 and $3 are the first and the last day, $4 and $5 the pair before the page.
const PAGE = `sum(rides)::int as rides from flow_days
   where system_id = $1 and day between $2::date and $3::date and (start_station_id, end_station_id) > ($4, $5)`;
const ORDER = `group by start_station_id, end_station_id order by start_station_id, end_station_id limit $6::int`;

const pairs = statement("flows.pairs", `select start_station_id, end_station_id, ${PAGE} ${ORDER}`);

// A union rather than `or`: each half is one stretch of an index.
const pairsOfStation = statement(
  "flows.pairsOfStation",
  `select start_station_id, end_station_id, sum(rides)::int as rides
   from (
     select start_station_id, end_station_id, rides from flow_days
     where system_id = $1 and day between $2::date and $3::date and start_station_id = $7
     union all
     select start_station_id, end_station_id, rides from flow_days
     where system_id = $1 and day between $2::date and $3::date and end_station_id = $7 and start_station_id <> $7) as flows
   where (start_station_id, end_station_id) > ($4, $5) ${ORDER}`,
);

/** Selects pairs of stations. */
export interface PairSelection {
  /** The first and the last day. */
  readonly from: string;
  readonly to: string;
  readonly stationId: string | undefined;
  /** The pair after which the selection begins. */
  readonly after: readonly [start: string, end: string];
  readonly limit: number;
}

/** Returns pairs of stations with their rides, in the order of the stations' ids. */
export function listPairs(
  db: QueryRunner,
  systemId: string,
  { from, to, stationId, after: [start, end], limit }: PairSelection,
): Promise<Flow[]> {
  const values = [systemId, from, to, start, end, limit];
  return stationId === undefined
    ? db.query<Flow>(pairs, values)
    : db.query<Flow>(pairsOfStation, [...values, stationId]);
}

const neighbours = (from: "start_station_id" | "end_station_id", other: "start_station_id" | "end_station_id") =>
  statement(
    `flows.neighbours.${from}`,
    `with summed as materialized (
       select ${other} as station_id, sum(rides)::int as rides from flow_days
       where system_id = $1 and ${from} = $2 and day between $3::date and $4::date group by ${other}),
     best as (
       select summed.*, (select coalesce(sum(rides), 0) from summed)::int as total
       from summed order by rides desc, station_id limit $5::int)
     select best.station_id, s.name, s.lat, s.lon, best.rides, best.total
     from best left join stations s on s.system_id = $1 and s.id = best.station_id
     order by best.rides desc, best.station_id`,
  );

const neighbourStatements = {
  out: neighbours("start_station_id", "end_station_id"),
  in: neighbours("end_station_id", "start_station_id"),
};

/** A station at the other end of a station's rides. Its name and position are null when no such station is stored. */
export interface NeighbourRow {
  readonly station_id: string;
  readonly name: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
  readonly rides: number;
  /** Rides of all neighbours together. */
  readonly total: number;
}

/** Returns the stations at the other end of most of a station's rides. @param direction `out`: of rides that start there */
export function listNeighbours(
  db: QueryRunner,
  systemId: string,
  direction: "out" | "in",
  { stationId, from, to, limit }: { stationId: string; from: string; to: string; limit: number },
): Promise<NeighbourRow[]> {
  return db.query<NeighbourRow>(neighbourStatements[direction], [systemId, stationId, from, to, limit]);
}

const recent = statement(
  "flows.recent",
  `with summed as materialized (
     select start_station_id, end_station_id, count(*)::int as rides from rides
     where system_id = $1 and ended_at > $2::timestamptz and ended_at <= $3::timestamptz and status = 'completed'
       and start_station_id is not null and end_station_id is not null
     group by start_station_id, end_station_id)
   select summed.*, (select coalesce(sum(rides), 0) from summed)::int as total
   from summed order by rides desc, start_station_id, end_station_id limit $4::int`,
);

/** Returns the pairs of stations of the rides that ended after `from` until `to`, those with most rides first. */
export function listRecentPairs(
  db: QueryRunner,
  systemId: string,
  { from, to, limit }: { readonly from: Date; readonly to: Date; readonly limit: number },
): Promise<(Flow & { readonly total: number })[]> {
  return db.query<Flow & { readonly total: number }>(recent, [systemId, from, to, limit]);
}

// The last bound is $3 itself if that is a midnight, and otherwise the next midnight.
const dayBounds = statement(
  "summary.dayBounds",
  `select array(
     select (day at time zone $1)
     from generate_series(date_trunc('day', $2::timestamptz at time zone $1), date_trunc('day', $3::timestamptz at time zone $1)
       + case when date_trunc('day', $3::timestamptz at time zone $1) at time zone $1 < $3::timestamptz then interval '1 day'
           else interval '0' end, interval '1 day') as day
     order by day) as bounds`,
);

/** Returns the bounds of the days that overlap with a period in a time zone: the start of each, and the end of the last. */
export async function findDayBounds(db: QueryRunner, timeZone: string, from: Date, to: Date): Promise<Date[]> {
  return oneRow(await db.query<{ bounds: Date[] }>(dayBounds, [timeZone, from, to])).bounds;
}

const localTime = statement(
  "summary.localTime",
  `select local::date::text as day, (extract(hour from local) * 60 + extract(minute from local))::int as minute
   from (select $2::timestamptz at time zone $1 as local) as clock`,
);

/** Returns the day and the minute of the day that a clock in a time zone shows. */
export async function findLocalTime(
  db: QueryRunner,
  timeZone: string,
  at: Date,
): Promise<{ readonly day: string; readonly minute: number }> {
  return oneRow(await db.query<{ day: string; minute: number }>(localTime, [timeZone, at]));
}

/** The numbers of a row of `fleet_samples`, as SQL. `full` is quoted, because it is a keyword. */
const sampled = ["available", "reserved", "on_trip", "disabled", "missing", "online", "empty", '"full"', "offline"];

/** SQL: whether an hour that overlaps with the time between two instants has not been summed even once. */
const isUnsummed = (from: string, to: string) => `exists (
       select from sum_marks mark where mark.system_id = $1 and mark.is_first
         and mark.hour > ${from} - interval '1 hour' and mark.hour < ${to})`;

const steps = statement(
  "summary.steps",
  `select step."from", step."to", rides.started::int as started, rides.ended::int as ended, samples.*,
     ${isUnsummed('step."from"', 'step."to"')} as is_unsummed
   from unnest($2::timestamptz[], $3::timestamptz[]) as step ("from", "to")
   cross join lateral (
     select coalesce(sum(rides_started), 0) as started, coalesce(sum(rides_ended), 0) as ended
     from ride_quarters where system_id = $1 and starts_at >= step."from" and starts_at < step."to") as rides
   cross join lateral (
     select ${sampled.map((name) => `round(avg(${name}), 1)::float8 as ${name}`).join(", ")}
     from fleet_samples where system_id = $1 and at >= step."from" and at < step."to") as samples
   order by step."from"`,
);

/** The names of the numbers `sampled` in a result. */
type Sampled = "available" | "reserved" | "on_trip" | "disabled" | "missing" | "online" | "empty" | "full" | "offline";

/** The sums of one step of a summary, and the means of its samples; null without samples. */
export interface StepRow extends Readonly<Record<Sampled, number | null>> {
  readonly from: Date;
  readonly to: Date;
  readonly started: number;
  readonly ended: number;
  /** Whether an hour of the step has not been summed even once. */
  readonly is_unsummed: boolean;
}

/** Returns the sums of steps, oldest first. @param bounds the start of each step, and the end of the last */
export async function listSteps(db: QueryRunner, systemId: string, bounds: readonly Date[]): Promise<StepRow[]> {
  if (bounds.length < 2) return [];
  return db.query<StepRow>(steps, [systemId, bounds.slice(0, -1), bounds.slice(1)]);
}

// In `days`, `until_now` is the instant of each day at this time of the day. On past days, the quarter of an hour (900
// seconds) that contains it counts by its share before it. Today's rides all count, because none is in the future.
const ridesOfWeeks = statement(
  "summary.ridesOfWeeks",
  `with local as (
     select ($2::timestamptz at time zone $3)::date as today, ($2::timestamptz at time zone $3)::time as time),
   days as (
     select today - 7 * week as day, (today - 7 * week) at time zone $3 as begins,
       ((today - 7 * week) + time) at time zone $3 as until_now, (today - 7 * week + 1)::timestamp at time zone $3 as ends, week
     from local cross join generate_series(0, 4) as week)
   select days.day::text as day, rides.until_now::int as until_now,
     case when week > 0 then rides.whole::int end as whole_day
   from days
   cross join lateral (
     select coalesce(sum(rides_started), 0) as whole,
       coalesce(sum(rides_started * case when days.week = 0 then 1
           else least(1, extract(epoch from days.until_now - starts_at) / 900) end)
         filter (where starts_at < days.until_now), 0) as until_now
     from ride_quarters where system_id = $1 and starts_at >= days.begins and starts_at < days.ends) as rides
   where days.ends > $4::timestamptz and (week = 0 or not ${isUnsummed("days.begins", "days.ends")})
   order by week`,
);

/** Rides that started on a day. */
export interface RidesOfDay {
  readonly day: string;
  /** The rides until this time of the day. */
  readonly until_now: number;
  /** The rides of the whole day; null: the day is today. */
  readonly whole_day: number | null;
}

/**
 * Returns the rides of today and of the same day of the four weeks before, up to this time of the day. Past days count only
 * a share of the quarter of an hour in which this time lies: the part that is over today.
 * @param summedFrom the first instant with sums: leaves out days that ended before. Past days with an hour that was never
 *   summed are left out, too
 */
export function listRidesOfWeeks(
  db: QueryRunner,
  systemId: string,
  { now, timeZone, summedFrom }: { readonly now: Date; readonly timeZone: string; readonly summedFrom: Date },
): Promise<RidesOfDay[]> {
  return db.query<RidesOfDay>(ridesOfWeeks, [systemId, now, timeZone, summedFrom]);
}

const underWay = statement(
  "summary.underWay",
  `select count(*)::int as n, (count(*) filter (where started_at < $2::timestamptz))::int as long
   from rides where system_id = $1 and status = 'started'`,
);

/** Counts the rides under way, and those of them that started before `longBefore`. */
export async function countRidesUnderWay(
  db: QueryRunner,
  systemId: string,
  longBefore: Date,
): Promise<{ readonly n: number; readonly long: number }> {
  return oneRow(await db.query<{ n: number; long: number }>(underWay, [systemId, longBefore]));
}

/** A state that a station may have for a long time. */
export type LastingState = "empty" | "full" | "offline";

/** The condition that the row `s` of a station has a state. */
const HAS_STATE: Readonly<Record<LastingState, string>> = {
  empty: "s.status = 'online' and s.num_bikes_available = 0",
  full: "s.status = 'online' and s.num_docks_available = 0",
  offline: "s.status = 'offline'",
};
/**
 * The condition that a change `c` of a station has a status. The flags have the status in three bits, as its position in
 * `STATUSES`, from 1.
 */
const status = (name: (typeof STATUSES)[number]) =>
  `(c.flags / ${FLAG_UNITS.status}) & 7 = ${STATUSES.indexOf(name) + 1}`;
/** The condition that a change `c` of a station has another state. It is never null, even if the free docks are unknown. */
const HAS_OTHER_STATE: Readonly<Record<LastingState, string>> = {
  empty: `not (${status("online")} and c.bikes = 0)`,
  full: `not (${status("online")} and c.docks is not distinct from 0)`,
  offline: `not (${status("offline")})`,
};

const CHANGES = "station_changes c where c.system_id = $1 and c.station_id = found.id";

/**
 * SQL: the instant at which the present state began: that of the change that follows the newest change with another state.
 * Searches the changes from the day `from` until before the day `to` for the latter; null when none has another state.
 */
const beginning = (state: LastingState, from: string, to: string) => `(
           select next.at
           from (
             select c.at from ${CHANGES} and c.changed_on >= ${from}::date and c.changed_on < ${to}::date
               and ${HAS_OTHER_STATE[state]}
             order by c.at desc limit 1) as other
           cross join lateral (
             select c.at from ${CHANGES} and c.changed_on >= ${from}::date and c.changed_on < $5::date and c.at > other.at
             order by c.at limit 1) as next)`;

/*
 * The present state of a station began with the change that follows the newest change with another state. For nearly all
 * stations that change lies in this month or the last. So the statement searches this month first, then the last, and then
 * the older partitions, because searching all partitions costs an index look-up in each. The months are parameters, so that
 * PostgreSQL opens only the partitions of each search: $2 is the day of the oldest changes, and the last, this and the next
 * month begin on $3, $4 and $5. If every stored change has the state, the oldest of them counts as
 * its beginning. With `state_since` '-infinity' the station has not changed since `known_since`.
 */
const lasting = (state: LastingState) =>
  statement(
    `summary.lasting.${state}`,
    `with found as materialized (
       select s.id, s.name, s.num_bikes_available as bikes, s.num_docks_available as docks, s.state_since, s.known_since
       from stations s where s.system_id = $1 and ${HAS_STATE[state]})
     select found.id, found.name, found.bikes, found.docks, (select count(*) from found)::int as n,
       case when found.state_since = '-infinity' then found.known_since else coalesce(
         ${beginning(state, "$4", "$5")}, ${beginning(state, "$3", "$4")}, ${beginning(state, "$2", "$3")},
         (select c.at from ${CHANGES} and c.changed_on >= $2::date order by c.at limit 1)) end as since
     from found order by since nulls first, found.id limit 100`,
  );

const lastings = { empty: lasting("empty"), full: lasting("full"), offline: lasting("offline") };

/** A station in a `LastingState`. */
export interface LastingRow {
  readonly id: string;
  readonly name: string;
  readonly bikes: number;
  readonly docks: number | null;
  /** When the state began; null: unknown. */
  readonly since: Date | null;
  /** The number of all stations in the state, including those beyond the limit. */
  readonly n: number;
}

/**
 * Returns the 100 stations, at most, that have had a state for the longest time. Those of which the time is unknown come
 * first.
 * @param days the day (UTC) of the oldest changes to read, and the days on which the months begin
 */
export function listLastingStations(
  db: QueryRunner,
  systemId: string,
  state: LastingState,
  days: Readonly<Record<"oldest" | "lastMonth" | "thisMonth" | "nextMonth", string>>,
): Promise<LastingRow[]> {
  const { oldest, lastMonth, thisMonth, nextMonth } = days;
  return db.query<LastingRow>(lastings[state], [systemId, oldest, lastMonth, thisMonth, nextMonth]);
}

const stationSums = statement(
  "summary.stationSums",
  `select station_id as id, sum(rides_started)::int as rides_started, sum(rides_ended)::int as rides_ended,
     round(sum(seconds_empty) / 60.0, 1)::float8 as minutes_empty, round(sum(seconds_full) / 60.0, 1)::float8 as minutes_full,
     round(sum(seconds_offline) / 60.0, 1)::float8 as minutes_offline,
     round(sum(bike_seconds) / nullif(sum(seconds_online), 0), 1)::float8 as bikes
   from station_hours where system_id = $1 and hour >= $2::timestamptz and hour < $3::timestamptz
   group by station_id order by station_id`,
);

/** The sums of a station over a period. `bikes` is the mean while it was online; null: it never was. */
export type StationSumsRow = Pick<Tables["station_hours"], "rides_started" | "rides_ended"> & {
  readonly id: string;
  readonly minutes_empty: number;
  readonly minutes_full: number;
  readonly minutes_offline: number;
  readonly bikes: number | null;
};

/** Returns what happened at each station in the hours from `from` until before `to`. */
export function listStationSums(db: QueryRunner, systemId: string, from: Date, to: Date): Promise<StationSumsRow[]> {
  return db.query<StationSumsRow>(stationSums, [systemId, from, to]);
}

const latestSample = statement(
  "summary.latestSample",
  `select ${sampled.join(", ")}, at from fleet_samples where system_id = $1 order by at desc limit 1`,
);

// A quarter of an hour is over when it began at least 15 minutes ago.
const lastHour = statement(
  "summary.startedInHour",
  `select coalesce(sum(rides_started), 0)::int as n from ride_quarters
   where system_id = $1 and starts_at > $2::timestamptz - interval '75 minutes' and starts_at <= $2::timestamptz - interval '15 minutes'`,
);

/** Returns how many rides started in the last four quarters of an hour that are over. */
export async function countStartedInHour(db: QueryRunner, systemId: string, now: Date): Promise<number> {
  return oneRow(await db.query<{ n: number }>(lastHour, [systemId, now])).n;
}

/** Returns the newest sample of a system's fleet; undefined: there is none. */
export async function findLatestSample(
  db: QueryRunner,
  systemId: string,
): Promise<Omit<Tables["fleet_samples"], "system_id" | "is_live"> | undefined> {
  return (await db.query<Omit<Tables["fleet_samples"], "system_id" | "is_live">>(latestSample, [systemId]))[0];
}

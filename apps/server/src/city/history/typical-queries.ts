import type { Station } from "@bikeshare/contract";
import type { StationWeek } from "@bikeshare/contract/console";
import type { QueryRunner } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { KnownHour } from "./typical.rules.ts";

const hours = statement(
  "typical.hours",
  `select (extract(epoch from hour) * 1000)::float8 as at, to_char(hour at time zone $5, 'YYYY-MM-DD') as day,
     (extract(hour from hour at time zone $5) * 60 + extract(minute from hour at time zone $5))::int as minute, bikes, docks
   from station_hours
   where system_id = $1 and station_id = $2 and hour >= $3::timestamptz and hour < $4::timestamptz
     and seconds_online + seconds_offline > 0
   order by hour`,
);

/** Which hours of a station. */
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

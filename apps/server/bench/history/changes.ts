import type { Database, Transaction } from "../../src/storage/db/database.ts";
import { dailyTables } from "../../src/storage/partitions/partition.rules.ts";
import { createPartitionsOf } from "../../src/storage/partitions/service.ts";
import { fillWith, random } from "../lists/rows.ts";

/*
 * Creates a system with a history as large as Citi Bike's: as many changes of stations a day. The rows are like those that
 * the service writes: one for each change, and one for each station at the beginning of each month. The last row equals the
 * station's present state.
 */

export const STATIONS = 1_811;
const BIKES = 26_000;
/** The changes of all stations on one day. */
const CHANGES_PER_DAY = 166_000;
/** Days for which sums by station are created. No request reads more. */
const SUMMED_DAYS = 8;
/** When the history ends: near the end of a month, when its partition is largest. */
export const HISTORY_ENDS = Date.parse("2026-03-30T17:30:00Z");
const DAY_MS = 86_400_000;
const LAST_DAY = Math.floor(HISTORY_ENDS / DAY_MS) * DAY_MS;

/** Returns when a history with `rows` changes begins. */
export function historyBegins(rows: number): number {
  return LAST_DAY - Math.ceil(rows / CHANGES_PER_DAY) * DAY_MS;
}

const iso = (at: number) => new Date(at).toISOString();

/** Fills a database with about `rows` changes of stations, and with the other data that the dashboard's first page reads. */
export async function fillWithHistory(db: Database, rows: number): Promise<void> {
  const begins = historyBegins(rows);
  const days = Array.from({ length: (LAST_DAY - begins) / DAY_MS + 1 }, (_, n) => begins + n * DAY_MS);
  await db.transaction(async (tx) => {
    for (const table of dailyTables)
      if (table.name === "station_changes")
        await createPartitionsOf(
          tx,
          table,
          days.map((day) => iso(day).slice(0, 10)),
        );
    await insertStations(tx, rows / days.length, begins);
  });
  for (const [n, day] of days.entries()) await db.transaction((tx) => tx.run(insertDay(day, n, days.length)));
  await db.transaction(async (tx) => {
    await tx.run(lastStates);
    await tx.run("drop table bench_stations");
    for (const text of insertSums(begins)) await tx.run(text);
  });
  await fillWith(db, "bikes", BIKES);
}

/**
 * Creates a table of stations and how often each changes. The busiest changes five times as often as the average, half of
 * them a third as often. A quarter of the stations have been empty or full for up to 20 days. Twenty have always been
 * offline. `flags` is as `readFlags` of city/history reads it: in use (7), and offline by the operator, or online.
 */
async function insertStations(tx: Transaction, changesPerDay: number, begins: number): Promise<void> {
  await tx.run(`
    create table bench_stations as
    select i, 'station-' || lpad(i::text, 4, '0') as id, 15 + i % 25 as capacity,
      case when i <= 20 then 0 else greatest(1, round(${changesPerDay / STATIONS}
        * (0.3 + 4.9 * power(${random(1)}, 6))))::int end as per_day,
      case when i > 20 and i % 4 = 0 then i / 4 % 20 end as still_days,
      case when i % 7 < 4 then 0 else 15 + i % 25 end as still_bikes,
      case when i <= 20 then 7 + 8 * 3 + 64 * 2 else 7 + 8 * 2 end as flags
    from generate_series(1, ${STATIONS}) as i`);
  await tx.run(`
    insert into stations (system_id, id, name, lat, lon, region_id, capacity, is_installed, is_renting, is_returning, num_bikes_available,
      num_bikes_disabled, num_docks_available, status, offline_reason, updated_at, source, counters, known_since)
    select 'main', id, 'Station ' || i, 40.6 + i % 43 * 0.005, -74.1 + i / 43 * 0.005, 'region-' || i % 20, capacity, true, true, true, 0, 0,
      capacity, case when i <= 20 then 'offline' else 'online' end, case when i <= 20 then 'operator' end, '${iso(begins)}', 'bench', 'mirrored', '${iso(begins)}'
    from bench_stations`);
  await tx.run(`insert into list_counts (system_id, list, slot, n) values ('main', 'stations', 0, ${STATIONS})`);
}

/**
 * Returns the SQL that inserts a day's changes in order of time. Each adds or removes one bike, from empty to full and back.
 */
function insertDay(day: number, n: number, days: number): string {
  const isFirst = n === 0 || new Date(day).getUTCDate() === 1;
  const at = `timestamptz '${iso(day)}'`;
  // SQL of a station's bikes after its change `k` of the day, from 0: up and down between empty and full. For -1: before the
  // day's first change.
  const wave = (k: string) => `abs((i * 7 + ${n} * per_day + ${k}) % (2 * capacity) - capacity)::int`;
  // SQL of the time of change `k`: within the `k`th of the day's `per_day` equal parts, not always at the same point of it.
  const changedAt = `${at} + (k + (i * 13 + k * 7) % 90 / 100.0 + 0.05) / per_day * interval '1 day'`;
  // SQL that is true if the station is empty or full from before this day to the end.
  const stands = `still_days is not null and still_days >= ${days - n}`;
  const changes = `
      select id, capacity, flags, ${wave("k")} as bikes, (${changedAt})::timestamptz(3) as at
      from bench_stations cross join lateral generate_series(0, per_day - 1) as k where not (${stands})`;
  // The last change of the stations that are empty or full from the end of this day.
  const lastChanges = `
      select id, capacity, flags, still_bikes, ${at} + interval '23 hours 59 minutes' + i * interval '1 ms'
      from bench_stations where still_days = ${days - n - 1}`;
  // One row for each station at the beginning of a month.
  const beginnings = `
      select id, capacity, flags, case when per_day = 0 then 0 when ${stands} then still_bikes else ${wave("-1")} end, ${at}
      from bench_stations`;
  const rows = isFirst ? [changes, lastChanges, beginnings] : [changes, lastChanges];
  return `
    insert into station_changes (system_id, station_id, at, changed_on, bikes, reserved, disabled, docks, docks_disabled, flags, by_type)
    select 'main', id, at, (at at time zone 'UTC')::date, bikes, 0, 0, capacity - bikes, 0, flags,
      case when bikes = 0 then '[]' else '["classic",' || bikes - bikes / 3 || ',"ebike",' || bikes / 3 || ']' end
    from (${rows.join(" union all ")}) as made
    where at <= '${iso(HISTORY_ENDS)}' order by at, id`;
}

/** SQL that gives the stations the states of their last changes. */
const lastStates = `
  update stations set state_since = last.at, updated_at = last.at, num_bikes_available = last.bikes, num_docks_available = last.docks,
    vehicle_types_available = case when last.bikes = 0 then '[]' else format('[{"vehicle_type_id":"classic","count":%s},{"vehicle_type_id":"ebike","count":%s}]',
      last.bikes - last.bikes / 3, last.bikes / 3) end::json
  from (select distinct on (station_id) station_id, at, bikes, docks from station_changes order by station_id, at desc) as last
  where last.station_id = stations.id`;

/**
 * Returns SQL that inserts the sums over time that the service would have stored, and the rides under way. Most values are
 * constants, because only the number of rows matters.
 */
function insertSums(begins: number): string[] {
  const ends = `timestamptz '${iso(HISTORY_ENDS)}'`;
  const sinceDays = (days: number) => iso(Math.max(begins, HISTORY_ENDS - days * DAY_MS));
  const [hourly, yearly] = [sinceDays(SUMMED_DAYS), sinceDays(366)];
  return [
    `insert into station_hours (system_id, station_id, hour, rides_started, rides_ended, seconds_online, seconds_empty, seconds_full,
       seconds_offline, bike_seconds, bikes, docks)
     select 'main', id, hour, i % 9, i % 8, 3600, i % 600, i % 500, 0, 3600 * 9, array[9, 9, 10, 8], array[6, 6, 5, 7]
     from stations cross join lateral (select substr(id, 9)::int as i) as n
     cross join generate_series(date_trunc('hour', timestamptz '${hourly}'), ${ends}, interval '1 hour') as hour order by hour, id`,
    `insert into ride_quarters (system_id, starts_at, rides_started, rides_ended)
     select 'main', at, 850, 840 from generate_series(timestamptz '${yearly}', ${ends} - interval '15 min', interval '15 min') as at`,
    `insert into fleet_samples (system_id, at, available, reserved, on_trip, disabled, missing, online, empty, "full", offline, is_live)
     select 'main', at, 22000, 300, 1200, 900, 40, ${STATIONS - 20}, 260, 190, 20, true
     from generate_series(timestamptz '${yearly}', ${ends}, interval '5 min') as at`,
    `insert into sum_progress (system_id, position, summed_from, next_hour, summed_to, flows_to, time_zone)
     values ('main', 0, '${iso(begins)}', date_trunc('hour', ${ends}), ${ends}, ${ends}, 'UTC')`,
    `insert into rides (system_id, id, bike_id, status, start_station_id, started_at, updated_at, source)
     select 'main', 'ride-' || i, 'bike-' || i, 'started', 'station-' || lpad((1 + i % ${STATIONS})::text, 4, '0'),
       ${ends} - i * interval '1 s', ${ends} - i * interval '1 s', 'bench' from generate_series(1, 1200) as i`,
  ];
}

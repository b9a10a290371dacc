import type { Database, Transaction } from "../src/db/database.ts";

/** Fills a database with one system of made-up rides: every 15.8 s one, over a year for 2 million. */
export async function fillWithRides(db: Database, rides: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.run(`
      insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at,
        duration_seconds, distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, updated_at, source)
      select 'main', upper(substr(md5(i::text), 1, 16)), 'bike-' || (i::bigint * 7919 % 26000), 'completed',
        'station-' || (i * 31 % 1800), 'station-' || (i * 17 % 1800), started_at, started_at + interval '11 min', 660, 2100,
        'classic', case when i % 5 = 0 then 'casual' else 'member' end, 'returned', true, started_at + interval '11 min', 'bench'
      from (select i, timestamptz '2025-01-01Z' + i * interval '15.768 s' as started_at from generate_series(1, ${rides}) as i) as made`);
    await tx.run(`
      insert into ride_counts (system_id, period, starts_at, slot, n)
      select 'main', period, date_trunc(period, started_at), 0, count(*)
      from rides cross join (values ('month'), ('day'), ('hour')) as periods(period) group by 1, 2, 3`);
    await tx.run(`insert into list_counts (system_id, list, slot, n) values ('main', 'rides', 0, ${rides})`);
    await fillWithStations(tx, 2000);
  });
}

async function fillWithStations(tx: Transaction, stations: number): Promise<void> {
  await tx.run(`
    insert into stations (system_id, id, name, lat, lon, capacity, is_installed, is_renting, is_returning, num_bikes_available,
      num_docks_available, vehicle_types_available, status, updated_at, source, counters)
    select 'main', 'station-' || lpad(i::text, 4, '0'), 'Station ' || i, 54.5 + i * 0.0001, 3.5, 20, true, true, true, 8, 12,
      '[{"vehicle_type_id":"classic","count":8}]', 'online', timestamptz '2025-06-01Z', 'bench', 'mirrored'
    from generate_series(1, ${stations}) as i`);
  await tx.run(`insert into list_counts (system_id, list, slot, n) values ('main', 'stations', 0, ${stations})`);
}

import type { Database, Transaction } from "../src/storage/db/database.ts";

/** The bikes of the made-up system: as many as Citi Bike has. */
export const BIKES = 26_000;
/** The made-up system's stations with rides, and all its stations. */
const RIDDEN_STATIONS = 1_800;
const LISTED_STATIONS = 2_000;

/** When the newest ride started. */
const LAST_START = "2025-12-31T23:45:00Z";

/** Rides that one statement inserts. */
const CHUNK_ROWS = 1_000_000;
/** Milliseconds from the start of one made-up ride to the next. */
export const RIDE_MS = 15_768;

/**
 * Fills a database with made-up rides of one system, one every 15.768 s up to the end of 2025: 2 million are a year. All
 * bikes have equally many rides. Stations differ as in a city: the busiest has 0.7 % of all rides, half of them less than
 * 0.05 %. Indexes are created after the rows, so that 10 million rides take minutes instead of an hour.
 */
export async function fillWithRides(db: Database, rides: number, lastStart = LAST_START): Promise<void> {
  const restoreIndexes = await dropIndexes(db);
  for (let first = 1; first <= rides; first += CHUNK_ROWS) {
    const last = Math.min(rides, first + CHUNK_ROWS - 1);
    await db.transaction((tx) => tx.run(insertRides({ first, last, rides, lastStart })));
  }
  await restoreIndexes();
  await db.transaction(async (tx) => {
    // The counts that the service keeps for its lists: by month, day and hour, and of all rides. The service spreads them
    // over several slots, of which one is enough here.
    await tx.run(`
      insert into ride_counts (system_id, period, starts_at, slot, n)
      select 'main', period, date_trunc(period, hour), 0, sum(n)
      from (select date_trunc('hour', started_at) as hour, count(*) as n from rides group by 1) as hours
      cross join (values ('month'), ('day'), ('hour')) as periods(period) group by 1, 2, 3`);
    await tx.run(`insert into list_counts (system_id, list, slot, n) values ('main', 'rides', 0, ${rides})`);
    await fillWithStations(tx);
  });
}

/**
 * Fills a database with stations, and with rides between them in one month of 31 days. Creates only the primary key and
 * the index that an export reads, because all indexes would take most of the time and half of the disk space.
 */
export async function fillMonthWithRides(db: Database, rides: number, from: string): Promise<void> {
  const restoreIndexes = await dropIndexes(db, "rides_started_at");
  const lastStart = new Date(Date.parse(from) + 31 * 86_400_000 - 1000).toISOString();
  // 10 s less than the month, so that the first ride starts in the month, too.
  const seconds = (31 * 86_400 - 10) / rides;
  for (let first = 1; first <= rides; first += CHUNK_ROWS) {
    const last = Math.min(rides, first + CHUNK_ROWS - 1);
    await db.transaction((tx) => tx.run(insertRides({ first, last, rides, lastStart, seconds })));
  }
  await restoreIndexes();
  await db.transaction(fillWithStations);
  // One region for each hundred stations: the first two of the four digits of their ids.
  await db.transaction((tx) => tx.run("update stations set region_id = 'region-' || substr(id, 9, 2)"));
}

/** Rides that one statement inserts: those with the numbers `first` to `last`. */
interface MadeRides {
  readonly first: number;
  readonly last: number;
  /** The number of all rides. */
  readonly rides: number;
  readonly lastStart: string;
  /** Seconds from one start to the next. */
  readonly seconds?: number;
}

/**
 * Returns the SQL that inserts rides. The older half of all rides has only five different times of change, because `i * 10 /
 * rides` divides integers. `i` is a ride's number; 7919 is a prime, so that the rides spread over all bikes.
 */
function insertRides({ first, last, rides, lastStart, seconds = RIDE_MS / 1000 }: MadeRides): string {
  // SQL of a station's id. A pseudo-random number from 0 to 1, the same in every run, is made from the hexadecimal digits of
  // the ride's `digest` that begin at `digits`. It is raised to a power, so that some stations are busier.
  const station = (digits: number) =>
    `'station-' || lpad(floor(${RIDDEN_STATIONS} * power(('x' || substr(digest, ${digits}, 6))::bit(24)::int / 16777216.0, 1.5))::text, 4, '0')`;
  return `
    insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at,
      duration_seconds, distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, updated_at, source)
    select 'main', upper(substr(digest, 1, 16)), 'bike-' || (i * 7919 % ${BIKES}), case when i % 50 = 7 then 'cancelled' else 'completed' end,
      ${station(17)}, ${station(23)}, started_at, started_at + interval '11 min', 660, 2100,
      'classic', case when i % 5 = 0 then 'casual' else 'member' end, 'returned', true, case when i * 2 < ${rides} then timestamptz '2025-01-01Z' + i * 10 / ${rides} * interval '1 day' else started_at + interval '11 min' end, 'bench'
    from (select i, md5(i::text) as digest, timestamptz '${lastStart}' - (${rides} - i) * interval '${seconds.toFixed(6)} s' as started_at
          from generate_series(${first}::bigint, ${last}::bigint) as i) as made`;
}

/**
 * Drops the indexes of rides, including the primary key.
 * @param restored the only index to create again, beside the primary key; default: all
 * @returns a function that creates the indexes again
 */
async function dropIndexes(db: Database, restored?: string): Promise<() => Promise<void>> {
  const indexes = await db.query<{ name: string; definition: string }>({
    name: "",
    text: `select indexname as name, indexdef as definition from pg_indexes
           where tablename = 'rides' and indexname <> 'rides_pkey' order by indexname`,
  });
  await db.transaction(async (tx) => {
    for (const { name } of indexes) await tx.run(`drop index ${name}`);
    await tx.run("alter table rides drop constraint rides_pkey");
  });
  return () =>
    db.transaction(async (tx) => {
      await tx.run("set local maintenance_work_mem = '1GB'");
      await tx.run("alter table rides add primary key (system_id, id)");
      for (const { name, definition } of indexes)
        if (restored === undefined || name === restored) await tx.run(definition);
    });
}

/** Fills a database with all stations, each with 8 bikes and 12 docks. */
async function fillWithStations(tx: Transaction): Promise<void> {
  await tx.run(`
    insert into stations (system_id, id, name, lat, lon, capacity, is_installed, is_renting, is_returning, num_bikes_available,
      num_docks_available, vehicle_types_available, status, updated_at, source, counters)
    select 'main', 'station-' || lpad(i::text, 4, '0'), 'Station ' || i, 54.5 + i * 0.0001, 3.5, 20, true, true, true, 8, 12,
      '[{"vehicle_type_id":"classic","count":8}]', 'online', timestamptz '2025-06-01Z', 'bench', 'mirrored'
    from generate_series(0, ${LISTED_STATIONS - 1}) as i`);
  await tx.run(`insert into list_counts (system_id, list, slot, n) values ('main', 'stations', 0, ${LISTED_STATIONS})`);
}

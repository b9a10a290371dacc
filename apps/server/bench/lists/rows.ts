import { eventNames } from "@bikeshare/contract";
import type { listFilters } from "@bikeshare/rules";
import type { Database } from "../../src/storage/db/database.ts";
import { eventsTable } from "../../src/storage/partitions/partition.rules.ts";
import { createPartitionsOf } from "../../src/storage/partitions/service.ts";

export type ListName = keyof typeof listFilters;

/** The partner whose reservations the data set has, and who reads the events. */
export const PARTNER = "bench";

/**
 * Fills a list of the system `main` with difficult data. Each filter has a value that most rows have and one that few have.
 * One rider and one bike have half of all reservations. Most events are of one day. In the SQL, a random number from 0 to 1
 * is raised to a power where low values are to occur more often than high ones.
 */
export async function fillWith(db: Database, list: Exclude<ListName, "rides">, rows: number): Promise<void> {
  await db.transaction(async (tx) => {
    if (list === "events") await createPartitionsOf(tx, eventsTable, EVENT_DAYS);
    for (const text of inserts[list](rows)) await tx.run(text);
  });
}

const EVENT_DAYS = ["2026-01-01", "2026-01-02", "2026-01-03"];

/**
 * Returns SQL of a pseudo-random number from 0 to 1, the same in every run. It uses six hexadecimal digits of md5(i).
 * @param digits the position of the first of them; other positions give independent numbers
 */
export const random = (digits: number) => `('x' || substr(md5(i::text), ${digits}, 6))::bit(24)::int / 16777216.0`;

/** Returns SQL that stores the length of a list, as the service does for bikes and stations. */
const counted = (list: string, rows: number) =>
  `insert into list_counts (system_id, list, slot, n) values ('main', '${list}', 0, ${rows})`;

const inserts: Readonly<Record<Exclude<ListName, "rides">, (rows: number) => string[]>> = {
  bikes: (rows) => [
    `insert into bikes (system_id, id, vehicle_state, station_id, lat, lon, updated_at, source, change_position)
     select 'main', 'bike-' || substr(md5(i::text), 1, 16), state,
       case when state <> 'on_trip' and i % 3 > 0 then 'station-' || floor(1800 * power(${random(1)}, 3)) end,
       case when state <> 'on_trip' then 59.9 + ${random(7)} / 10 end, case when state <> 'on_trip' then 10.7 + ${random(13)} / 10 end,
       timestamptz '2026-01-01Z' + i * interval '6 s', 'bench', i
     from (select i, case when i % 20 = 3 then 'on_trip' when i % 997 = 5 then 'missing' else 'available' end as state
           from generate_series(1, ${rows}) as i) as made`,
    counted("bikes", rows),
  ],
  stations: (rows) => [
    `insert into stations (system_id, id, name, lat, lon, region_id, capacity, is_installed, is_renting, is_returning,
       num_bikes_available, num_docks_available, status, updated_at, source, counters, change_position)
     select 'main', 'station-' || substr(md5(i::text), 1, 16), 'Station ' || i, 59.9 + ${random(7)} / 10, 10.7 + ${random(13)} / 10,
       'region-' || floor(20 * power(${random(1)}, 3)), 20, true, true, true, 8, 12, case when i % 499 = 3 then 'offline' else 'online' end,
       timestamptz '2026-01-01Z' + i * interval '1 min', 'bench', 'mirrored', i
     from generate_series(1, ${rows}) as i`,
    counted("stations", rows),
  ],
  reservations: (rows) => [
    `insert into reservations (system_id, id, partner_id, status, bike_id, rider_ref, created_at, expires_at, cancelled_at,
       cancel_reason, ride_id, updated_at, change_position)
     select 'main', 'res_' || substr(md5(i::text), 1, 22), '${PARTNER}', status,
       case when i % 2 = 0 and status <> 'active' then 'bike-1' else 'bike-' || i % 26000 end,
       case when i % 2 = 0 and status <> 'active' then 'rider-1' else 'rider-' || i % 50000 end,
       at, at + interval '15 min', case when status = 'cancelled' then at + interval '5 min' end,
       case when status = 'cancelled' then 'partner' end, case when status = 'fulfilled' then 'ride-' || i end, at + interval '10 min', i
     from (select i, timestamptz '2026-01-01Z' - (${rows} - i) * interval '31 s' as at,
             case when i > ${rows} - 20 then 'active' when i % 10 = 1 then 'cancelled' when i % 1000 = 7 then 'expired' else 'fulfilled' end as status
           from generate_series(1, ${rows}) as i) as made`,
  ],
  // Events of this partner are mixed with those of others, and one event name is rare.
  events: (rows) => [
    `insert into events (system_id, recorded_on, position, id, name, occurred_at, partner_id, data)
     select 'main', day, i, 'evt_' || substr(md5(i::text), 1, 22), name, day::timestamptz + interval '1 h',
       case when name like 'reservation.%' then case when i % 3 = 0 then 'another' else '${PARTNER}' end end, '{}'
     from (select i, (array[${EVENT_DAYS.map((day) => `'${day}'`).join(", ")}])[case when i * 10 < ${rows} then 1 when i * 10 > ${rows} * 9 then 3 else 2 end]::date as day,
             case when i % 5000 = 7 then 'station.offline' when i % 5 = 0 then (array['${eventNames.join("', '")}'])[1 + i / 5 % ${eventNames.length}]
               else 'ride.completed' end as name
           from generate_series(1, ${rows}) as i) as made`,
    `insert into event_counts (system_id, recorded_on, name, partner_id, n)
     select system_id, recorded_on, name, coalesce(partner_id, ''), count(*) from events group by 1, 2, 3, 4`,
    `insert into event_sequences (system_id, last_position) values ('main', ${rows})`,
  ],
};

import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

// Private to the connection and empty after each commit, so it is nobody's to clean up. The time-out of requests
// does not suit thousands of rows.
const prepareConnection = `
  set local statement_timeout = 0;
  set local client_min_messages = warning;
  create temporary table if not exists past_rides (
    row              bigint not null,
    id               text collate "C" not null,
    bike_id          text collate "C" not null,
    start_station_id text collate "C",
    end_station_id   text collate "C",
    started_at       timestamptz(3) not null,
    ended_at         timestamptz(3) not null,
    duration_seconds integer not null,
    vehicle_type_id  text collate "C",
    rider_category   text,
    end_reason       text
  ) on commit delete rows`;

const copyPastRides = `copy past_rides (row, id, bike_id, start_station_id, end_station_id, started_at, ended_at,
  duration_seconds, vehicle_type_id, rider_category, end_reason) from stdin`;

// Within one statement, too, the first of two rows with one id wins: the second finds it there.
const insertPastRides = statement(
  "rides.insertPast",
  `with created as (
     insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at,
       duration_seconds, vehicle_type_id, rider_category, end_reason, is_countable, updated_at, source)
     select $1, id, bike_id, 'completed', start_station_id, end_station_id, started_at, ended_at,
       duration_seconds, vehicle_type_id, rider_category, end_reason, duration_seconds >= $4::integer, $3::timestamptz, $2
     from past_rides order by row
     on conflict (system_id, id) do nothing
     returning started_at)
   select floor(extract(epoch from started_at) / 3600)::bigint as hour, count(*) as n from created group by 1`,
);

// The planner knows nothing of the temporary table and may read all rides to join it; each id has an index entry.
const lookUpById = "set local enable_hashjoin = off; set local enable_mergejoin = off";

const differingPastRides = statement(
  "rides.differingPast",
  `select past.row, past.id
   from past_rides as past join rides on rides.system_id = $1 and rides.id = past.id
   where (rides.bike_id, rides.status, rides.start_station_id, rides.end_station_id, rides.started_at, rides.ended_at,
       rides.duration_seconds, rides.vehicle_type_id, rides.rider_category)
     is distinct from (past.bike_id, 'completed', past.start_station_id, past.end_station_id, past.started_at,
       past.ended_at, past.duration_seconds, past.vehicle_type_id, past.rider_category)
   order by past.row`,
);

/** Makes the connection ready for `openPastRides` in this transaction. */
export async function preparePastRides(tx: Transaction): Promise<void> {
  await tx.run(prepareConnection);
}

/** A stream that takes the lines of past rides, in the text format of `copy`. */
export function openPastRides(tx: Transaction): NodeJS.WritableStream {
  return tx.copyIn(copyPastRides);
}

/** Makes rides of those past rides whose id is free; gives how many started in each hour (hours since 1970). */
export function insertRides(
  tx: Transaction,
  systemId: string,
  values: { readonly source: string; readonly updatedAt: string; readonly countableFrom: number },
): Promise<{ hour: number; n: number }[]> {
  return tx.query(insertPastRides, [systemId, values.source, values.updatedAt, values.countableFrom]);
}

/** The past rides whose id belongs to a ride that is not the same, in the order of their rows. */
export async function findDifferingRides(tx: Transaction, systemId: string): Promise<{ row: number; id: string }[]> {
  await tx.run(lookUpById);
  return tx.query(differingPastRides, [systemId]);
}

import type { Transaction } from "../db/database.ts";
import { type Statement, statement } from "../db/statement.ts";

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

/** How many rides of a list of `started_at` started in each hour (hours since 1970), the first and the last of them. */
export const perHour = (list: string) => `
  select floor(extract(epoch from started_at) / 3600)::bigint as hour, count(*) as n,
    min(started_at) as first, max(started_at) as last
  from ${list} group by 1`;

// Within one statement, too, the first of two rows with one id wins: the second finds it there.
const insertPastRides = statement(
  "rides.insertPast",
  `with created as (
     insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at,
       duration_seconds, vehicle_type_id, rider_category, end_reason, is_countable, updated_at, source, import_id)
     select $1, id, bike_id, 'completed', start_station_id, end_station_id, started_at, ended_at,
       duration_seconds, vehicle_type_id, rider_category, end_reason, duration_seconds >= $4::integer, $3::timestamptz,
       $2, $5
     from past_rides order by row
     on conflict (system_id, id) do nothing
     returning started_at)
   ${perHour("created")}`,
);

// The planner knows nothing of the temporary table and may read all rides to join it; each id has an index entry.
const lookUpById = "set local enable_hashjoin = off; set local enable_mergejoin = off";

/** What makes two rides of one id the same: every field that a trip file has. */
const sameFields = (rides: string) =>
  `(${rides}.bike_id, ${rides}.start_station_id, ${rides}.end_station_id, ${rides}.started_at, ${rides}.ended_at,
    ${rides}.duration_seconds, ${rides}.vehicle_type_id, ${rides}.rider_category)`;

/**
 * Rides that differ, each, and by how much the stored one is later, where that is as much for its start as for its end;
 * then which imports made those that are the same. Values: the system, and the import whose own rides do not count.
 * @param stored the relation that has the stored rides
 */
export const heldPastRides = (stored: string) => `
  with pairs as materialized (
    select past.row, past.id, stored.import_id,
      ${sameFields("stored")} is distinct from ${sameFields("past")} or stored.status <> 'completed' as differs,
      case when stored.started_at - past.started_at = stored.ended_at - past.ended_at
        then extract(epoch from stored.started_at - past.started_at)::float8 end as shift_seconds
    from past_rides as past join ${stored} as stored on stored.system_id = $1 and stored.id = past.id)
  select row, id, import_id, shift_seconds from pairs where differs
  union all
  select null, null, import_id, null from pairs
  where not differs and import_id is not null and import_id is distinct from $2 group by import_id
  order by row`;

const held = statement("rides.heldPast", heldPastRides("rides"));

/** Makes the connection ready for `openPastRides` in this transaction. */
export async function preparePastRides(tx: Transaction): Promise<void> {
  await tx.run(prepareConnection);
}

/** A stream that takes the lines of past rides, in the text format of `copy`. */
export function openPastRides(tx: Transaction): NodeJS.WritableStream {
  return tx.copyIn(copyPastRides);
}

/** The rides that started in one hour. */
export interface HourOfRides {
  /** Hours since 1970. */
  readonly hour: number;
  readonly n: number;
  readonly first: Date;
  readonly last: Date;
}

/** Makes rides of those past rides whose id is free; gives how many started in each hour. */
export function insertRides(
  tx: Transaction,
  systemId: string,
  values: {
    readonly source: string;
    readonly updatedAt: string;
    readonly countableFrom: number;
    readonly importId: string | null;
  },
): Promise<HourOfRides[]> {
  const { source, updatedAt, countableFrom, importId } = values;
  return tx.query<HourOfRides>(insertPastRides, [systemId, source, updatedAt, countableFrom, importId]);
}

/** What the past rides found in the place of their ids. */
export interface HeldRides {
  /** Those whose id belongs to a ride that is not the same, in the order of their rows. */
  readonly differing: readonly DifferingRide[];
  /** The other imports that made rides which are the same. */
  readonly sameImports: readonly string[];
}

/** A past ride whose id belongs to a ride that is not the same. */
export interface DifferingRide {
  readonly row: number;
  readonly id: string;
  /** The import that made the stored ride. */
  readonly importId: string | null;
  /** By how many seconds the stored ride is later (negative: earlier); null where start and end differ in their own ways. */
  readonly shiftSeconds: number | null;
}

/**
 * Compares the past rides with the rides that have their ids.
 * @param text the statement, where it is not the stored rides alone that they are compared with
 */
export async function findHeldRides(
  tx: Transaction,
  systemId: string,
  importId: string | null,
  text: Statement = held,
): Promise<HeldRides> {
  await tx.run(lookUpById);
  return readHeldRides(await tx.query<HeldRow>(text, [systemId, importId]));
}

interface HeldRow {
  readonly row: number | null;
  readonly id: string | null;
  readonly import_id: string | null;
  readonly shift_seconds: number | null;
}

function readHeldRides(rows: readonly HeldRow[]): HeldRides {
  const differing: DifferingRide[] = [];
  const sameImports: string[] = [];
  for (const { row, id, import_id: importId, shift_seconds: shiftSeconds } of rows) {
    if (row !== null && id !== null) differing.push({ row, id, importId, shiftSeconds });
    else if (importId !== null) sameImports.push(importId);
  }
  return { differing, sameImports };
}

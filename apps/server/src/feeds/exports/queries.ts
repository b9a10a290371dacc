import type { QueryRunner } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Period } from "./months.rules.ts";

/** A ride as files are made of it. */
export interface RideRecord {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Null: it is under way. */
  readonly endedAt: number | null;
  readonly startStationId: string | null;
  readonly endStationId: string | null;
  readonly vehicleTypeId: string | null;
  readonly riderCategory: string | null;
  readonly status: string;
  readonly endReason: string | null;
  readonly isCountable: boolean;
}

interface RideRow extends Omit<RideRecord, "startedAt" | "endedAt"> {
  readonly started: number;
  readonly ended: number | null;
}

/** A station as files tell of it. */
export interface StationRecord {
  readonly id: string;
  readonly name: string;
  readonly short_name: string | null;
  readonly lat: number;
  readonly lon: number;
  readonly region_id: string | null;
  readonly capacity: number | null;
  readonly is_virtual_station: boolean;
  readonly status: string;
}

/**
 * Rows of one statement. Too high: rows that wait take memory, and each statement occupies the thread for longer. Too low:
 * more of the time goes to round trips.
 */
const BATCH_ROWS = 2_000;

const now = statement("exports.now", "select date_trunc('milliseconds', now()) as at");

// Seconds as numbers: the driver takes longer for a date than for all the rest of a row.
const rides = statement(
  "exports.rides",
  `select id, extract(epoch from started_at)::float8 as started, extract(epoch from ended_at)::float8 as ended,
     start_station_id as "startStationId", end_station_id as "endStationId", vehicle_type_id as "vehicleTypeId",
     rider_category as "riderCategory", status, end_reason as "endReason",
     coalesce(is_countable, duration_seconds >= 60, false) as "isCountable"
   from rides
   where system_id = $1 and started_at >= $2::timestamptz and started_at < $3::timestamptz
     and (started_at, id) > ($4::timestamptz, $5::text)
   order by started_at, id limit ${BATCH_ROWS}`,
);

const stations = statement(
  "exports.stations",
  `select id, name, short_name, lat, lon, region_id, capacity, is_virtual_station, status
   from stations where system_id = $1 and id > $2 order by id limit ${BATCH_ROWS}`,
);

/** A change of a station's counters or status. */
export interface StationChangeRecord {
  readonly stationId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  readonly disabled: number | null;
  readonly docks: number | null;
  readonly docksDisabled: number | null;
  readonly flags: number;
}

// The days keep partitions of other months unread.
const stationChanges = statement(
  "exports.stationChanges",
  `select station_id as "stationId", extract(epoch from at)::float8 as seconds, bikes, disabled, docks,
     docks_disabled as "docksDisabled", flags
   from station_changes
   where system_id = $1 and changed_on >= ($2::timestamptz at time zone 'UTC')::date
     and changed_on <= ($3::timestamptz at time zone 'UTC')::date
     and at >= $2::timestamptz and at < $3::timestamptz and (station_id, at) > ($4::text, $5::timestamptz)
   order by station_id, at limit ${BATCH_ROWS}`,
);

/** Reads the changes of stations in a period, by station and then by time. */
export async function* readStationChanges(
  db: QueryRunner,
  systemId: string,
  { from, to }: Period,
): AsyncGenerator<StationChangeRecord[]> {
  let after = { stationId: "", at: from };
  for (;;) {
    const range = [new Date(from), new Date(to), after.stationId, new Date(after.at)];
    const rows = await db.query<StationChangeRecord & { readonly seconds: number }>(stationChanges, [
      systemId,
      ...range,
    ]);
    const records = rows.map(({ seconds, ...change }) => ({ ...change, at: Math.round(seconds * 1000) }));
    if (records.length > 0) yield records;
    const last = records.at(-1);
    if (last === undefined || records.length < BATCH_ROWS) return;
    after = last;
  }
}

/** When the transaction began. */
export async function findNow(db: QueryRunner): Promise<Date> {
  return oneRow(await db.query<{ at: Date }>(now)).at;
}

/** Reads the rides that started in a period, in the order of their start. */
export async function* readRides(
  db: QueryRunner,
  systemId: string,
  { from, to }: Period,
): AsyncGenerator<RideRecord[]> {
  let after = { startedAt: from, id: "" };
  for (;;) {
    const range = [new Date(from), new Date(to), new Date(after.startedAt), after.id];
    const rows = await db.query<RideRow>(rides, [systemId, ...range]);
    const records = rows.map(({ started, ended, ...ride }) => ({
      ...ride,
      startedAt: Math.round(started * 1000),
      endedAt: ended === null ? null : Math.round(ended * 1000),
    }));
    if (records.length > 0) yield records;
    const last = records.at(-1);
    if (last === undefined || records.length < BATCH_ROWS) return;
    after = last;
  }
}

/** Reads all stations by id, also those that were removed. */
export async function* readStations(db: QueryRunner, systemId: string): AsyncGenerator<StationRecord[]> {
  let after = "";
  for (;;) {
    const rows = await db.query<StationRecord>(stations, [systemId, after]);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH_ROWS) return;
    after = last.id;
  }
}

import type { Queryable, QueryRunner } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Jurisdiction } from "./jurisdiction.rules.ts";
import { FORM_FACTOR, joinType } from "./type-sql-fragments.ts";

/*
 * The statements for the monthly reports that agencies read. A report counts trips. The counts of each day are stored, and
 * counted again only when rides of the day, or of the UTC hours and days that overlap with it, have changed.
 */

/** A day in local time, with the number of its trips as last counted. */
export interface DayRow {
  readonly day: string;
  readonly from: Date;
  readonly to: Date;
  /**
   * Identifies the state of the day's rides. If it differs from `counted_version`, rides may have changed since they were
   * counted.
   */
  readonly version: string;
  /** The version when the day was counted; null: it was never counted. */
  readonly counted_version: string | null;
  readonly counts: readonly DayCount[] | null;
}

/**
 * The number of trips of one group of riders with one vehicle type. The type is stored by its id, because the operator may
 * describe it differently later.
 */
export interface DayCount {
  /** Null: riders in none of the special groups. */
  readonly special_group: string | null;
  readonly vehicle_type_id: string | null;
  readonly n: number;
}

// `version` consists of three numbers for a day: its rides, the late changes of rides, and the rides that have not ended. It
// differs whenever rides of the day were added, removed, corrected or ended. It includes the whole UTC hours and days that
// overlap with the local day, because hours of some time zones do not begin with an hour of UTC.
const listDayRows = statement(
  "mds.listReportDays",
  `select day.day::text as day, day."from", day."to", kept.version as counted_version, kept.counts,
     (select coalesce(sum(n), 0) from ride_counts where system_id = $1 and period = 'hour'
        and starts_at > day."from" - interval '1 hour' and starts_at < day."to")
     || ' ' || (select coalesce(sum(changes), 0) from ride_counts where system_id = $1 and period = 'day'
        and starts_at > day."from" - interval '1 day' and starts_at < day."to")
     || ' ' || (select count(*) from rides where system_id = $1 and status = 'started'
        and started_at >= day."from" and started_at < day."to") as version
   from (select start::date as day, start at time zone $2 as "from", (start + interval '1 day') at time zone $2 as "to"
         from generate_series($3::timestamp, $3::timestamp + interval '1 month - 1 day', interval '1 day') as start) as day
   left join mds_trip_days kept on kept.system_id = $1 and kept.time_zone = $4 and kept.day = day.day
   order by day.day`,
);

const countDay = statement(
  "mds.countTripsOfDay",
  `select r.special_group, r.vehicle_type_id, count(*)::int as n from rides r
   where r.system_id = $1 and r.started_at >= $2::timestamptz and r.started_at < $3::timestamptz and r.status = 'completed'
   group by 1, 2 order by 1, 2`,
);

// Counts trips by the positions of their start and end. The caller adds up the counts of positions within a boundary,
// because PostgreSQL does not know boundaries.
const countDayByPlace = statement(
  "mds.countTripsOfDayByPlace",
  `select r.special_group, r.vehicle_type_id, count(*)::int as n,
     coalesce(r.start_lat, origin.lat) as start_lat, coalesce(r.start_lon, origin.lon) as start_lon,
     coalesce(r.end_lat, target.lat) as end_lat, coalesce(r.end_lon, target.lon) as end_lon
   from rides r
   left join stations origin on origin.system_id = $1 and origin.id = r.start_station_id
   left join stations target on target.system_id = $1 and target.id = r.end_station_id
   where r.system_id = $1 and r.started_at >= $2::timestamptz and r.started_at < $3::timestamptz and r.status = 'completed'
   group by 1, 2, 4, 5, 6, 7`,
);

const keepDay = statement(
  "mds.keepTripsOfDay",
  `insert into mds_trip_days (system_id, time_zone, day, version, counts) values ($1, $2, $3::date, $4, $5::json)
   on conflict (system_id, time_zone, day) do update set version = excluded.version, counts = excluded.counts`,
);

// `joinType` joins the description of the vehicle's type, which `FORM_FACTOR` reads.
const listForms = statement(
  "mds.listShapesInOperation",
  `select distinct ${FORM_FACTOR} as form_factor from bikes b
   ${joinType("b.vehicle_type_id")}
   where b.system_id = $1 and b.last_event is not null`,
);

/** What a day's counts depend on: the time zone, and the hash of the agency's boundary. */
export interface CountedBy {
  readonly timeZone: string;
  readonly boundaryHash: string | null;
}

/**
 * Returns the key of a day's counts. The column `time_zone` contains both the time zone and the hash of the boundary,
 * because each pair has its own counts.
 */
function countsKey({ timeZone, boundaryHash }: CountedBy): string {
  return boundaryHash === null ? timeZone : `${timeZone} ${boundaryHash}`;
}

/** Returns the days of a month in a time zone. @param month the first day of the month: `2026-10-01` */
export function listReportDays(db: QueryRunner, systemId: string, by: CountedBy, month: string): Promise<DayRow[]> {
  return db.query<DayRow>(listDayRows, [systemId, by.timeZone, month, countsKey(by)]);
}

/** Counts the completed trips that started on a day, by group of riders and type of vehicle. */
export function countTripsOfDay(
  db: QueryRunner,
  systemId: string,
  { from, to }: Pick<DayRow, "from" | "to">,
): Promise<DayCount[]> {
  return db.query<DayCount>(countDay, [systemId, from, to]);
}

/** Like `countTripsOfDay`, but counts only trips that began or ended within a boundary. */
export async function countTripsWithin(
  db: QueryRunner,
  systemId: string,
  { from, to }: Pick<DayRow, "from" | "to">,
  isWithin: Jurisdiction,
): Promise<DayCount[]> {
  const rows = await db.query<DayCount & TripEnds>(countDayByPlace, [systemId, from, to]);
  const within = (lat: number | null, lon: number | null) => lat !== null && lon !== null && isWithin(lat, lon);
  // Adds up the trips of equal groups at different positions.
  const counts = new Map<string, DayCount>();
  for (const { special_group, vehicle_type_id, n, ...ends } of rows) {
    if (!within(ends.start_lat, ends.start_lon) && !within(ends.end_lat, ends.end_lon)) continue;
    const key = JSON.stringify([special_group, vehicle_type_id]);
    counts.set(key, { special_group, vehicle_type_id, n: n + (counts.get(key)?.n ?? 0) });
  }
  return [...counts.values()];
}

/** The positions of the start and the end of trips. */
type TripEnds = Readonly<Record<"start_lat" | "start_lon" | "end_lat" | "end_lon", number | null>>;

/** Stores a day's counts. */
export async function keepTripsOfDay(
  db: Queryable,
  systemId: string,
  by: CountedBy,
  { day, version, counts }: Pick<DayRow, "day" | "version" | "counts">,
): Promise<void> {
  await db.query(keepDay, [systemId, countsKey(by), day, version, JSON.stringify(counts)]);
}

/** Returns the form factors of the vehicles whose events are logged; null: a vehicle of unknown form factor. */
export async function listFormsInOperation(db: QueryRunner, systemId: string): Promise<(string | null)[]> {
  return (await db.query<{ form_factor: string | null }>(listForms, [systemId])).map(({ form_factor: form }) => form);
}

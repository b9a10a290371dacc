import type { BoundingBox } from "@bikeshare/contract";
import { listFilters } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import { joinRows, type PageRows, type PageStart } from "../../storage/lists/page.ts";
import { changeUntil, offlineReasonOf, statusOf } from "./changes-sql-fragments.ts";
import { FLAG_UNITS, STATUSES } from "./changes-state.rules.ts";

/** Filters of the stations of an instant: the state is that of the instant, the rest is as it is today. */
export interface StationsAtFilters {
  readonly status?: string | undefined;
  readonly region_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
}

const begin = statement("stationHistory.begin", "select min(known_since) as begins from stations where system_id = $1");

/** Returns the instant at which the history of a system's stations begins; null: it has none. */
export async function findBeginOfHistory(db: QueryRunner, systemId: string): Promise<Date | null> {
  return oneRow(await db.query<{ begins: Date | null }>(begin, [systemId])).begins;
}

const at = "$2::timestamptz";
const isFlagged = (unit: number) => `change.flags & ${unit} > 0`;
/** The columns of a station's state: as they are, and as a change has them. */
const state = {
  is_installed: isFlagged(FLAG_UNITS.is_installed),
  is_renting: isFlagged(FLAG_UNITS.is_renting),
  is_returning: isFlagged(FLAG_UNITS.is_returning),
  num_bikes_available: "change.bikes",
  num_bikes_reserved: "change.reserved",
  num_bikes_disabled: "change.disabled",
  num_docks_available: "change.docks",
  num_docks_disabled: "change.docks_disabled",
  status: statusOf("change"),
  offline_reason: offlineReasonOf("change"),
  // ["a",1,"b",2] as [{"vehicle_type_id":"a","count":1},{"vehicle_type_id":"b","count":2}]
  vehicle_types_available: `(
    select coalesce('[' || string_agg(case when n % 2 = 0 then ',"count":' || value || '}'
      else case when n > 1 then ',' else '' end || '{"vehicle_type_id":' || value end, '' order by n) || ']', '[]')
    from json_array_elements(change.by_type::json) with ordinality as types (value, n))::json`,
  updated_at: "change.at",
} as const;

const IS_PRESENT = `station.state_since <= ${at}`;
const stateColumn = (name: keyof typeof state) =>
  `case when ${IS_PRESENT} then station.${name} else ${state[name]} end`;

/** SQL: a station as it was, in the order of the function's arguments. */
const JSON_AT = `left(station_json(station.id, station.name, station.short_name, station.lat, station.lon, station.address,
    station.region_id, station.capacity, station.is_virtual_station, ${stateColumn("is_installed")},
    ${stateColumn("is_renting")}, ${stateColumn("is_returning")}, ${stateColumn("num_bikes_available")},
    ${stateColumn("num_bikes_reserved")}, ${stateColumn("num_bikes_disabled")}, ${stateColumn("num_docks_available")},
    ${stateColumn("num_docks_disabled")}, ${stateColumn("vehicle_types_available")}, ${stateColumn("status")},
    ${stateColumn("offline_reason")}, null,
    case when ${IS_PRESENT} then case when station.state_since = '-infinity' then least(station.updated_at, ${at})
      else station.state_since end else change.at end), -1)
  || ',"as_of":"' || to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}'`;

/**
 * SQL: the stations that were known at an instant, beside how they were.
 * @param conditions on their descriptions
 */
const stationsAt = (conditions: readonly string[]) =>
  `(select * from stations where ${["system_id = $1", `known_since <= ${at}`, ...conditions].join(" and ")}) as station
   left join lateral (${changeUntil("station.id", at)}) as change on station.state_since > ${at}
   where (${IS_PRESENT} or change.at is not null)`;

const one = statement("stationHistory.stationAt", `select ${JSON_AT} as json from ${stationsAt(["id = $3"])}`);

/** Returns a station as it was at an instant, as JSON; undefined when it was not known then. */
export async function findStationAt(
  db: QueryRunner,
  systemId: string,
  instant: Date,
  id: string,
): Promise<string | undefined> {
  return (await db.query<{ json: string }>(one, [systemId, instant, id]))[0]?.json;
}

/** Returns a page of stations as they were at an instant, by id, and how many there are in all. */
export async function listStationsAt(
  db: QueryRunner,
  systemId: string,
  instant: Date,
  { status, ...described }: StationsAtFilters,
  start: PageStart<string>,
  size: number,
): Promise<PageRows> {
  const values: unknown[] = [systemId, instant];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = conditionsOf(listFilters.stations, described).map((condition) => condition(bind));
  const passes = status === undefined ? "" : ` and ${stateColumn("status")} = ${bind(status)}`;
  const known = ["system_id = $1", `known_since <= ${at}`, ...conditions].join(" and ");
  const total =
    status === undefined
      ? `(select count(*) from stations where ${known})`
      : `(select count(*) from ${stationsAt(conditions)}${passes})`;
  const after = "after" in start ? [`id > ${bind(start.after)}`] : [];
  const rows = joinRows(
    `select ${JSON_AT} as json from ${stationsAt([...conditions, ...after])}${passes}
     order by station.id ${"skip" in start ? `offset ${bind(start.skip)}::bigint ` : ""}limit ${bind(size)}`,
  );
  // Planned with the instant: it leaves one partition.
  const text = `select (${rows}) as rows, ${"after" in start ? "null" : total} as total`;
  return oneRow(await db.query<PageRows>(statement("", text), values));
}

/** What is known of a station's history, and how the station was at its beginning. */
export interface HistoryBegin {
  readonly known_since: Date;
  /** The state at the beginning that was asked for, or at that of the station's history if that is later. */
  readonly bikes: number;
  readonly docks: number | null;
  readonly flags: number;
}

/** A change of a station. */
export interface HistoryRow {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  readonly docks: number | null;
  readonly flags: number;
}

const beginning = statement(
  "stationHistory.beginning",
  `select station.known_since, ${[
    ["bikes", "num_bikes_available"],
    ["docks", "num_docks_available"],
  ]
    .map(
      ([name, column]) =>
        `case when station.state_since <= station.since then station.${column} else change.${name} end as ${name}`,
    )
    .join(", ")},
     case when station.state_since <= station.since
       then ${FLAG_UNITS.status} * array_position(array[${STATUSES.map((name) => `'${name}'`).join(", ")}], station.status)
       else change.flags end as flags
   from (select *, greatest(known_since, ${at}) as since from stations where system_id = $1 and id = $3) as station
   left join lateral (${changeUntil("station.id", "station.since")}) as change on station.state_since > station.since`,
);

/** Returns how a station was at an instant, or at the beginning of its history; undefined for an unknown station. */
export async function findHistoryBegin(
  db: QueryRunner,
  systemId: string,
  instant: Date,
  id: string,
): Promise<HistoryBegin | undefined> {
  return (await db.query<HistoryBegin>(beginning, [systemId, instant, id]))[0];
}

// The index has all columns: no row is read.
const changes = statement(
  "stationHistory.changes",
  `select (extract(epoch from at) * 1000)::float8 as at, bikes, docks, flags from station_changes
   where system_id = $1 and station_id = $2 and at > $3::timestamptz and at < $4::timestamptz
     and changed_on >= $5::date and changed_on <= $6::date
   order by at limit $7`,
);

/** Returns a station's first changes after an instant and before another. */
export function listHistoryRows(
  db: QueryRunner,
  systemId: string,
  id: string,
  { after, before, limit }: { readonly after: Date; readonly before: Date; readonly limit: number },
): Promise<HistoryRow[]> {
  const dayOf = (instant: Date) => instant.toISOString().slice(0, 10);
  return db.query<HistoryRow>(changes, [systemId, id, after, before, dayOf(after), dayOf(before), limit]);
}

import type { BoundingBox } from "@bikeshare/contract";
import { listFilters } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import { joinRows, mapRows, type PageRows, type PageStart } from "../../storage/lists/page.ts";
import { changeUntil, flagsOf, statusOf } from "./changes-sql-fragments.ts";
import { FLAG_UNITS, pastStationJson, STATUSES } from "./changes-state.rules.ts";

/*
 * The statements on how stations were. A station's row has its present state, since `state_since`; earlier states are in
 * `station_changes` (`changes-sql-fragments.ts`). `known_since` is when the station's history begins.
 */

/** Filters of the stations at an instant. `status` is the status at that instant; the other filters use today's values. */
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
const IS_PRESENT = `station.state_since <= ${at}`;
/** SQL: a value at the instant, from the station's own row or from the joined change. */
const asOf = (present: string, past: string) => `case when ${IS_PRESENT} then ${present} else ${past} end`;
/** SQL: an instant as JSON has it, without quotes. */
const instantOf = (value: string) => `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * SQL: a station at an instant, as the texts from which `pastStationJson` makes its JSON: the beginning of the station's
 * present JSON, then its state. Tabs separate the texts, because JSON contains none. Making the JSON in SQL costs four times
 * as much.
 */
const ROW = `left(station.json, strpos(station.json, ',"is_installed":')) || E'\t' || ${[
  asOf(flagsOf("station"), "change.flags"),
  asOf("station.num_bikes_available", "change.bikes"),
  asOf("station.num_bikes_reserved", "change.reserved"),
  `coalesce(${asOf("station.num_bikes_disabled", "change.disabled")}::text, 'null')`,
  `coalesce(${asOf("station.num_docks_available", "change.docks")}::text, 'null')`,
  `coalesce(${asOf("station.num_docks_disabled", "change.docks_disabled")}::text, 'null')`,
  instantOf(
    asOf(
      `case when station.state_since = '-infinity' then least(station.updated_at, ${at}) else station.state_since end`,
      "change.at",
    ),
  ),
  asOf("station.vehicle_types_available::text", "change.by_type"),
].join(" || E'\\t' || ")}`;

/** SQL: joins a station's newest change until the instant, unless the station's own row has its state at the instant. */
const WITH_CHANGE = `left join lateral (
     select * from (${changeUntil("station.id", at)}) as newest where station.state_since > ${at}) as change on true
   where (${IS_PRESENT} or change.at is not null)`;

const known = (conditions: readonly string[]) =>
  ["system_id = $1", `known_since <= ${at}`, ...conditions].join(" and ");

/**
 * SQL: the stations that were known at an instant, joined with the change that has their state.
 * @param conditions conditions on the descriptions of stations
 */
const stationsAt = (conditions: readonly string[]) =>
  `(select * from stations where ${known(conditions)}) as station ${WITH_CHANGE}`;

const one = statement("stationHistory.stationAt", `select ${ROW} as row from ${stationsAt(["id = $3"])}`);

/** Returns a station as it was at an instant, as JSON; undefined when it was not known then. */
export async function findStationAt(
  db: QueryRunner,
  systemId: string,
  instant: Date,
  id: string,
): Promise<string | undefined> {
  const found = (await db.query<{ row: string }>(one, [systemId, instant, id]))[0];
  return found && pastStationJson(instant)(found.row);
}

/** Returns a page of stations as they were at an instant, by id, and, except after a cursor, how many there are in all. */
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
  const passes = status === undefined ? "" : ` and ${asOf("station.status", statusOf("change"))} = ${bind(status)}`;
  const total =
    status === undefined
      ? `(select count(*) from stations where ${known(conditions)})`
      : `(select count(*) from ${stationsAt(conditions)}${passes})`;
  const after = "after" in start ? [...conditions, `id > ${bind(start.after)}`] : conditions;
  const page = `order by id ${"skip" in start ? `offset ${bind(start.skip)}::bigint ` : ""}limit ${bind(size)}`;
  // The stations of the page are picked before their states are looked up, to save looking up the states of earlier pages.
  // Only a filter by status needs the states first.
  const picked =
    status === undefined
      ? `select * from stations where ${known(after)} ${page}`
      : `select station.* from ${stationsAt(after)}${passes} ${page}`;
  const rows = joinRows(`select ${ROW} as json from (${picked}) as station ${WITH_CHANGE} order by station.id`);
  // The statement has no name, so that PostgreSQL plans it for this instant and reads one partition.
  const text = `select (${rows}) as rows, ${"after" in start ? "null" : total} as total`;
  const { rows: found, total: all } = oneRow(await db.query<PageRows>(statement("", text), values));
  return { rows: mapRows(found, pastStationJson(instant)), total: all };
}

/** When a station's history begins, and the station's state at the requested instant. */
export interface HistoryBegin {
  readonly known_since: Date;
  /** The state at the requested instant, or at the beginning of the station's history if that is later. */
  readonly bikes: number;
  readonly docks: number | null;
  /** Only the status in these flags is meaningful. */
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

/** SQL: a value at the instant `station.since`, from the station's own row or from the joined change. */
const atSince = (present: string, past: string) =>
  `case when station.state_since <= station.since then ${present} else ${past} end`;
/** SQL: the flags of a station's own row that say its status. */
const statusFlags = `${FLAG_UNITS.status} * array_position(array[${STATUSES.map((name) => `'${name}'`).join(", ")}], station.status)`;

// `since` is the instant $2, or the beginning of the station's history if that is later.
const beginning = statement(
  "stationHistory.beginning",
  `select station.known_since, ${atSince("station.num_bikes_available", "change.bikes")} as bikes,
     ${atSince("station.num_docks_available", "change.docks")} as docks, ${atSince(statusFlags, "change.flags")} as flags
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

// The index has all columns, so no table row is read. One text with all numbers takes a fifth of the time that rows
// take.
const changes = statement(
  "stationHistory.changes",
  `select string_agg(date_part('epoch', at) * 1000 || ',' || bikes || ',' || coalesce(docks::text, 'null') || ',' || flags, ',') as numbers
   from (
     select at, bikes, docks, flags from station_changes
     where system_id = $1 and station_id = $2 and at > $3::timestamptz and at < $4::timestamptz
       and changed_on >= $5::date and changed_on <= $6::date
     order by at limit $7) as change`,
);

/** Returns a station's first changes after an instant and before another. */
export async function listHistoryRows(
  db: QueryRunner,
  systemId: string,
  id: string,
  { after, before, limit }: { readonly after: Date; readonly before: Date; readonly limit: number },
): Promise<HistoryRow[]> {
  const dayOf = (instant: Date) => instant.toISOString().slice(0, 10);
  const values = [systemId, id, after, before, dayOf(after), dayOf(before), limit];
  const { numbers } = oneRow(await db.query<{ numbers: string | null }>(changes, values));
  const read = JSON.parse(`[${numbers ?? ""}]`) as readonly (number | null)[];
  const rows: HistoryRow[] = [];
  for (let n = 0; n < read.length; n += 4) {
    const [ms, bikes, docks = null, flags] = read.slice(n, n + 4);
    // Only docks may be null. The time is rounded, because PostgreSQL's seconds are not exact to the millisecond.
    rows.push({ at: Math.round(ms ?? 0), bikes: bikes ?? 0, docks, flags: flags ?? 0 });
  }
  return rows;
}

import { FLAG_UNITS, OFFLINE_REASONS, STATUSES } from "./changes-state.rules.ts";

/*
 * Each statement that writes the counters or the status of stations records the new state in `station_changes`:
 *
 *   with written as (
 *     update stations s set …, ${stateSince("s", "$2")} … returning s.id, ${stateOf("s")}),
 *   ${recordChanged("written")}
 *   select id from written
 *
 * tools/statement-rules.ts refuses one that does not. See docs/decisions/history.md.
 */

/** The columns of `station_changes` that are a station's state. */
export const STATE_COLUMNS = ["bikes", "reserved", "disabled", "docks", "docks_disabled", "flags", "by_type"] as const;

const columnsOf = (row: string, prefix = "") => STATE_COLUMNS.map((name) => `${row}.${prefix}${name}`).join(", ");

/** Of two changes at the same instant the later one stays. */
const INSERT = `insert into station_changes (system_id, station_id, at, changed_on, ${STATE_COLUMNS.join(", ")})`;
const REPLACE = `on conflict (system_id, station_id, at, changed_on)
      do update set ${STATE_COLUMNS.map((name) => `${name} = excluded.${name}`).join(", ")}`;

const positionIn = (values: readonly string[], column: string) =>
  `coalesce(array_position(array[${values.map((value) => `'${value}'`).join(", ")}], ${column}), 0)`;

const flagsOf = (row: string) =>
  `(${FLAG_UNITS.is_installed} * ${row}.is_installed::int + ${FLAG_UNITS.is_renting} * ${row}.is_renting::int
      + ${FLAG_UNITS.is_returning} * ${row}.is_returning::int
      + ${FLAG_UNITS.status} * ${positionIn(STATUSES, `${row}.status`)}
      + ${FLAG_UNITS.offline_reason} * ${positionIn(OFFLINE_REASONS, `${row}.offline_reason`)})::smallint`;

const oneOf = (values: readonly string[], flags: string, unit: number) =>
  `(array[${values.map((value) => `'${value}'`).join(", ")}])[(${flags} / ${unit}) & 7]`;

/** SQL: the status of a row of `station_changes`. */
export const statusOf = (row: string) => oneOf(STATUSES, `${row}.flags`, FLAG_UNITS.status);

/** SQL: why the station of a row of `station_changes` was offline. */
export const offlineReasonOf = (row: string) => oneOf(OFFLINE_REASONS, `${row}.flags`, FLAG_UNITS.offline_reason);

/** SQL: the newest change of a station until an instant, in the instant's month, which has all that are needed. */
export const changeUntil = (station: string, instant: string) =>
  `select change.* from station_changes change
   where change.system_id = $1 and change.station_id = ${station} and change.at <= ${instant}
     and change.changed_on >= (date_trunc('month', ${instant}, 'UTC') at time zone 'UTC')::date
     and change.changed_on <= (${instant} at time zone 'UTC')::date
   order by change.at desc limit 1`;

/**
 * SQL: `[{"vehicle_type_id":"a","count":1},{"vehicle_type_id":"b","count":2}]` as `["a",1,"b",2]`. Every quote inside a string
 * of JSON has a backslash before it, so the replaced texts lie between the strings.
 */
const byTypeOf = (types: string) =>
  `case when ${types}::text = '[]' then '[]' else '[' || left(replace(replace(substr(${types}::text, 21),
      '},{"vehicle_type_id":', ','), ',"count":', ','), -2) || ']' end`;

/** SQL: the state of a row of `stations`, in the columns of `station_changes`, and since when the station has it. */
export function stateOf(row: string): string {
  return `${row}.state_since, ${row}.num_bikes_available as bikes, ${row}.num_bikes_reserved as reserved,
      ${row}.num_bikes_disabled as disabled, ${row}.num_docks_available as docks,
      ${row}.num_docks_disabled as docks_disabled, ${flagsOf(row)} as flags,
      ${byTypeOf(`${row}.vehicle_types_available`)} as by_type`;
}

/**
 * SQL: the assignment of `state_since` in an `update` of a station, never before its newest change.
 * @param condition SQL that is true if the state changes; left out: it always does
 */
export function stateSince(row: string, at: string, condition = "true"): string {
  return `state_since = case when ${condition} then greatest((${at})::timestamptz(3), ${row}.state_since) else ${row}.state_since end`;
}

/** Steps of a `with` that record the states of inserted stations. @param inserted the step before, with `id` and `stateOf` */
export function recordInserted(inserted: string): string {
  return `recorded as (
    ${INSERT}
    select $1, id, state_since, (state_since at time zone 'UTC')::date, ${STATE_COLUMNS.join(", ")} from ${inserted}
    ${REPLACE})`;
}

/**
 * Steps of a `with` that record the states of updated stations which differ from those before.
 *
 * The first change of a station also records the state before, from `known_since` on, and the first change in a month the
 * state at the beginning of the month, for each month since the change before. So the state at an instant is that of the
 * station's own row, or of the newest change in the instant's month.
 * @param updated the step before, with `id` and `stateOf` of the new rows
 */
export function recordUpdated(updated: string): string {
  return `changed as materialized (
    select ${updated}.*, earlier.known_since, earlier.state_since as earlier_since,
      ${STATE_COLUMNS.map((name) => `earlier.${name} as earlier_${name}`).join(", ")}
    from ${updated} cross join lateral (
      select stations.known_since, ${stateOf("stations")}
      from stations where stations.system_id = $1 and stations.id = ${updated}.id limit 1) as earlier
    where ${updated}.state_since > earlier.state_since
      or (${columnsOf(updated)}) is distinct from (${columnsOf("earlier")})),
  recorded as (
    ${INSERT}
    select $1, change.id, change.at, (change.at at time zone 'UTC')::date, ${columnsOf("change")}
    from (
      select id, state_since as at, ${STATE_COLUMNS.join(", ")} from changed
      union all
      select id, earlier.at, ${STATE_COLUMNS.map((name) => `earlier_${name}`).join(", ")}
      from changed cross join lateral (
        select known_since as at where earlier_since = '-infinity'
        union all
        select generate_series(date_trunc('month', greatest(known_since, earlier_since), 'UTC') + interval '1 month',
          state_since, interval '1 month')) as earlier
      where earlier_since < date_trunc('month', state_since, 'UTC') and earlier.at < state_since) as change
    ${REPLACE})`;
}

/** A step of a `with` that deletes the history of deleted stations. @param deleted the step before, with `id` */
export function forgetDeleted(deleted: string): string {
  return `forgotten as (
    delete from station_changes where system_id = $1 and station_id = any(array(select id from ${deleted})))`;
}

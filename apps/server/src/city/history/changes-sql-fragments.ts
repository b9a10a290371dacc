import { FLAG_UNITS, OFFLINE_REASONS, STATUSES } from "./changes-state.rules.ts";

/*
 * Each statement that writes the counters or the status of stations records the new state in `station_changes`:
 *
 *   with written as (
 *     update stations s set …, ${stateSince("s", "$2")} … returning s.id, ${stateOf("s")}),
 *   ${recordUpdated("written")}
 *   select id from written
 *
 * apps/server/tools/statement-rules.ts refuses a statement that does not. `stations.state_since` is the time of a station's
 * last change; '-infinity': it has not changed since `known_since`, the beginning of its history. `$1` is the system. All
 * these times have whole milliseconds, hence the casts to `timestamptz(3)`. See docs/decisions/history.md.
 */

/** The columns of `station_changes` that are a station's state. */
export const STATE_COLUMNS = ["bikes", "reserved", "disabled", "docks", "docks_disabled", "flags", "by_type"] as const;

const columnsOf = (row: string) => STATE_COLUMNS.map((name) => `${row}.${name}`).join(", ");

const INSERT = `insert into station_changes (system_id, station_id, at, changed_on, ${STATE_COLUMNS.join(", ")})`;
/** Of two changes at the same instant, the one that is written last stays. */
const REPLACE = `on conflict (system_id, station_id, at, changed_on)
      do update set ${STATE_COLUMNS.map((name) => `${name} = excluded.${name}`).join(", ")}`;

/** SQL: the position of a column's value in a list, from 1; 0 for null. */
const positionIn = (values: readonly string[], column: string) =>
  `coalesce(array_position(array[${values.map((value) => `'${value}'`).join(", ")}], ${column}), 0)`;

/** SQL: the flags of a row of `stations`. */
export const flagsOf = (row: string) =>
  `(${FLAG_UNITS.is_installed} * ${row}.is_installed::int + ${FLAG_UNITS.is_renting} * ${row}.is_renting::int
      + ${FLAG_UNITS.is_returning} * ${row}.is_returning::int
      + ${FLAG_UNITS.status} * ${positionIn(STATUSES, `${row}.status`)}
      + ${FLAG_UNITS.offline_reason} * ${positionIn(OFFLINE_REASONS, `${row}.offline_reason`)})::smallint`;

/** SQL: the value whose position is in three bits of `flags`, which begin at the bit of `unit`. */
const oneOf = (values: readonly string[], flags: string, unit: number) =>
  `(array[${values.map((value) => `'${value}'`).join(", ")}])[(${flags} / ${unit}) & 7]`;

/** SQL: the status of a row of `station_changes`. */
export const statusOf = (row: string) => oneOf(STATUSES, `${row}.flags`, FLAG_UNITS.status);

/**
 * SQL: the newest change of a station at or before an instant. It reads only the instant's month, because `recordUpdated`
 * also records the state at the beginning of a month.
 */
export const changeUntil = (station: string, instant: string) =>
  `select change.* from station_changes change
   where change.system_id = $1 and change.station_id = ${station} and change.at <= ${instant}
     and change.changed_on >= (date_trunc('month', ${instant}, 'UTC') at time zone 'UTC')::date
     and change.changed_on <= (${instant} at time zone 'UTC')::date
   order by change.at desc limit 1`;

/**
 * SQL: `[{"vehicle_type_id":"a","count":1},{"vehicle_type_id":"b","count":2}]` as `["a",1,"b",2]`. Leaves out the first
 * 20 characters, `[{"vehicle_type_id":`, and the last two, `}]`. Every quote inside a string of JSON has a backslash
 * before it, so the replaced texts lie between the strings.
 */
const byTypeOf = (types: string) =>
  `case when ${types}::text = '[]' then '[]' else '[' || left(replace(replace(substr(${types}::text, 21),
      '},{"vehicle_type_id":', ','), ',"count":', ','), -2) || ']' end`;

/** SQL: the value for a column of `station_changes`, from a row of `stations`. */
function stateColumn(row: string, name: (typeof STATE_COLUMNS)[number]): string {
  switch (name) {
    case "bikes":
      return `${row}.num_bikes_available`;
    case "reserved":
      return `${row}.num_bikes_reserved`;
    case "disabled":
      return `${row}.num_bikes_disabled`;
    case "docks":
      return `${row}.num_docks_available`;
    case "docks_disabled":
      return `${row}.num_docks_disabled`;
    case "flags":
      return flagsOf(row);
    case "by_type":
      return byTypeOf(`${row}.vehicle_types_available`);
  }
}

/** SQL: the state of a row of `stations`, in the columns of `station_changes`, and the time since which it holds. */
export function stateOf(row: string): string {
  return [`${row}.state_since`, ...STATE_COLUMNS.map((name) => `${stateColumn(row, name)} as ${name}`)].join(", ");
}

/**
 * SQL: the assignment of `state_since` in an `update` of a station. It is never before the station's newest change.
 * @param condition SQL that is true if the state changes; left out: it always does
 */
export function stateSince(row: string, at: string, condition = "true"): string {
  return `state_since = case when ${condition} then greatest((${at})::timestamptz(3), ${row}.state_since) else ${row}.state_since end`;
}

/** SQL: a step of a `with` that records the states of inserted stations. @param inserted the step with `id` and `stateOf` */
export function recordInserted(inserted: string): string {
  return `recorded as (
    ${INSERT}
    select $1, id, state_since, (state_since at time zone 'UTC')::date, ${STATE_COLUMNS.join(", ")} from ${inserted}
    ${REPLACE})`;
}

/**
 * SQL: a step of a `with` that records the states of updated stations whose `state_since` has grown, or whose columns have
 * changed at the same instant.
 *
 * Two more kinds of rows keep look-ups within one month. The first change of a station also records its earlier state, as
 * of `known_since`. The first change in a month records, for that month and each month without a change before it, the
 * state at its beginning. So the state at an instant is in the station's own row, or in that month's newest change until
 * the instant.
 * @param updated the step before, with `id` and `stateOf` of the new rows
 */
export function recordUpdated(updated: string): string {
  const earlierState = STATE_COLUMNS.map((name) => stateColumn("earlier", name));
  const monthsOf = (instant: string) =>
    `12 * extract(year from ${instant} at time zone 'UTC') + extract(month from ${instant} at time zone 'UTC')`;
  // `earlier` is the row as it was before the update. `number` numbers the rows to record: 0 is the new state, 1 to
  // `months.n` are the beginnings of months, newest first, and `months.n + 1` is the state before the first change.
  // `offset 0` keeps `months` a subquery, so that `n` is computed once. One join and one insert, because planning this
  // takes longer than running it. The columns of the earlier state are computed only where they are recorded or
  // compared: nearly never.
  return `recorded as (
    ${INSERT}
    select $1, ${updated}.id, change.at, (change.at at time zone 'UTC')::date,
      ${STATE_COLUMNS.map((name, n) => `case when number = 0 then ${updated}.${name} else ${earlierState[n]} end`).join(", ")}
    from ${updated} cross join lateral (
      select * from stations where stations.system_id = $1 and stations.id = ${updated}.id limit 1) as earlier
    cross join lateral (
      select case when earlier.state_since < date_trunc('month', ${updated}.state_since, 'UTC')
        then greatest(0, ${monthsOf(`${updated}.state_since`)}
          - (${monthsOf("greatest(earlier.known_since, earlier.state_since)")}))::int
        else 0 end as n offset 0) as months
    cross join lateral generate_series(0, months.n + (earlier.state_since = '-infinity')::int) as number
    cross join lateral (
      select case when number = 0 then ${updated}.state_since when number > months.n then earlier.known_since
        else (date_trunc('month', ${updated}.state_since at time zone 'UTC') - (number - 1) * interval '1 month') at time zone 'UTC'
        end as at) as change
    where (number = 0 or change.at < ${updated}.state_since)
      and (${updated}.state_since > earlier.state_since or (${columnsOf(updated)}) is distinct from (${earlierState.join(", ")}))
    ${REPLACE})`;
}

/** SQL: a step of a `with` that deletes the history of deleted stations. @param deleted the step before, with `id` */
export function forgetDeleted(deleted: string): string {
  return `forgotten as (
    delete from station_changes where system_id = $1 and station_id = any(array(select id from ${deleted})))`;
}

/** SQL: the time since which a station has the state in its row. */
const SINCE = "case when st.state_since = '-infinity' then st.known_since else st.state_since end";

// The state of a piece: from the station's row `st`, or from a change `c`.
const STATE_OF_STATION = `st.num_bikes_available as bikes, st.num_bikes_reserved as reserved, st.num_bikes_disabled as disabled,
          st.num_docks_available as docks, st.status`;
const STATE_OF_CHANGE = `c.bikes, c.reserved, c.disabled, c.docks, ${statusOf("c")}`;

const HOUR = "interval '1 hour'";

/**
 * SQL: a subquery that joins consecutive hours to runs (`starts_at`, `ends_at`). Within a run `starts_at` grows as fast as
 * the row number.
 * @param hours a step of the `with`, with `starts_at` and `ends_at` of hours (UTC)
 */
export function runsOf(hours: string): string {
  return `(
    select min(starts_at) as starts_at, max(ends_at) as ends_at
    from (
      select starts_at, ends_at, starts_at - row_number() over (order by starts_at) * ${HOUR} as run_key from ${hours}) as numbered
    group by numbered.run_key)`;
}

/**
 * SQL: the periods within hours in which stations did not change: `hour`, `station_id`, `at`, `until`, `seconds`, `bikes`,
 * `reserved`, `disabled`, `docks`, `status`. There are none for times of which nothing is known.
 *
 * Since its newest change a station has the state in its row. The state at an earlier time is in the newest change
 * until then, which lies in the same month. Consecutive hours are read together, because looking up the first state of
 * each hour takes ten times as long (`runsOf`). A `piece` is the time between two changes in a run, and `cut` its part within
 * one hour. A piece that ends with an hour has no part in the next one, hence the microsecond.
 * @param hours a step of the `with`, with `starts_at` and `ends_at` of hours (UTC); the last hour may still be going on
 */
export function stationPieces(hours: string): string {
  return `
    select hour, station_id, cut.at, cut.until, extract(epoch from cut.until - cut.at) as seconds,
      bikes, reserved, disabled, docks, status
    from (
      select st.id as station_id, known.*,
        lead(known.at, 1, run.ends_at::timestamptz(3)) over (partition by run.starts_at, st.id order by known.at) as until
      from ${runsOf(hours)} as run
      cross join stations st
      cross join lateral (
        select greatest(run.starts_at::timestamptz(3), ${SINCE}) as at, ${STATE_OF_STATION}
        where st.state_since <= run.starts_at and ${SINCE} < run.ends_at
        union all
        (select run.starts_at::timestamptz(3), ${STATE_OF_CHANGE}
         from (${changeUntil("st.id", "run.starts_at")}) as c
         where st.state_since > run.starts_at)
        union all
        select c.at, ${STATE_OF_CHANGE}
        from station_changes c
        where st.state_since > run.starts_at and c.system_id = $1 and c.station_id = st.id
          and c.at > run.starts_at and c.at < run.ends_at
          and c.changed_on >= (run.starts_at at time zone 'UTC')::date
          and c.changed_on <= (run.ends_at at time zone 'UTC')::date
      ) as known
      where st.system_id = $1
    ) as piece
    cross join lateral generate_series(
      date_bin(${HOUR}, piece.at, timestamptz 'epoch'), piece.until - interval '1 microsecond', ${HOUR}) as hour
    cross join lateral (
      select greatest(piece.at, hour) as at, least(piece.until, hour + ${HOUR}) as until) as cut`;
}

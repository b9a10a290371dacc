import { changeUntil, statusOf } from "./changes-sql-fragments.ts";

/** SQL: since when a station is as its row says. */
const SINCE = "case when st.state_since = '-infinity' then st.known_since else st.state_since end";

const OWN = `st.num_bikes_available as bikes, st.num_bikes_reserved as reserved, st.num_bikes_disabled as disabled,
          st.num_docks_available as docks, st.status`;
const CHANGED = `c.bikes, c.reserved, c.disabled, c.docks, ${statusOf("c")}`;

const HOUR = "interval '1 hour'";

/**
 * SQL: the stretches of time within hours in which stations stayed as they were: `hour`, `station_id`, `at`, `until`, `seconds`,
 * `bikes`, `reserved`, `disabled`, `docks`, `status`. What is not known has none.
 *
 * A station is as its row says since its newest change. Before, it was as its newest change until then says, which lies in the
 * same month. Hours that follow one another are read together: to look for each hour's first state takes ten times as long.
 * @param hours a step of the `with`, with `starts_at` and `ends_at`: hours (UTC), of which the last may not be over
 */
export function stationPieces(hours: string): string {
  return `
    select hour, station_id, cut.at, cut.until, extract(epoch from cut.until - cut.at) as seconds,
      bikes, reserved, disabled, docks, status
    from (
      select st.id as station_id, known.*,
        lead(known.at, 1, run.ends_at::timestamptz(3)) over (partition by run.starts_at, st.id order by known.at) as until
      from (
        select min(starts_at) as starts_at, max(ends_at) as ends_at
        from (
          select starts_at, ends_at, starts_at - row_number() over (order by starts_at) * ${HOUR} as run from ${hours}) as numbered
        group by numbered.run) as run
      cross join stations st
      cross join lateral (
        select greatest(run.starts_at::timestamptz(3), ${SINCE}) as at, ${OWN}
        where st.state_since <= run.starts_at and ${SINCE} < run.ends_at
        union all
        (select run.starts_at::timestamptz(3), ${CHANGED}
         from (${changeUntil("st.id", "run.starts_at")}) as c
         where st.state_since > run.starts_at)
        union all
        select c.at, ${CHANGED}
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

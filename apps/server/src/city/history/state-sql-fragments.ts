import { changeUntil, statusOf } from "./changes-sql-fragments.ts";

/** SQL: since when a station is as its row says. */
const SINCE = "case when st.state_since = '-infinity' then st.known_since else st.state_since end";

const OWN = `st.num_bikes_available as bikes, st.num_bikes_reserved as reserved, st.num_bikes_disabled as disabled,
          st.num_docks_available as docks, st.status`;
const CHANGED = `c.bikes, c.reserved, c.disabled, c.docks, ${statusOf("c")}`;

/**
 * SQL: the stretches of time within hours in which stations stayed as they were: `hour`, `station_id`, `at`, `until`, `seconds`,
 * `bikes`, `reserved`, `disabled`, `docks`, `status`. What is not known has none.
 *
 * A station is as its row says since its newest change. Before, it was as its newest change until then says, which lies in the
 * same month.
 * @param hours a step of the `with`, with `starts_at` and `ends_at`: hours (UTC), of which the last may not be over
 */
export function stationPieces(hours: string): string {
  return `
    select piece.hour, piece.station_id, piece.at, piece.until, extract(epoch from piece.until - piece.at) as seconds,
      piece.bikes, piece.reserved, piece.disabled, piece.docks, piece.status
    from (
      select ${hours}.starts_at as hour, st.id as station_id, known.*,
        lead(known.at, 1, ${hours}.ends_at::timestamptz(3)) over (partition by ${hours}.starts_at, st.id order by known.at) as until
      from ${hours} cross join stations st
      cross join lateral (
        select greatest(${hours}.starts_at::timestamptz(3), ${SINCE}) as at, ${OWN}
        where st.state_since <= ${hours}.starts_at and ${SINCE} < ${hours}.ends_at
        union all
        (select ${hours}.starts_at::timestamptz(3), ${CHANGED}
         from (${changeUntil("st.id", `${hours}.starts_at`)}) as c
         where st.state_since > ${hours}.starts_at)
        union all
        select c.at, ${CHANGED}
        from station_changes c
        where st.state_since > ${hours}.starts_at and c.system_id = $1 and c.station_id = st.id
          and c.at > ${hours}.starts_at and c.at < ${hours}.ends_at
          and c.changed_on = (${hours}.starts_at at time zone 'UTC')::date
      ) as known
      where st.system_id = $1
    ) as piece`;
}

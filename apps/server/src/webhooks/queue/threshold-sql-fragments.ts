import { changeUntil, statusOf } from "../../city/history/changes-sql-fragments.ts";

/** SQL that is true where a `threshold` watches a `station`, as the station is now. */
export const MATCHES_STATION = `(num_nonnulls(threshold.station_ids, threshold.region_ids) = 0
     or station.id = any(threshold.station_ids) or station.region_id = any(threshold.region_ids))`;

/** SQL: one change as text. */
const numbersOf = (at: string, bikes: string, docks: string, isOnline: string) =>
  `(extract(epoch from ${at}) * 1000)::bigint || ',' || ${bikes} || ',' || coalesce(${docks}::text, 'null') || ',' || (${isOnline})::int`;

/**
 * SQL: the history of a `station` since an instant, oldest first, as one text. Each change has four numbers: milliseconds,
 * bikes, docks (`null` if unknown), and 1 for online or 0; all are separated by commas. The first change gives the
 * state at the instant, or at the beginning of the history. One text takes a fifth of the time of as many rows.
 *
 * The state at the instant is the station's present one if it has not changed since (the first `select`; `-infinity`:
 * it never changed), and otherwise that of the newest change until then (the second). The third reads the later
 * changes.
 */
export const historySince = (since: string) => `(
     select string_agg(change.numbers, ',' order by change.at) from (
       select ${since} as at, ${numbersOf(`greatest(${since}, station.known_since)`, "station.num_bikes_available", "station.num_docks_available", "station.status = 'online'")} as numbers
       where station.state_since <= ${since} or station.state_since = '-infinity'
       union all
       select newest.at, ${numbersOf("newest.at", "newest.bikes", "newest.docks", `${statusOf("newest")} = 'online'`)}
       from (${changeUntil("station.id", since)}) as newest where station.state_since > ${since}
       union all
       select later.at, ${numbersOf("later.at", "later.bikes", "later.docks", `${statusOf("later")} = 'online'`)}
       from station_changes later
       where later.system_id = $1 and later.station_id = station.id and later.at > ${since}
         and later.changed_on >= (${since} at time zone 'UTC')::date) as change)`;

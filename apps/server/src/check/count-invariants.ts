/** Name, meaning and query of each invariant of the kept counts. */
export const countInvariants: readonly (readonly [name: string, meaning: string, broken: string])[] = [
  [
    "list_counts",
    "the kept length of each list is the number of its rows",
    `select real.list || ': ' || coalesce(kept.n, 0) || ' kept, ' || real.n || ' there'
     from (select 'stations' as list, count(*) as n from stations where system_id = $1
           union all select 'bikes', count(*) from bikes where system_id = $1
           union all select 'rides', count(*) from rides where system_id = $1) as real
     left join (select list, sum(n) as n from list_counts where system_id = $1 group by list) as kept using (list)
     where coalesce(kept.n, 0) <> real.n`,
  ],
  [
    "ride_counts",
    "the kept number of rides of each hour, day and month is the number of rides that started in it",
    `select period || ' ' || to_char(starts_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"') || ': ' || coalesce(kept.n, 0)
       || ' kept, ' || coalesce(real.n, 0) || ' there'
     from (select period, date_trunc(period, started_at at time zone 'UTC') at time zone 'UTC' as starts_at, count(*) as n
           from rides cross join (values ('hour'), ('day'), ('month')) as periods (period)
           where system_id = $1 group by 1, 2) as real
     full join (select period, starts_at, sum(n) as n from ride_counts where system_id = $1 group by 1, 2) as kept
       using (period, starts_at)
     where coalesce(kept.n, 0) <> coalesce(real.n, 0)`,
  ],
];

import type { QueryRunner } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { RideGroup } from "./stretches.rules.ts";

/** What is read of a day. */
export interface ReadDay {
  /** Its beginning (UTC), milliseconds since 1970. */
  readonly from: number;
  /** How often its rides had changed. */
  readonly changes: number;
  readonly groups: readonly RideGroup[];
}

/** Past days as of one moment. */
export interface ReadDays {
  /** The days before this instant, milliseconds since 1970, are past. */
  readonly upto: number;
  /** How often past rides had changed, … */
  readonly pastChanges: number;
  /** … and how many of these changes are not noted by the day: made by a program that does not do that. */
  readonly unnoted: number;
  /** How many days have changed. */
  readonly changed: number;
  /** The youngest of these, as they are now. */
  readonly days: readonly ReadDay[];
}

/** Days that one statement reads at most: 0.3 s of rides in a large city. */
export const MAX_DAYS = 100;

// Days that are over for three days: a change of one counts as a change of the past, with a day to spare for transactions that
// are open. The rides of a day come from the index alone.
const changedDays = statement(
  "rides.changedDays",
  `with state as materialized (
     select coalesce(sum(past_changes), 0)::bigint as "pastChanges",
       coalesce(sum(past_changes - noted_changes), 0)::bigint as unnoted,
       (date_trunc('day', now() at time zone 'UTC') - interval '3 days') at time zone 'UTC' as upto
     from list_counts where system_id = $1 and list = 'rides'),
   days as materialized (
     select starts_at, sum(changes)::bigint as changes
     from ride_counts where system_id = $1 and period = 'day' and starts_at < (select upto from state) group by starts_at),
   changed as materialized (
     select days.* from days
     left join unnest($2::float8[], $3::bigint[]) as known(day, changes) on to_timestamp(known.day / 1000) = starts_at
     where known.changes is distinct from days.changes
     order by starts_at desc),
   chosen as materialized (select * from changed order by starts_at desc limit ${MAX_DAYS})
   select "pastChanges", unnoted, extract(epoch from upto)::float8 * 1000 as upto, (select count(*) from changed) as changed,
     (select coalesce(json_agg(json_build_object('from', extract(epoch from starts_at)::float8 * 1000, 'changes', changes,
        'groups', (
          select coalesce(json_agg(json_build_object('status', status, 'n', n, 'first', first, 'last', last)), '[]') from (
            select status, count(*) as n, extract(epoch from min(updated_at))::float8 * 1000 as first,
              extract(epoch from max(updated_at))::float8 * 1000 as last
            from rides
            where system_id = $1 and started_at >= starts_at and started_at < starts_at + interval '24 hours'
            group by status, date_trunc('hour', updated_at)) as grouped))), '[]') from chosen) as days
   from state`,
);

/** Reads the past days that have changed since they were known. */
export async function listChangedDays(
  db: QueryRunner,
  systemId: string,
  known: ReadonlyMap<number, number>,
): Promise<ReadDays> {
  const values = [systemId, [...known.keys()], [...known.values()]];
  const [read] = await db.query<ReadDays>(changedDays, values);
  if (read === undefined) throw new Error("a statement without a group gives one row");
  return read;
}

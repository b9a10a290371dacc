import type { QueryRunner } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { RideGroup } from "./ride-day.rules.ts";

/** What is read of a day. */
interface ReadDay {
  /** Its beginning (UTC), milliseconds since 1970. */
  readonly from: number;
  /** How often its rides had changed. */
  readonly changes: number;
  readonly groups: readonly RideGroup[];
}

/** Past days as of one moment. */
export interface ReadDays {
  /** The hours before this instant, milliseconds since 1970, are past. */
  readonly upto: number;
  /** How often rides had changed that had started more than an hour before, … */
  readonly lateChanges: number;
  /** … how often such that had started more than two days before, … */
  readonly pastChanges: number;
  /** … and how many of these are not noted by the day: made by a program that does not do that. */
  readonly unnoted: number;
  /** How many days have changed. */
  readonly changed: number;
  /** The youngest of these, as they are now. */
  readonly days: readonly ReadDay[];
}

/** Days that one statement reads at most: half a second for half a million rides. */
export const MAX_DAYS = 100;

// Hours that are over for an hour: a change of one counts as a late change, with an hour to spare between the statement that
// counts it and its commit. The rides of a day come from the index alone; `date_bin` takes a fifth of the time of `date_trunc`.
const changedDays = statement(
  "rides.changedDays",
  `with state as materialized (
     select coalesce(sum(late_changes), 0)::bigint as "lateChanges", coalesce(sum(past_changes), 0)::bigint as "pastChanges",
       coalesce(sum(past_changes - noted_changes), 0)::bigint as unnoted,
       date_bin('1 hour', now(), '1970-01-01Z') - interval '1 hour' as upto
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
   select "lateChanges", "pastChanges", unnoted, extract(epoch from upto)::float8 * 1000 as upto,
     (select count(*) from changed) as changed,
     (select coalesce(json_agg(json_build_object('from', extract(epoch from starts_at)::float8 * 1000, 'changes', changes,
        'groups', (
          select coalesce(json_agg(json_build_object('hour', floor(extract(epoch from hour - starts_at) / 3600)::int, 'status', status,
            'n', n, 'first', extract(epoch from first)::float8 * 1000, 'last', extract(epoch from last)::float8 * 1000)), '[]')
          from (
            select date_bin('1 hour', started_at, '1970-01-01Z') as hour, status, count(*) as n,
              min(updated_at) as first, max(updated_at) as last
            from rides
            where system_id = $1 and started_at >= starts_at
              and started_at < least(starts_at + interval '24 hours', (select upto from state))
            group by 1, status, date_bin('1 hour', updated_at, '1970-01-01Z')) as grouped)) order by starts_at desc), '[]') from chosen) as days
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

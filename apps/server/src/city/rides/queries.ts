import type { QueryRunner } from "../../storage/db/database.ts";
import type { ReadPool } from "../../storage/db/read-pool.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { type FetchSize, fetchSize, joinRows, type PageRows, type TimePosition } from "../../storage/lists/page.ts";
import type { RideGroup } from "./ride-day.rules.ts";

/*
 * The statements on the list of rides, the youngest first: its unfiltered pages, and the numbers of past rides that a
 * process remembers (`memory.ts`). Tables of counts keep how many rides there are, how many started in each month, day and
 * hour (`ride_counts`), and how often past rides have changed (`list_counts`).
 */

const order = "order by started_at desc, id desc";
const total = `(select coalesce(sum(n), 0)::bigint from list_counts where system_id = $1 and list = 'rides') as total`;
/** SQL: the number of rides, and of changes to past rides, read once, as of the statement. */
const state = `state as materialized (
  select coalesce(sum(n), 0)::bigint as total, coalesce(sum(past_changes), 0)::bigint as "pastChanges"
  from list_counts where system_id = $1 and list = 'rides')`;
const stateColumns = `(select total from state) as total, (select "pastChanges" from state) as "pastChanges"`;

/** Reads the first page. */
const first = (size: FetchSize) =>
  statement(
    `rides.first.${size}`,
    `select (${joinRows(`select json from rides where system_id = $1 ${order} limit ${size}`)}) as rows, ${total}`,
  );

/** Reads the page that follows a cursor's position. */
const following = (size: FetchSize) =>
  statement(
    `rides.after.${size}`,
    joinRows(
      `select json from rides where system_id = $1 and (started_at, id) < ($2::timestamptz, $3) ${order} limit ${size}`,
    ),
  );

/**
 * SQL: the youngest month, day or hour that contains, together with all younger ones, more than `skip` rides; and how many
 * rides remain to be skipped within it.
 */
const bucket = (period: "month" | "day" | "hour", skip: string, within: string) => `
  select starts_at, ${skip} - (upto - n) as skip
  from (select starts_at, sum(n)::bigint as n, (sum(sum(n)) over (order by starts_at desc))::bigint as upto
        from ride_counts where system_id = $1 and period = '${period}' ${within} group by starts_at) as buckets
  where upto > ${skip} order by starts_at desc limit 1`;

/** SQL: a condition on the buckets that lie in the month or day that was found. */
const inside = (outer: "month" | "day") =>
  `and starts_at >= (select starts_at from ${outer}) and starts_at < (select starts_at + interval '1 ${outer}' from ${outer})`;

/*
 * Reads the page that begins after $2 rides, at any depth for about the same cost. The stored numbers of rides lead to the
 * month, the day and the hour that contains its first ride. Only within that hour are rides skipped one by one, in the index
 * alone. Each step is a scalar sub-select, which PostgreSQL runs once and uses to bound the next index scan; written
 * as joins, the steps take 400 times as long.
 */
const from = (size: FetchSize) =>
  statement(
    `rides.from.${size}`,
    `with ${state},
     month as materialized (${bucket("month", "$2::bigint", "")}),
     day as materialized (${bucket("day", "(select skip from month)", inside("month"))}),
     hour as materialized (${bucket("hour", "(select skip from day)", inside("day"))}),
     head as materialized (
       select started_at, id from rides
       where system_id = $1 and started_at < (select starts_at + interval '1 hour' from hour)
       ${order} offset (select skip from hour) limit 1)
     select (${joinRows(
       `select json from rides
        where system_id = $1 and (started_at, id) <= ((select started_at from head), (select id from head))
        ${order} limit ${size}`,
     )}) as rows, ${stateColumns}`,
  );

/**
 * Maximum number of rides that are skipped by reading their rows. To skip more rides, only the index is read, and the page
 * starts from the ride that follows.
 */
const NEAR = 400;

/**
 * Reads the page that begins after $4 rides, when it is known that $3 rides started before $2 and that the page's first
 * ride is one of the youngest of these. `skip` is how many of these rides are younger than the page's first: $4, less
 * the rides that started at $2 or later (the total less $3). It is negative when the list has grown so much that the
 * page's first ride is not among them.
 */
const before = (size: FetchSize, isNear: boolean) => {
  const inOrder = `where system_id = $1 and started_at < to_timestamp($2::bigint) ${order} offset greatest(0, (select skip from skipping))`;
  const head = `, head as materialized (select started_at, id from rides ${inOrder} limit 1)`;
  const fromHead = `where system_id = $1 and (started_at, id) <= ((select started_at from head), (select id from head)) ${order}`;
  return statement(
    `rides.before.${isNear ? "near" : "far"}.${size}`,
    `with ${state},
     skipping as materialized (select $3::bigint - total + $4::bigint as skip from state)${isNear ? "" : head}
     select (${joinRows(`select json from rides ${isNear ? inOrder : fromHead} limit ${size}`)}) as rows,
       ${stateColumns}, (select skip from skipping) as skip`,
  );
};

// Reads the hours that began more than three days ago. Rides that are added to them or deleted count as changes of past
// rides, which begin at two days; the day between leaves time for open transactions. The values are float8, because pg
// returns an array of bigint as texts.
const hours = statement(
  "rides.hours",
  `with ${state}
   select "pastChanges", array_agg(starts_at order by starts_at) as "startsAt", array_agg(n order by starts_at) as n
   from state left join (
     select extract(epoch from starts_at)::float8 as starts_at, sum(n)::float8 as n
     from ride_counts
     where system_id = $1 and period = 'hour' and starts_at < now() - interval '3 days' group by ride_counts.starts_at) as hours on true
   group by "pastChanges"`,
);

const byId = statement("rides.byId", "select json from rides where system_id = $1 and id = $2");

/** The rows of a numbered page, with the state of the list when they were read. */
export interface NumberedRows extends PageRows {
  readonly total: number;
  readonly pastChanges: number;
}

/** Returns the rides that follow a position, or the first page. */
export async function listRideRows(
  readPool: ReadPool,
  systemId: string,
  after: TimePosition | undefined,
  limit: number,
): Promise<PageRows> {
  const size = fetchSize(limit);
  if (after === undefined) return oneRow(await readPool.read<PageRows>(first(size), [systemId]));
  return oneRow(await readPool.read<PageRows>(following(size), [systemId, after.at, after.id]));
}

/** Returns the rides that follow the first `skip` ones. */
export async function listRideRowsFrom(
  readPool: ReadPool,
  systemId: string,
  skip: number,
  limit: number,
): Promise<NumberedRows> {
  return oneRow(await readPool.read<NumberedRows>(from(fetchSize(limit)), [systemId, skip]));
}

/** Where to look for a ride deep in the list. */
export interface Depth {
  /** An instant, seconds since 1970. The ride started in the hour before it. */
  readonly before: number;
  /** The number of rides that started before `before`. */
  readonly rides: number;
  /** How many of these rides are younger than the ride, if the list has not grown since. */
  readonly skip: number;
  /** The database's `pastChanges` when these numbers were read. */
  readonly pastChanges: number;
}

/** Lists a page of rides from a known position. `holds` is false when the position is no longer valid. */
export async function listRideRowsAt(
  readPool: ReadPool,
  systemId: string,
  depth: Depth,
  skip: number,
  limit: number,
): Promise<{ readonly rows: NumberedRows; readonly holds: boolean }> {
  const values = [systemId, depth.before, depth.rides, skip];
  const read = await readPool.read<NumberedRows & { readonly skip: number }>(
    before(fetchSize(limit), depth.skip < NEAR),
    values,
  );
  const { skip: toSkip, ...rows } = oneRow(read);
  return { rows, holds: rows.pastChanges === depth.pastChanges && toSkip >= 0 };
}

/** Returns the number of rides that started in each hour, oldest first, without the hours of the last three days. */
export async function countRidesByHour(db: QueryRunner, systemId: string): Promise<RideHours> {
  const { pastChanges, startsAt, n } = oneRow(
    await db.query<{ pastChanges: number; startsAt: (number | null)[]; n: (number | null)[] }>(hours, [systemId]),
  );
  // Without any hour there is one entry, of nulls.
  const isHour = (value: number | null): value is number => value !== null;
  return { pastChanges, startsAt: startsAt.filter(isHour), n: n.filter(isHour) };
}

/** How many rides started in each hour. The arrays have one entry for each hour that has rides. */
export interface RideHours {
  /** The database's `pastChanges` when the hours were read. */
  readonly pastChanges: number;
  /** Seconds since 1970. */
  readonly startsAt: readonly number[];
  readonly n: readonly number[];
}

/** Returns a ride's JSON; undefined when there is no such ride. */
export async function findRide(readPool: ReadPool, systemId: string, id: string): Promise<string | undefined> {
  return (await readPool.read<Pick<Tables["rides"], "json">>(byId, [systemId, id]))[0]?.json;
}

/** A day as it was read. */
interface ReadDay {
  /** The beginning of the day (UTC), milliseconds since 1970. */
  readonly from: number;
  /** The number of changes to rides of the day until now. */
  readonly changes: number;
  readonly groups: readonly RideGroup[];
}

/** Past days as of one moment. */
export interface ReadDays {
  /** The hours before this instant, milliseconds since 1970, are past. */
  readonly upto: number;
  /** How many transactions have changed rides of an hour that had begun more than an hour before. */
  readonly lateChanges: number;
  /** How many transactions have changed rides of an hour that had begun more than two days before. */
  readonly pastChanges: number;
  /** The part of `pastChanges` that is not counted by day, because a process of an older release made the changes. */
  readonly unnoted: number;
  /** How many days have changed since they were known. */
  readonly changed: number;
  /** The youngest changed days, as they are now. */
  readonly days: readonly ReadDay[];
}

/** Maximum number of days that one statement reads, which takes half a second for half a million rides. */
export const MAX_DAYS = 100;

// Reads the hours that ended at least an hour ago. A change of an hour that is over counts as late. One made just before
// the hour's end does not, and may be committed only after it: the wait of an hour lets such transactions commit first.
// The rides of a day come from the index alone; `date_bin` takes a fifth of the time of `date_trunc`. `days`: how often
// each past day has changed. `changed`: the days whose number of changes is not the known one ($2 and $3). `chosen`: the
// youngest of these, which are read. Their rides are grouped by hour, status and the hour of the last change.
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

/**
 * Reads the past days that have changed since they were known.
 * @param known the number of changes of each known day, by the beginning of the day in milliseconds since 1970
 */
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

import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** The lists whose length is stored. */
export type CountedList = Tables["list_counts"]["list"];

/*
 * The statements lock rows in the order of the primary key, so that two transactions cannot deadlock. Each count is the sum
 * of several rows, its slots: a writer changes one of them, so that writers seldom wait for each other.
 *
 * A process's memory of past rides is valid until a ride that started in the past is added, removed or corrected. These
 * conditions recognise such a ride: `isLate` invalidates the memory of days, `isPast` that of filters and of the list's
 * depth (`city/rides/memory.ts`). They compare the ride's start with the time of the statement, which is one of the last
 * before the commit, because the transaction may have begun long before.
 *
 * `noted_changes` counts what `past_changes` does. A process of the previous release adds only to `past_changes`, so their
 * difference shows the changes that no row of `ride_counts` notes (`unnoted` in `city/rides/queries.ts`).
 *
 * `rowsOfSystem` joins rows from parameters with the system, so that a distributed database knows their node.
 */
const isLate = (start: string) => `${start} < statement_timestamp() - interval '1 hour'`;
const isPast = (start: string) => `${start} < statement_timestamp() - interval '2 days'`;

const addToList = statement(
  "counts.addToList",
  `insert into list_counts (system_id, list, slot, n, past_changes, noted_changes, late_changes)
   select $1, $2, $3::smallint, $4::bigint, past, past, late
   from (select (coalesce(${isPast("$5::timestamptz")}, false))::int as past,
     (coalesce(${isLate("$5::timestamptz")}, false))::int as late) as changes
   on conflict (system_id, list, slot) do update
   set n = list_counts.n + excluded.n, past_changes = list_counts.past_changes + excluded.past_changes,
     noted_changes = list_counts.noted_changes + excluded.noted_changes,
     late_changes = list_counts.late_changes + excluded.late_changes`,
);

const startsAt = "date_trunc(period, hour at time zone 'UTC') at time zone 'UTC'";
const isLateDay = `period = 'day' and bool_or(${isLate("hour")})`;

// Rides of a past hour that were corrected, and neither added nor deleted, change only the row of their day.
const addToPeriods = statement(
  "counts.addToPeriods",
  `insert into ride_counts (system_id, period, starts_at, slot, n, changes)
   select placed.system_id, period, ${startsAt} as starts_at, $2::smallint, sum(n)::bigint, (${isLateDay})::int
   from ${rowsOfSystem(`unnest($3::timestamptz[], $4::bigint[]) as delta(hour, n)
   cross join (values ('day'), ('hour'), ('month')) as periods(period)`)}
   group by placed.system_id, period, ${startsAt}
   having sum(n) <> 0 or (${isLateDay})
   order by period, ${startsAt}
   on conflict (system_id, period, starts_at, slot) do update
   set n = ride_counts.n + excluded.n, changes = ride_counts.changes + excluded.changes`,
);

const length = statement(
  "counts.length",
  `select coalesce(sum(n), 0)::bigint as n from list_counts where system_id = $1 and list = $2`,
);

/** Returns the length of a list. */
export async function countList(db: Queryable, systemId: string, list: CountedList): Promise<number> {
  return oneRow(await db.query<{ n: number }>(length, [systemId, list])).n;
}

/**
 * Adds `n`, which may be negative, to a list's length.
 * @param oldest the full hour (RFC 3339) in which the oldest ride that was added, deleted or corrected started; only for
 *   the list `rides`
 */
export function updateListCount(
  tx: Transaction,
  systemId: string,
  list: CountedList,
  slot: number,
  n: number,
  oldest?: string,
): void {
  tx.send(addToList, [systemId, list, slot, n, oldest ?? null]);
}

/**
 * Adds to the number of rides that started in each given hour (instants at full hours), and in its day and month, and notes
 * on each day whether rides changed of an hour that began over an hour ago. 0 means that rides of the hour were corrected,
 * or as many deleted as added.
 */
export function updateRideCounts(
  tx: Transaction,
  systemId: string,
  slot: number,
  hours: ReadonlyMap<string, number>,
): void {
  tx.send(addToPeriods, [systemId, slot, [...hours.keys()], [...hours.values()]]);
}

import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import { MAX_CRASHES, type WorkName } from "./work.rules.ts";

/*
 * Statements about the units of background work, such as overdue reservations. `work_runs` has the runs under way;
 * `work_failures` has the units that failed or whose process ended during a run. A failing unit is tried again later.
 * One that ended MAX_CRASHES processes in a row is set aside: it is not tried again until somebody releases it.
 */

/** The state of a work's units before the next run. */
export interface UnitStates {
  /** Whether processes have ended without finishing their runs. */
  readonly has_left_behind: boolean;
  /**
   * Units that must not be in a batch with others: they have failed, may have ended a process, or are set aside, or a run
   * that has not ended works on them.
   */
  readonly apart: readonly string[];
  /** The units of `apart` that a run works on. */
  readonly running: readonly string[];
  /** The units of `apart` that are to be tried now, each alone. */
  readonly due: readonly string[];
}

// Compares with the database's clock, because the clocks of processes may differ by an hour.
const isOver = "ends_by <= now()";
const failing = "from work_failures where system_id = $1 and work = $2";
const running = `from work_runs where system_id = $1 and work = $2`;
const states = statement(
  "work.states",
  `select exists (select ${running} and ${isOver}) as has_left_behind,
     array(select unit ${failing} union select unnest(units) ${running}) as apart,
     array(select distinct unnest(units) ${running}) as running,
     array(select unit ${failing} and due_at <= now() and unit <> all(array(select unnest(units) ${running}))
       order by due_at, unit limit $3) as due`,
);

/** Returns the state of a work's units in a system. @param limit the maximum number of units in `due` */
export async function findUnitStates(
  db: Queryable,
  systemId: string,
  work: WorkName,
  limit: number,
): Promise<UnitStates> {
  const [found] = await db.query<UnitStates>(states, [systemId, work, limit]);
  return found ?? { has_left_behind: false, apart: [], running: [], due: [] };
}

const insert = statement(
  "work.insertRun",
  `insert into work_runs (system_id, work, units, ends_by)
   values ($1, $2, $3::text[], now() + $4::bigint * interval '1 ms') returning run`,
);
const end = statement("work.deleteRun", "delete from work_runs where system_id = $1 and work = $2 and run = $3");

/** Records that a run begins. Unless it is deleted within `withinMs`, its process counts as ended. @returns the run's id */
export async function insertRun(
  db: Queryable,
  systemId: string,
  work: WorkName,
  units: readonly string[],
  withinMs: number,
): Promise<string> {
  const [row] = await db.query<Pick<Tables["work_runs"], "run">>(insert, [systemId, work, units, withinMs]);
  return row?.run ?? "";
}

/** Records that a run has ended, whether it succeeded or not. */
export async function deleteRun(db: Queryable, systemId: string, work: WorkName, run: string): Promise<void> {
  await db.query(end, [systemId, work, run]);
}

// A unit gets one crash, even if several processes that worked on it ended at the same time. With the MAX_CRASHES-th crash
// `due_at` becomes null, which sets the unit aside.
const crashed = statement(
  "work.insertCrashes",
  `with ended as (
     delete from work_runs where system_id = $1 and work = $2 and ${isOver} returning units),
   crashed as (select distinct unnest(units) as unit from ended)
   insert into work_failures as known (system_id, work, unit, crashes, message, due_at)
   select $1, $2, unit, 1, $3, now() from crashed order by unit
   on conflict (system_id, work, unit) do update set crashes = known.crashes + 1, message = excluded.message,
     due_at = case when known.crashes + 1 < ${MAX_CRASHES} then excluded.due_at end
   returning unit, due_at is null as is_set_aside`,
);

/** Counts a crash for each unit of a run whose process ended. @returns the units that are set aside for it */
export async function insertCrashes(
  db: Queryable,
  systemId: string,
  work: WorkName,
  message: string,
): Promise<string[]> {
  const rows = await db.query<{ unit: string; is_set_aside: boolean }>(crashed, [systemId, work, message]);
  return rows.filter((row) => row.is_set_aside).map(({ unit }) => unit);
}

// `$5` is the first delay, which doubles with each failure, and `$6` the longest. Twenty doublings exceed any longest
// delay. 32,767 is the greatest smallint. Without an earlier row of the unit, the aggregate `max` still gives one row. A
// failure resets `crashes`, because the process has survived.
const failed = statement(
  "work.insertFailure",
  `insert into work_failures as known (system_id, work, unit, failures, message, due_at)
   select $1, $2, $3, 1, left($4, 1000),
     now() + least($6::bigint, $5::bigint * (1 << least(coalesce(max(before.failures), 0), 20))) * interval '1 ms'
   from work_failures before where before.system_id = $1 and before.work = $2 and before.unit = $3
   on conflict (system_id, work, unit) do update set failures = least(known.failures + 1, 32767), crashes = 0,
     message = excluded.message, due_at = excluded.due_at`,
);

/** Counts a failure of a unit and postpones its next try: by `first`, then twice as long each time, up to `most`. */
export async function insertFailure(
  db: Queryable,
  systemId: string,
  work: WorkName,
  { unit, message }: { readonly unit: string; readonly message: string },
  delaysMs: { readonly first: number; readonly most: number },
): Promise<void> {
  await db.query(failed, [systemId, work, unit, message, delaysMs.first, delaysMs.most]);
}

const succeeded = statement(
  "work.deleteFailures",
  "delete from work_failures where system_id = $1 and work = $2 and unit = $3",
);

/** Deletes the failures of a unit that needs no more work. */
export async function deleteFailures(db: Queryable, systemId: string, work: WorkName, unit: string): Promise<void> {
  await db.query(succeeded, [systemId, work, unit]);
}

/** A unit that fails, or is set aside: then `due_at` is null. */
export type WorkFailure = Omit<Tables["work_failures"], "system_id">;

const list = statement(
  "work.list",
  `select work, unit, failures, crashes, message, began_at, due_at from work_failures
   where system_id = $1 order by began_at, work, unit limit $2`,
);

/** Returns the units that fail or are set aside, ordered by the time of their first failure. */
export function listWorkFailures(db: Queryable, systemId: string, limit: number): Promise<WorkFailure[]> {
  return db.query<WorkFailure>(list, [systemId, limit]);
}

const count = statement(
  "work.count",
  `select count(*) filter (where due_at is null)::int as set_aside,
     count(*) filter (where due_at is not null and failures > 0)::int as failing
   from work_failures where system_id = $1`,
);

/** Counts the units of a system that are set aside, and those that fail and are tried again. */
export async function countWorkFailures(
  db: Queryable,
  systemId: string,
): Promise<{ readonly set_aside: number; readonly failing: number }> {
  const [row] = await db.query<{ set_aside: number; failing: number }>(count, [systemId]);
  return row ?? { set_aside: 0, failing: 0 };
}

const release = statement(
  "work.release",
  `update work_failures set due_at = now(), crashes = 0, failures = 0
   where system_id = $1 and ($2::text is null or unit = $2) returning work, unit`,
);

/** Makes units that fail or are set aside due now. @param unit null: every such unit of the system @returns these units */
export function updateReleased(
  db: Queryable,
  systemId: string,
  unit: string | null,
): Promise<Pick<WorkFailure, "work" | "unit">[]> {
  return db.query(release, [systemId, unit]);
}

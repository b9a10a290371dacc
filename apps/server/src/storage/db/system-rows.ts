/**
 * SQL for the source and the condition of an `insert … select`: rows that come from parameters, beside the one row that
 * `placed_systems` has of the system `$1`, whose `placed.system_id` is to be inserted. PostgreSQL needs none of it. Of rows
 * from parameters alone a distributed database does not know where they belong: it gathers them on its coordinator, copies
 * them to the system's machine, and commits in two phases.
 * @param rows such as `unnest(…) as w (id, …)`
 * @param condition what else must be true of a row
 */
export function rowsOfSystem(rows: string, condition?: string): string {
  const other = condition === undefined ? "" : ` and ${condition}`;
  return `placed_systems placed cross join ${rows} where placed.system_id = $1${other}`;
}

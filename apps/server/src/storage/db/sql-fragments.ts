/**
 * SQL: the assignment with which each `update` of a row in a followed list records a change. An `insert` needs none: it is
 * the column's default. See docs/decisions/changes.md.
 */
export const CHANGED = "change_position = next_change_position()";

/**
 * SQL: the assignment of the time of a row's change, which never goes back. A command that waited for the row may have begun
 * before the change that it waited for, and a clock may be set back; but who keeps a copy replaces it by newer ones only.
 * @param row the row's name in the statement
 * @param at the command's time
 */
export function updatedAt(row: string, at: string): string {
  return `updated_at = ${timeOfChange(`${row}.updated_at`, at, "false")}`;
}

/**
 * SQL: the time of a change, never before an earlier one.
 * @param earlier the time of the earlier change
 * @param at the command's time
 * @param isAfter SQL that is true if the two may not have the same time either, as those whose events are in order by time
 */
export function timeOfChange(earlier: string, at: string, isAfter: string): string {
  // In UTC, where a millisecond is one whatever the session's zone: only so Citus takes it in an assignment.
  const next = `timezone('UTC', timezone('UTC', ${earlier}) + '1 ms')`;
  const same = isAfter === "false" ? "" : ` or ${earlier} = ${at}::timestamptz and ${isAfter}`;
  return `case when ${earlier} > ${at}::timestamptz${same} then ${next} else ${at}::timestamptz end`;
}

/**
 * SQL that is true in a database that Citus distributes: there PostgreSQL finds the machine that has a statement's rows by
 * the value of its system, and so has to plan it for each value.
 */
export const IS_DISTRIBUTED = "exists (select from pg_extension where extname = 'citus')";

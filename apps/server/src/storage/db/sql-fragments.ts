/**
 * SQL: the assignment by which each `update` of a row records a change for callers that follow the list. An `insert` does
 * not need it, because it is the column's default. See docs/decisions/changes.md.
 */
export const CHANGED = "change_position = next_change_position()";

/**
 * SQL: the assignment of the time of a row's change, which never goes back, because programs that keep a copy of the row
 * replace the copy only by a newer version. The command's time may be earlier than the row's: the command may have waited
 * for another change of the row, or the clock was set back.
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
 * @param mustDiffer SQL that is true if the times must also differ, as when events of both changes are ordered by time;
 * `false`: they never must
 */
export function timeOfChange(earlier: string, at: string, mustDiffer: string): string {
  // Adds the millisecond in UTC, independent of the session's time zone: Citus accepts only such functions in an assignment.
  const next = `timezone('UTC', timezone('UTC', ${earlier}) + '1 ms')`;
  const same = mustDiffer === "false" ? "" : ` or ${earlier} = ${at}::timestamptz and ${mustDiffer}`;
  return `case when ${earlier} > ${at}::timestamptz${same} then ${next} else ${at}::timestamptz end`;
}

/**
 * SQL that is true in a database that Citus distributes. There the value of a statement's system decides which node has its
 * rows, so a statement must be planned for each value.
 */
export const IS_DISTRIBUTED = "exists (select from pg_extension where extname = 'citus')";

/**
 * SQL: the assignment with which each `update` of a row in a followed list records a change. An `insert` needs none: it is
 * the column's default. See docs/decisions/changes.md.
 */
export const CHANGED = "change_position = next_change_position()";

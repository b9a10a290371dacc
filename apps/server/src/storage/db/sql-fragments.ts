/**
 * SQL: the assignment with which each `update` of a row in a followed list records a change. An `insert` needs none: it is
 * the column's default. See docs/decisions/changes.md.
 */
export const CHANGED = "change_position = next_change_position()";

/**
 * SQL that is true in a database that Citus distributes: there PostgreSQL finds the machine that has a statement's rows by
 * the value of its system, and so has to plan it for each value.
 */
export const IS_DISTRIBUTED = "exists (select from pg_extension where extname = 'citus')";

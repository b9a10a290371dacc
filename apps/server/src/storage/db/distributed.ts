/**
 * SQL that is true in a database that Citus distributes: there PostgreSQL finds the machine that has a statement's rows by
 * the value of its system, and so has to plan it for each value.
 */
export const IS_DISTRIBUTED = "exists (select from pg_extension where extname = 'citus')";

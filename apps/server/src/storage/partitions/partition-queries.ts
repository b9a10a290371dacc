import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";
import { type DailyTable, dailyTables, type DayColumn, defaultOf, endOf, partitionOf } from "./partition.rules.ts";

const partitions = statement(
  "partitions.all",
  `select c.relname::text as name
   from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = $1::text::regclass order by c.relname`,
);

// The names of tables and columns come from partition.rules.ts: no statement can take them as values.
const deleteDay = ({ table, day }: DayColumn): Statement =>
  statement(`partitions.deleteDay.${table}`, `delete from ${table} where system_id = $1 and ${day} = $2::date`);
// Rows that others hold locked stay: they are found again by the next run.
const deleteBatch = ({ table, day }: DayColumn): Statement =>
  statement(
    `partitions.deleteBatch.${table}`,
    `with old as materialized (
       select ctid from ${table} where system_id = $1 and ${day} = $2::date limit $3 for update skip locked),
     gone as (
       delete from ${table} where system_id = $1 and ctid = any(array(select ctid from old)) returning 1)
     select count(*) as n from gone`,
  );
const hasDays = ({ table, day }: DayColumn): Statement =>
  statement(
    `partitions.hasDays.${table}`,
    `select exists (
       select from ${table} where system_id = $1 and ${day} >= $2::date and ${day} < $3::date) as found`,
  );
const firstBefore = ({ table, day }: DayColumn): Statement =>
  statement(
    `partitions.firstBefore.${table}`,
    `select min(${day}) as day from ${table} where system_id = $1 and ${day} < $2::date`,
  );

/** Returns the names of the partitions that a table has. */
export async function listPartitions(db: Queryable, { name }: DailyTable): Promise<string[]> {
  return (await db.query<{ name: string }>(partitions, [name])).map((row) => row.name);
}

const functions = statement(
  "partitions.functions",
  "select to_regprocedure($1::text || '_create_month(date)') is not null as found",
);

/** Tells whether a table belongs to another role, whose functions keep its partitions. */
export async function findHasOwnFunctions(db: Queryable, { name, isAppendOnly }: DailyTable): Promise<boolean> {
  return isAppendOnly === true && oneRow(await db.query<{ found: boolean }>(functions, [name])).found;
}

/** Lets one transaction at a time change a table's partitions. Nobody who reads or writes rows waits for it. */
export async function lockPartitions(tx: Transaction, table: DailyTable): Promise<void> {
  const { name } = table;
  // Before PostgreSQL 17 `lock table` needs the right to change rows. A comment takes the same lock, and needs the owner.
  if (table.isAppendOnly === true && !(await findHasOwnFunctions(tx, table)))
    await tx.run(`comment on table ${name} is null`);
  else await tx.run(`lock table only ${name} in share update exclusive mode`);
}

/** Keeps everybody from a table's default partition until the transaction ends. */
export async function lockDefault(tx: Transaction, table: DailyTable): Promise<void> {
  await tx.run(`lock table ${defaultOf(table)} in access exclusive mode`);
}

/**
 * From here on the transaction gives up, with the code 55P03, a lock that it does not get in so many milliseconds: as
 * long as it waits for one, all who come after wait behind it.
 */
export async function updateLockTimeout(tx: Transaction, milliseconds: number): Promise<void> {
  await tx.run(`set local lock_timeout = ${milliseconds}`);
}

/** From here on the transaction gives up, with the code 57014, a statement that takes longer than so many milliseconds. */
export async function updateStatementTimeout(tx: Transaction, milliseconds: number): Promise<void> {
  await tx.run(`set local statement_timeout = ${milliseconds}`);
}

/**
 * Creates the partition that begins on a day, with all indexes and checks of its table. It is created as a table and then attached, because
 * `create table … partition of` would wait for everybody who reads the table, and hold up all who come after. Attaching
 * reads the whole default partition, if there is one, for rows of that day: call `lockDefault` first.
 */
export async function insertPartition(tx: Transaction, table: DailyTable, day: string): Promise<void> {
  const name = partitionOf(table, day);
  if (await findHasOwnFunctions(tx, table)) {
    await tx.run(`select ${table.name}_create_month('${day}')`);
    return;
  }
  const storage = `with (fillfactor = ${table.fillfactor ?? 100})`;
  await tx.run(
    `create table ${name} (like ${table.name} including defaults including constraints including generated) ${storage}`,
  );
  await tx.run(
    `alter table ${table.name} attach partition ${name} for values from ('${day}') to ('${endOf(table, day)}')`,
  );
  // Rights on a table do not hold for who names its partition.
  if (table.isAppendOnly === true) await tx.run(`revoke update, delete, truncate on ${name} from current_user`);
}

/** Drops the partition that begins on a day. It locks the table and its default partition against all others, for an instant. */
export async function deletePartition(tx: Transaction, table: DailyTable, day: string): Promise<void> {
  const name = partitionOf(table, day);
  if (await findHasOwnFunctions(tx, table)) await tx.run(`select ${table.name}_drop_month('${day}')`);
  else await tx.run(`drop table if exists ${name}`);
}

/** Tells whether a system has rows of a day, or of one that follows it before `end`. */
export async function findDays(
  db: Queryable,
  column: DayColumn,
  systemId: string,
  day: string,
  end: string,
): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(hasDays(column), [systemId, day, end])).found;
}

/** Returns the first day before `day` of which a system has rows; null: none. */
export async function findFirstDay(
  db: Queryable,
  column: DayColumn,
  systemId: string,
  day: string,
): Promise<string | null> {
  return oneRow(await db.query<{ day: string | null }>(firstBefore(column), [systemId, day])).day;
}

/** Deletes a system's rows of a day. */
export async function deleteRowsOfDay(db: Queryable, column: DayColumn, systemId: string, day: string): Promise<void> {
  await db.query(deleteDay(column), [systemId, day]);
}

/**
 * Deletes up to `limit` of a system's rows of a day, and skips rows that other transactions have locked. @returns how
 * many
 */
export async function deleteSomeRowsOfDay(
  db: Queryable,
  column: DayColumn,
  systemId: string,
  day: string,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deleteBatch(column), [systemId, day, limit])).n;
}

/** Deletes `limit` rows of a past day at most, from the default partition of a table with such functions. */
export async function deleteSomePastRows(
  db: Queryable,
  { name }: DailyTable,
  systemId: string,
  day: string,
  limit: number,
): Promise<number> {
  const text = `select ${name}_delete_past($1, $2::date, $3::integer) as n`;
  return oneRow(await db.query<{ n: number }>(statement("", text), [systemId, day, limit])).n;
}

/**
 * Ownership of the audit log in our own PostgreSQL: it belongs to a role without a login. The service's role owns every
 * other table, and an owner can drop a table or grant itself revoked rights. Functions of that role keep the months'
 * partitions; they drop and delete only entries beyond the retention period.
 */

/** The service's role, as our own PostgreSQL makes it, and the log's. */
const SERVICE = "bikeshare";
const OWNER = "bikeshare_audit";
/** The version of the functions below: a new number makes the next start recreate them. */
const FORM = "1";

const RETENTION_DAYS = dailyTables.find(({ name }) => name === "audit_log")?.retentionDays ?? Number.NaN;

const state = statement(
  "audit.owner",
  `select coalesce(
     (select bool_and(relowner = to_regrole('${OWNER}')) from pg_class
      where oid in (select 'audit_log'::regclass union all select inhrelid from pg_inherits where inhparent = 'audit_log'::regclass))
     and not pg_has_role(current_user, to_regrole('${OWNER}'), 'member')
     and (select datdba <> current_user::regrole from pg_database where datname = current_database())
     and obj_description(to_regprocedure('audit_log_create_month(date)'), 'pg_proc') = '${FORM}', false) as is_protected`,
);

/** Tells whether the log belongs to its own role, and nothing of the service's role gets around that. */
export async function findIsProtected(db: Queryable): Promise<boolean> {
  return oneRow(await db.query<{ is_protected: boolean }>(state)).is_protected;
}

/** SQL for the superuser that makes the service's role a member of the log's, where there is one. */
export const LENDING = `do $$ begin
  if to_regrole('${OWNER}') is not null then grant ${OWNER} to ${SERVICE}; end if;
end $$`;

const asOwner = "language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'";

/**
 * SQL for the superuser that gives the log to its own role, in one transaction, whose lock lets one process at a time do it.
 * The owner of a schema may drop whatever is in it, and that of the database counts as owner of its schema.
 */
export const PROTECTION = `
begin;
set local lock_timeout = '30s';
lock table public.audit_log in access exclusive mode;
do $do$
declare part regclass;
begin
  if to_regrole('${OWNER}') is null then create role ${OWNER} nologin; end if;
  execute format('alter database %I owner to current_user', current_database());
  execute format('grant connect, temporary, create on database %I to ${SERVICE}', current_database());
  grant usage, create on schema public to ${SERVICE}, ${OWNER};
  revoke ${OWNER} from ${SERVICE};
  for part in
    select 'public.audit_log'::regclass union all
    select inhrelid from pg_inherits where inhparent = 'public.audit_log'::regclass
  loop
    execute format('alter table %s owner to ${OWNER}', part);
    execute format('grant all on %s to ${OWNER}', part); -- what was revoked from the owner before
    execute format('revoke all on %s from ${SERVICE}', part);
    execute format('grant select, maintain on %s to ${SERVICE}', part);
  end loop;
  grant insert on public.audit_log to ${SERVICE};
end $do$;

create or replace function public.audit_log_create_month(first_day date) returns void ${asOwner} as $body$
declare
  month date := date_trunc('month', first_day);
  name text := 'audit_log_' || to_char(month, 'YYYYMM');
begin
  if to_regclass('public.' || name) is not null then return; end if;
  execute format('create table public.%I (like public.audit_log including defaults including constraints including generated)', name);
  execute format('alter table public.audit_log attach partition public.%I for values from (%L) to (%L)',
    name, month, (month + interval '1 month')::date);
  execute format('grant select, maintain on public.%I to ${SERVICE}', name);
end $body$;

create or replace function public.audit_log_drop_month(first_day date) returns void ${asOwner} as $body$
declare
  month date := date_trunc('month', first_day);
  part regclass := to_regclass('public.audit_log_' || to_char(month, 'YYYYMM'));
begin
  if (month + interval '1 month')::date > current_date - ${RETENTION_DAYS} then return; end if;
  if exists (select from pg_inherits where inhparent = 'public.audit_log'::regclass and inhrelid = part) then
    execute format('drop table %s', part);
  end if;
end $body$;

create or replace function public.audit_log_delete_past(of_system text, of_day date, most integer) returns bigint ${asOwner} as $body$
declare deleted bigint;
begin
  if of_day >= current_date - ${RETENTION_DAYS} then return 0; end if;
  delete from public.audit_log_default where system_id = of_system and ctid = any(array(
    select ctid from public.audit_log_default where system_id = of_system and logged_on = of_day limit most for update skip locked));
  get diagnostics deleted = row_count;
  return deleted;
end $body$;

do $do$
declare function regprocedure;
begin
  for function in select oid from pg_proc where proname in ('audit_log_create_month', 'audit_log_drop_month', 'audit_log_delete_past')
    and pronamespace = 'public'::regnamespace
  loop
    execute format('alter function %s owner to ${OWNER}', function);
    execute format('revoke all on function %s from public', function);
    execute format('grant execute on function %s to ${SERVICE}', function);
  end loop;
end $do$;
comment on function public.audit_log_create_month(date) is '${FORM}';
commit;
`;

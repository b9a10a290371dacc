import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { dailyTables } from "./partition.rules.ts";

/*
 * Ownership of the audit log in the PostgreSQL that this service runs itself. The service's role owns every other table, and
 * an owner can drop a table or grant itself revoked rights. The audit log therefore belongs to a role without a login.
 * Functions of that role create and drop the monthly partitions; they drop and delete only entries beyond the retention
 * period.
 */

/** The role of the service, which our own PostgreSQL creates, and the role that owns the audit log. */
const SERVICE = "bikeshare";
const OWNER = "bikeshare_audit";
/** The version of the functions below: a new number makes the next start recreate them. */
const FORM = "1";

/** `audit_log` is always in the list: NaN only satisfies the type. */
const RETENTION_DAYS = dailyTables.find(({ name }) => name === "audit_log")?.retentionDays ?? Number.NaN;

// Protected: the role OWNER has the table and all of its partitions, the service's role is no member of OWNER and does
// not own the database, and the functions have the present form. Null, such as without the role OWNER, counts as false.
const state = statement(
  "audit.owner",
  `select coalesce(
     (select bool_and(relowner = to_regrole('${OWNER}')) from pg_class
      where oid in (select 'audit_log'::regclass union all select inhrelid from pg_inherits where inhparent = 'audit_log'::regclass))
     and not pg_has_role(current_user, to_regrole('${OWNER}'), 'member')
     and (select datdba <> current_user::regrole from pg_database where datname = current_database())
     and obj_description(to_regprocedure('audit_log_create_month(date)'), 'pg_proc') = '${FORM}', false) as is_protected`,
);

/** Tells whether the audit log belongs to its own role and the service's role has no way around that. */
export async function findIsProtected(db: Queryable): Promise<boolean> {
  return oneRow(await db.query<{ is_protected: boolean }>(state)).is_protected;
}

/**
 * SQL for the superuser: makes the service's role a member of the role that owns the audit log, if that role exists.
 * Migrations run as the service's role, and only then can they change the table.
 */
export const LENDING = `do $$ begin
  if to_regrole('${OWNER}') is not null then grant ${OWNER} to ${SERVICE}; end if;
end $$`;

const asOwner = "language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'";

/**
 * SQL for the superuser: gives the audit log to its own role, in one transaction whose lock admits one process at a time.
 * Also takes the ownership of the database from the service's role, because the owner of a database counts as owner of the
 * schema `public` and could drop any table in it.
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
    execute format('grant all on %s to ${OWNER}', part); -- restores the rights that were revoked from the owner
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

/**
 * A rule that every migration keeps, so that the database can be spread over many machines without a redesign
 * (docs/decisions/storage-and-growth.md).
 */
export interface SchemaRule {
  readonly rule: string;
  /** A query that returns, as `name`, everything in the schema that breaks the rule. */
  readonly offenders: string;
  /** SQL that breaks the rule, and the offender that it makes. A test runs it to show that `offenders` finds something. */
  readonly breach: { readonly sql: string; readonly offender: string };
}

const schema = "current_schema()::regnamespace";
/** All tables but `migrations`, which lists the migrations that this database has, and so belongs to no system. */
const tables = `(select oid, relname, relkind from pg_class
  where relnamespace = ${schema} and relkind in ('r', 'p') and relname <> 'migrations')`;
const column = (table: string, number: string) =>
  `(select attname from pg_attribute where attrelid = ${table} and attnum = ${number})`;
/** Tables of the whole deployment, which have no `system_id`: a person may work in several systems, a process serves all. */
const deploymentTables = [
  "people",
  "passkeys",
  "recovery_codes",
  "identities",
  "used_challenges",
  "sessions",
  "api_processes",
  "key_holders",
  "replication_tokens",
  "alerts",
  "operator_mails",
  "check_acknowledgements",
];
const ofDeployment = deploymentTables.map((name) => `'${name}'`).join(", ");
/** The indexes of tables that belong to systems, each with its first column (null: an expression). */
const indexes = `(select c.relname, i.indrelid, i.indisunique, ${column("i.indrelid", "i.indkey[0]")} as first_column
  from ${tables} t join pg_index i on i.indrelid = t.oid join pg_class c on c.oid = i.indexrelid
  where t.relname not in (${ofDeployment}))`;
const functions = `(select oid, proname from pg_proc where pronamespace = ${schema} and prokind = 'f')`;

/**
 * The foreign key from a sandbox to its partner, which belongs to another system. It is allowed because every machine has
 * both tables.
 */
const ACROSS_SYSTEMS = "sandboxes_live_system_id_partner_id_fkey";

/** Indexes that may begin with another column than `system_id`. */
const indexesAcrossSystems: Readonly<Record<string, string>> = {
  sandboxes_partner: "A partner of one system has its sandbox in another: which one, is what this look-up finds out.",
  keys_hash: "A request brings only its key: whose system it is, is what this look-up finds out.",
  memberships_person: "A session brings only its person: in which systems they work is what this look-up finds out.",
  invitations_hash: "A link brings only its token: whose system it is, is what this look-up finds out.",
  dashboard_links_hash: "A link brings only its token: whose system it is, is what this look-up finds out.",
  dashboard_links_session:
    "A frame's cookie brings only its token: whose system it is, is what this look-up finds out.",
};
const exempt = Object.keys(indexesAcrossSystems)
  .map((name) => `'${name}'`)
  .join(", ");

export const schemaRules: readonly SchemaRule[] = [
  {
    rule: `every table but ${deploymentTables.join(", ")} has system_id text collate "C" not null`,
    offenders: `select relname as name from ${tables} t where relname not in (${ofDeployment}) and not exists (
      select from pg_attribute a join pg_collation l on l.oid = a.attcollation
      where a.attrelid = t.oid and a.attname = 'system_id' and a.atttypid = 'text'::regtype
        and l.collname = 'C' and a.attnotnull)`,
    breach: { sql: "create table breach (system_id text not null)", offender: "breach" },
  },
  {
    rule: "every table has a primary key",
    offenders: `select relname as name from ${tables} t
      where not exists (select from pg_index where indrelid = t.oid and indisprimary)`,
    breach: { sql: "create table breach (id text)", offender: "breach" },
  },
  {
    rule: "system_id comes first in every primary key and every unique index",
    // `sandboxes_partner` is the only unique one among `indexesAcrossSystems`.
    offenders: `select relname as name from ${indexes} i where indisunique and first_column is distinct from 'system_id'
      and relname <> 'sandboxes_partner'`,
    breach: { sql: "create unique index breach on rides (bike_id) where status = 'started'", offender: "breach" },
  },
  {
    rule: `system_id comes first in every index but ${Object.keys(indexesAcrossSystems).join(", ")}`,
    offenders: `select relname as name from ${indexes} i
      where first_column is distinct from 'system_id' and relname not in (${exempt})`,
    breach: { sql: "create index breach on rides (lower(bike_id), system_id)", offender: "breach" },
  },
  {
    rule: "an index that is exempt is there, and needs to be",
    offenders: `select name from unnest(array[${exempt}]) as name
      where not exists (select from ${indexes} i where relname = name and first_column <> 'system_id')`,
    breach: { sql: "drop index keys_hash", offender: "keys_hash" },
  },
  {
    rule: "system_id comes first on both sides of every foreign key between tables of systems",
    offenders: `select conname as name from pg_constraint
      where connamespace = ${schema} and contype = 'f' and confrelid not in (
        select oid from ${tables} t where relname in (${ofDeployment})) and not (
        ${column("conrelid", "conkey[1]")} = 'system_id' and ${column("confrelid", "confkey[1]")} = 'system_id')
      and conname <> '${ACROSS_SYSTEMS}'`,
    breach: {
      sql: "alter table keys add constraint breach foreign key (partner_id) references systems (system_id)",
      offender: "breach",
    },
  },
  {
    rule: "there is no trigger",
    offenders: `select tgname as name from pg_trigger where not tgisinternal
      union all select evtname from pg_event_trigger`,
    breach: {
      sql: "create trigger breach before update on rides for each row execute function suppress_redundant_updates_trigger()",
      offender: "breach",
    },
  },
  {
    rule: "there is no sequence, and so no serial or identity column",
    offenders: `select relname as name from pg_class where relnamespace = ${schema} and relkind = 'S'`,
    breach: {
      sql: "alter table bikes add column breach bigint generated always as identity",
      offender: "bikes_breach_seq",
    },
  },
  {
    rule: "rides are one table, not partitioned: their id could not be unique",
    offenders: `select relname as name from pg_class c where relnamespace = ${schema} and relname = 'rides'
      and (relkind <> 'r' or exists (select from pg_inherits where inhparent = c.oid))`,
    breach: {
      sql: `alter table rides rename to rides_before;
        create table rides (system_id text collate "C" not null, started_at timestamptz) partition by range (started_at)`,
      offender: "rides",
    },
  },
  {
    // A function inside a function costs four times as much a row.
    rule: "functions that make json text call no other function of ours",
    // Finds the name of another function, followed by a parenthesis, in the function's text.
    offenders: `select json.proname as name from ${functions} json join ${functions} other on other.proname <> json.proname
      where json.proname like '%\\_json' and pg_get_functiondef(json.oid) ~ ('\\m' || other.proname || '\\s*\\(')`,
    breach: {
      sql: `create function instant_text(t timestamptz) returns text language sql as $$ select t::text $$;
        create function breach_json(t timestamptz) returns text language plpgsql as $$ begin return instant_text(t); end $$`,
      offender: "breach_json",
    },
  },
  {
    rule: "a column that is generated calls one function of ours at most, a *_json",
    offenders: `select d.adrelid::regclass::text || '.' || ${column("d.adrelid", "d.adnum")} as name
      from pg_attrdef d
      join pg_depend on pg_depend.classid = 'pg_attrdef'::regclass and pg_depend.objid = d.oid
        and pg_depend.refclassid = 'pg_proc'::regclass
      join ${functions} f on f.oid = pg_depend.refobjid
      where exists (select from pg_attribute a where a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated <> '')
      group by d.adrelid, d.adnum having count(*) > 1 or bool_or(f.proname not like '%\\_json')`,
    breach: {
      sql: `create function breach(t text) returns text language sql immutable as $$ select t $$;
        alter table bikes add column upper_json text generated always as (breach(source)) stored`,
      offender: "bikes.upper_json",
    },
  },
];

import type { Database } from "../src/storage/db/database.ts";

/** Cleans a test's database so that it equals an unused one. Returns false if that is not possible. */
export type Cleaner = (db: Database) => Promise<boolean>;

/** Most bytes of a table that is cleaned. Deleted rows stay in its pages, which later tests would read. */
const MAX_TABLE_BYTES = 512 * 1024;

/** PostgreSQL's own catalog objects have lower ids. */
const FIRST_OWN_ID = 16_384;

/**
 * Reads what a test can change besides rows. The catalog: a changed row has a new `xmin`. Statistics, which would change
 * PostgreSQL's plans. Connections, because a test may have left processes running.
 */
const CATALOG = `select
  (select sum(hashtext(oid::text || xmin::text)) from pg_class where relpersistence <> 't')::text as relations,
  (select sum(hashtext(attrelid::text || attnum::text || xmin::text)) from pg_attribute where attrelid >= ${FIRST_OWN_ID})::text as columns,
  (select sum(hashtext(oid::text || xmin::text)) from pg_constraint)::text as constraints,
  (select sum(hashtext(oid::text || xmin::text)) from pg_proc where oid >= ${FIRST_OWN_ID})::text as functions,
  (select sum(hashtext(oid::text || xmin::text)) from pg_trigger)::text as triggers,
  (select sum(hashtext(oid::text || xmin::text)) from pg_namespace where nspname !~ '^pg_(toast_)?temp_')::text as schemas,
  (select count(*) from pg_db_role_setting join pg_database on setdatabase = pg_database.oid
    where datname = current_database()) as settings,
  (select count(*) from pg_class where reltuples > 0 and oid >= ${FIRST_OWN_ID}) as analyzed,
  (select count(*)::int from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend') as sessions`;

/**
 * Tables in each call of `jsonb_build_object`: it needs two arguments for each, and a function of PostgreSQL has at most
 * 100.
 */
const TABLES_A_CALL = 40;

/** For each table, its rows as JSON, or null. For a table that is empty in an unused database: whether it has rows. */
type Contents = Readonly<Record<string, string | boolean | null>>;

/** Returns a function that cleans databases. @param unused a database that no test has used: cleaned databases equal it */
export async function createCleaner(unused: Database): Promise<Cleaner> {
  const tables = await readTables(unused);
  const rowsOf = (table: string) => `(select json_agg(t)::text from only ${table} t)`;
  const first = await readContents(unused, "test_rows", new Map(tables.map((table) => [table, rowsOf(table)])));
  const isFilled = (table: string) => typeof first[table] === "string";
  const contents = new Map(
    tables.map((table) => [table, isFilled(table) ? rowsOf(table) : `exists (select from only ${table})`]),
  );
  const { catalog } = await readCatalog(unused);

  return async (db) => {
    if (db.usage().inUse > 0) return false;
    const now = await readCatalog(db);
    if (now.catalog !== catalog || now.sessions !== db.usage().idle) return false;
    const found = await readContents(db, "test_contents", contents);
    const changed = tables.filter((table) => (isFilled(table) ? found[table] !== first[table] : found[table] === true));
    return db.transaction(async ({ query }) => {
      let largest = 0;
      for (const table of changed) {
        const text = `with gone as (delete from only ${table}) select pg_relation_size('${table}')::int as bytes`;
        const [size] = await query<{ readonly bytes: number }>({ name: `test_empty_${table}`, text });
        largest = Math.max(largest, size?.bytes ?? 0);
      }
      for (const table of changed.filter(isFilled).toReversed()) {
        const text = `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`;
        await query({ name: `test_fill_${table}`, text }, [first[table]]);
      }
      return largest <= MAX_TABLE_BYTES;
    });
  };
}

async function readCatalog(db: Database): Promise<{ readonly catalog: string; readonly sessions: number }> {
  const [{ sessions, ...catalog } = { sessions: 0 }] = await db.query<{ readonly sessions: number }>({
    name: "test_catalog",
    text: CATALOG,
  });
  return { catalog: JSON.stringify(catalog), sessions };
}

/** @param expressions for each table, the SQL expression to read */
async function readContents(db: Database, name: string, expressions: ReadonlyMap<string, string>): Promise<Contents> {
  const pairs = [...expressions].map(([table, expression]) => `'${table}', ${expression}`);
  const calls: string[] = [];
  while (pairs.length > 0) calls.push(`jsonb_build_object(${pairs.splice(0, TABLES_A_CALL).join(", ")})`);
  const [found] = await db.query<{ readonly contents: Contents }>({
    name,
    text: `select ${calls.join(" || ")} as contents`,
  });
  return found?.contents ?? {};
}

/** Returns the names of all tables that hold rows, each before the tables that it references. */
async function readTables(db: Database): Promise<string[]> {
  const found = await db.query<{ readonly name: string }>({
    name: "test_tables",
    text: `with recursive referred (id, depth) as (
        select oid, 0 from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
        union
        select confrelid, depth + 1 from referred join pg_constraint on conrelid = id and contype = 'f' and confrelid <> conrelid
      )
      select id::regclass::text as name from referred join pg_class on oid = id where relkind = 'r'
      group by 1 order by max(depth), 1`,
  });
  return found.map(({ name }) => name);
}

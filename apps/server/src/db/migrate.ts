import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database, Queryable, Transaction } from "./database.ts";
import { codeOf, sqlState } from "./errors.ts";
import { statement } from "./statement.ts";

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

const createTable = `
  create table if not exists migrations (
    number     integer primary key,
    name       text not null,
    applied_at timestamptz(3) not null default now()
  )`;
// One process migrates at a time; those that start meanwhile wait here and then find nothing to do.
const lockTable = "lock table migrations in access exclusive mode";
const appliedNumbers = statement("migrations.applied", "select number from migrations order by number");
const recordMigration = statement("migrations.record", "insert into migrations (number, name) values ($1, $2)");

/**
 * Brings the database's schema up to date, in one transaction: all pending migrations apply, or none.
 * Safe when several processes start at once.
 * @param last the number of the last migration to apply; all when left out
 * @returns the file names of the migrations that this call applied
 */
export async function migrate(db: Database, last = Number.POSITIVE_INFINITY): Promise<string[]> {
  const pending = await readMigrations();
  await ensureTable(db);
  return db.transaction(async (tx) => {
    await tx.run(lockTable);
    const applied = new Set(await appliedMigrations(tx));
    assertNoNewerSchema(applied, pending);
    const names: string[] = [];
    for (const migration of pending) {
      if (applied.has(migration.number) || migration.number > last) continue;
      await apply(tx, migration);
      names.push(migration.name);
    }
    return names;
  });
}

/** Whether nothing is to be done, which costs one statement; false where only `migrate` can tell. */
export async function isMigrated(db: Database): Promise<boolean> {
  const known = await readMigrations();
  try {
    const applied = new Set(await appliedMigrations(db));
    return applied.size === known.length && known.every(({ number }) => applied.has(number));
  } catch (error) {
    if (codeOf(error) !== sqlState.undefinedTable) throw error;
    return false;
  }
}

/** The numbers of the migrations that the schema has seen. */
export async function appliedMigrations(db: Queryable): Promise<number[]> {
  return (await db.query<{ number: number }>(appliedNumbers)).map((row) => row.number);
}

/** The numbers of all migrations of this program. */
export async function knownMigrations(): Promise<number[]> {
  return (await readMigrations()).map(({ number }) => number);
}

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** Two concurrent `create table if not exists` may collide in the catalogue; then the table exists. */
async function ensureTable(db: Database): Promise<void> {
  try {
    await db.transaction((tx) => tx.run(createTable));
  } catch (error) {
    if (codeOf(error) !== sqlState.uniqueViolation) throw error;
  }
}

async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(MIGRATIONS)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).sort();
  return Promise.all(
    files.map(async (name) => ({
      number: Number(name.slice(0, 4)),
      name,
      sql: await readFile(join(MIGRATIONS, name), "utf8"),
    })),
  );
}

function assertNoNewerSchema(applied: ReadonlySet<number>, known: readonly Migration[]): void {
  const newest = Math.max(0, ...applied);
  const newestKnown = known.at(-1)?.number ?? 0;
  if (newest > newestKnown) {
    throw new Error(
      `The database is at migration ${newest}, this program knows ${newestKnown}: start the newer version of the program.`,
    );
  }
}

async function apply(tx: Transaction, { number, name, sql }: Migration): Promise<void> {
  try {
    await tx.run(sql);
  } catch (error) {
    throw new Error(`Migration ${name} failed; nothing was changed.`, { cause: error });
  }
  await tx.query(recordMigration, [number, name]);
}

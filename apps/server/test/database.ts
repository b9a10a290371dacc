import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { DatabaseUnavailable } from "../src/storage/db/errors.ts";
import { updateDatabaseSettings } from "../src/storage/distribution/queries.ts";
import { createCleaner, type Cleaner } from "./clean-database.ts";
import { copyDatabase, dropDatabase, SYSTEM_ID, withDatabaseName } from "./server-commands.ts";

export interface TestDatabase {
  readonly db: Database;
  /** The only system in the database. */
  readonly systemId: string;
  /** Gives the database back. The test can no longer use it. */
  close(): Promise<void>;
}

/**
 * Milliseconds that a test's own statements may take, and that they may wait for a connection. Too low: fails tests with
 * many concurrent statements on a busy machine.
 */
const TEST_TIMEOUT_MS = 60_000;

/** A database with its pool. A later test can reuse the open connections. */
interface Pooled {
  readonly name: string;
  readonly db: Database;
}

/**
 * Cleaned databases that no test uses now. Cleaning a database takes a tenth of the processor time of copying one,
 * connecting to it and reading its catalog.
 */
const spares: Pooled[] = [];
/** Most spare databases. More are dropped. */
const MAX_SPARES = 4;

let cleaning: Promise<Cleaner> | undefined;

/** Returns a separate, migrated database with one system. */
export async function createTestDatabase(): Promise<TestDatabase> {
  // A distributed database is never reused, because the Citus extension keeps its own sessions open.
  if (process.env["TEST_CITUS_URL"] !== undefined) return createUnusedDatabase();
  const pooled = spares.pop() ?? (await copyOf(inject("systemTemplateDatabase")));
  cleaning ??= createCleaner(pooled.db);
  return lend(pooled, await cleaning);
}

/**
 * Like `createTestDatabase`, but no test has used the database before. For tests that look at plans, pages or statistics, on
 * which deleted rows have an effect.
 */
export async function createUnusedDatabase(): Promise<TestDatabase> {
  return lend(await copyOf(inject("systemTemplateDatabase")));
}

/**
 * Returns a copy of a test's database with all its rows. No connection to the original may be open: close its `db` first.
 */
export async function copyTestDatabase({ db }: Pick<TestDatabase, "db">): Promise<TestDatabase> {
  return lend(await copyOf(new URL(db.connectionString).pathname.slice(1)));
}

async function copyOf(template: string): Promise<Pooled> {
  const serverUrl = inject("serverUrl");
  const name = newName();
  await copyDatabase(serverUrl, template, name);
  const db = openDatabase({
    connectionString: withDatabaseName(serverUrl, name),
    connectTimeoutMs: TEST_TIMEOUT_MS,
    statementTimeoutMs: TEST_TIMEOUT_MS,
  });
  // A copy has the template's rows, but not its settings of the database.
  if (process.env["TEST_CITUS_URL"] !== undefined) await updateDatabaseSettings(db);
  return { name, db };
}

/** Rejects every statement of work that a test has left running, because it must not reach the rows of the next test. */
const refuse = () => Promise.reject(new DatabaseUnavailable("the test is over"));

/**
 * Lends a database to one test. Afterwards the database is kept for another test if it can be cleaned, and dropped
 * otherwise.
 */
function lend(pooled: Pooled, clean?: Cleaner): TestDatabase {
  const { db } = pooled;
  let isReturned = false;
  let isEnded = false;
  return {
    db: {
      ...db,
      query: (statement, values) => (isReturned ? refuse() : db.query(statement, values)),
      transaction: (work, options) => (isReturned ? refuse() : db.transaction(work, options)),
      close: async () => {
        isEnded = true;
        await db.close();
      },
    },
    systemId: SYSTEM_ID,
    close: async () => {
      if (isReturned) return;
      isReturned = true;
      if (!isEnded && spares.length < MAX_SPARES && (await clean?.(db)) === true) {
        spares.push(pooled);
        return;
      }
      if (!isEnded) await db.close();
      await dropDatabase(inject("serverUrl"), pooled.name);
    },
  };
}

/** Returns a separate database that was never migrated. */
export async function createEmptyDatabase(): Promise<Omit<TestDatabase, "systemId">> {
  const serverUrl = inject("serverUrl");
  const name = newName();
  await copyDatabase(serverUrl, "template0", name);
  const db = openDatabase({ connectionString: withDatabaseName(serverUrl, name) });
  return {
    db,
    close: async () => {
      await db.close();
      await dropDatabase(serverUrl, name);
    },
  };
}

/** The prefix identifies the databases of this run, which are dropped at its end. */
const newName = () => `${inject("templateDatabase")}_${randomBytes(8).toString("hex")}`;

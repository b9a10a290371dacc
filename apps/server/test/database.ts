import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { DatabaseUnavailable } from "../src/storage/db/errors.ts";
import { updateDatabaseSettings } from "../src/storage/distribution/queries.ts";
import { createCleaner, type Cleaner } from "./clean-database.ts";
import { copyDatabase, dropDatabase, SYSTEM_ID, withDatabaseName } from "./server-commands.ts";

export interface TestDatabase {
  readonly db: Database;
  /** The one system in it. */
  readonly systemId: string;
  /** Gives the database back: nothing of the test can use it any more. */
  close(): Promise<void>;
}

/**
 * Milliseconds for a test's own statements, and for the wait for their connections. Too low: fails tests with many
 * concurrent statements on a busy machine.
 */
const TEST_TIMEOUT_MS = 60_000;

/** A database with its pool, whose connections a later test finds open. */
interface Pooled {
  readonly name: string;
  readonly db: Database;
}

/**
 * Databases of this process that no test has, each as new. To clean one takes a tenth of the processor time of copying one,
 * connecting to it and reading its catalog.
 */
const spares: Pooled[] = [];
/** More are dropped. */
const MAX_SPARES = 4;

let cleaning: Promise<Cleaner> | undefined;

/** A migrated database of the test's own, with one system. */
export async function createTestDatabase(): Promise<TestDatabase> {
  // A distributed database has sessions of the extension's own.
  if (process.env["TEST_CITUS_URL"] !== undefined) return createUnusedDatabase();
  const pooled = spares.pop() ?? (await copyOf(inject("systemTemplateDatabase")));
  cleaning ??= createCleaner(pooled.db);
  return lend(pooled, await cleaning);
}

/**
 * A database as `createTestDatabase` gives it, which no test had before: for what looks at plans, at pages or at statistics,
 * where rows that were deleted are seen.
 */
export async function createUnusedDatabase(): Promise<TestDatabase> {
  return lend(await copyOf(inject("systemTemplateDatabase")));
}

/** A copy of a test's database with all its rows. Nobody may be connected to that: close its `db` before. */
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
  // A copy has the template's rows, and not what its sessions begin with.
  if (process.env["TEST_CITUS_URL"] !== undefined) await updateDatabaseSettings(db);
  return { name, db };
}

/** What the work meets that a test has left running: it must not reach the next one's rows. */
const refuse = () => Promise.reject(new DatabaseUnavailable("the test is over"));

/** Lends a database to one test; it is kept for another where it can be cleaned, and dropped otherwise. */
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

/** A database of the test's own that no program has migrated. */
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

/** By its beginning those of a run are found in the end. */
const newName = () => `${inject("templateDatabase")}_${randomBytes(8).toString("hex")}`;

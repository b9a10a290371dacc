import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { updateDatabaseSettings } from "../src/storage/distribution/queries.ts";
import { copyDatabase, dropDatabase, SYSTEM_ID, withDatabaseName } from "./server-commands.ts";

export interface TestDatabase {
  readonly db: Database;
  /** The one system in it. */
  readonly systemId: string;
  /** Ends the connections and drops the database. */
  close(): Promise<void>;
}

/**
 * Milliseconds for a test's own statements, and for the wait for their connections. Too low: fails tests with many
 * concurrent statements on a busy machine.
 */
const TEST_TIMEOUT_MS = 60_000;

/** A migrated database of the test's own, with one system. */
export function createTestDatabase(): Promise<TestDatabase> {
  return copyOf(inject("systemTemplateDatabase"));
}

/** A copy of a test's database with all its rows. Nobody may be connected to that: close its `db` before. */
export function copyTestDatabase({ db }: Pick<TestDatabase, "db">): Promise<TestDatabase> {
  return copyOf(new URL(db.connectionString).pathname.slice(1));
}

async function copyOf(template: string): Promise<TestDatabase> {
  const serverUrl = inject("serverUrl");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await copyDatabase(serverUrl, template, name);
  const db = openDatabase({
    connectionString: withDatabaseName(serverUrl, name),
    connectTimeoutMs: TEST_TIMEOUT_MS,
    statementTimeoutMs: TEST_TIMEOUT_MS,
  });
  // A copy has the template's rows, and not what its sessions begin with.
  if (process.env["TEST_CITUS_URL"] !== undefined) await updateDatabaseSettings(db);
  return {
    db,
    systemId: SYSTEM_ID,
    close: async () => {
      await db.close();
      await dropDatabase(serverUrl, name);
    },
  };
}

/** A database of the test's own that no program has migrated. */
export async function createEmptyDatabase(): Promise<Omit<TestDatabase, "systemId">> {
  const serverUrl = inject("serverUrl");
  const name = `test_${randomBytes(8).toString("hex")}`;
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

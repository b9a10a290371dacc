import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type Database, openDatabase } from "../src/db/database.ts";
import { createSystem } from "../src/systems/service.ts";
import { dropDatabase, runOnServer, withDatabaseName } from "./server-commands.ts";

export interface TestDatabase {
  readonly db: Database;
  /** The one system in it. */
  readonly systemId: string;
  /** Ends the connections and drops the database. */
  close(): Promise<void>;
}

/** A migrated database of the test's own, with one system. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject("serverUrl");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await runOnServer(serverUrl, `create database ${name} template ${inject("templateDatabase")}`);
  const db = openDatabase({ connectionString: withDatabaseName(serverUrl, name) });
  const systemId = "main";
  await createSystem(db, systemId, "Test city", 0);
  return {
    db,
    systemId,
    close: async () => {
      await db.close();
      await dropDatabase(serverUrl, name);
    },
  };
}

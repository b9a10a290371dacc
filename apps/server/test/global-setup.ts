import { randomBytes } from "node:crypto";
import { chmod, rm } from "node:fs/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { makeDatabaseDirectory } from "@bikeshare/test-kit";
import type { TestProject } from "vitest/node";
import { createSystem } from "../src/city/systems/service.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { insertExtension, updateDatabaseSettings } from "../src/storage/distribution/queries.ts";
import { distributeTables } from "../src/storage/distribution/service.ts";
import {
  closeToConnections,
  copyDatabase,
  databasesLike,
  dropDatabase,
  runOnServer,
  SYSTEM_ID,
  withDatabaseName,
} from "./server-commands.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The connection string of the PostgreSQL server's maintenance database. */
    serverUrl: string;
    /** The name of a migrated database that tests copy. */
    templateDatabase: string;
    /** The name of a copy of it with one system. Nearly all tests copy this one. */
    systemTemplateDatabase: string;
  }
}

/** More bytes than the databases of all tests need. */
const NEEDED_BYTES = 8 * 1024 ** 3;

/**
 * Starts one PostgreSQL for all tests (or uses `TEST_DATABASE_URL`) and migrates the template that tests copy. Tests about
 * crashes start their own PostgreSQL servers.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const citusUrl = process.env["TEST_CITUS_URL"];
  const given = citusUrl ?? process.env["TEST_DATABASE_URL"];
  const directory = await makeDatabaseDirectory("bikeshare-test-", NEEDED_BYTES);
  // If the tests run as root, PostgreSQL runs under another account, which needs access to the directory.
  await chmod(directory, 0o711);
  const own =
    given === undefined
      ? await openEmbeddedPostgres({ dataDir: directory, log: () => undefined, isDurable: false, hasSocket: true })
      : undefined;
  const serverUrl = given ?? own?.connectionString ?? "";
  const templateDatabase = `bikeshare_template_${randomBytes(8).toString("hex")}`;
  await runOnServer(serverUrl, `create database ${templateDatabase}`);
  const template = openDatabase({ connectionString: withDatabaseName(serverUrl, templateDatabase) });
  await migrate(template);
  if (citusUrl !== undefined) {
    await insertExtension(template);
    await distributeTables(template);
    await template.close();
    await closeToConnections(serverUrl, templateDatabase);
  }
  await template.close();
  const systemTemplateDatabase = `${templateDatabase}_system`;
  await copyDatabase(serverUrl, templateDatabase, systemTemplateDatabase);
  const systemTemplate = openDatabase({ connectionString: withDatabaseName(serverUrl, systemTemplateDatabase) });
  if (citusUrl !== undefined) await updateDatabaseSettings(systemTemplate);
  await createSystem(systemTemplate, SYSTEM_ID, "Test city", 0);
  await systemTemplate.close();
  if (citusUrl !== undefined) await closeToConnections(serverUrl, systemTemplateDatabase);
  project.provide("serverUrl", serverUrl);
  project.provide("templateDatabase", templateDatabase);
  project.provide("systemTemplateDatabase", systemTemplateDatabase);
  return async () => {
    // Drops the template, and the databases of tests, whose names begin with the template's name.
    for (const name of await databasesLike(serverUrl, templateDatabase)) await dropDatabase(serverUrl, name);
    await own?.close();
    await rm(directory, { recursive: true, force: true });
  };
}

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { splitStatements } from "../src/storage/db/migrate/schema-change.rules.ts";

const DIRECTORY = join(import.meta.dirname, "../migrations");

/** A migration as it is written. */
export interface MigrationFile {
  readonly name: string;
  readonly sql: string;
}

/** Returns all files of the migrations' directory, by name. */
export async function readMigrationFiles(): Promise<MigrationFile[]> {
  const names = (await readdir(DIRECTORY)).sort();
  return Promise.all(names.map(async (name) => ({ name, sql: await readFile(join(DIRECTORY, name), "utf8") })));
}

/**
 * Returns the statements, in lower case, without comments, and without the contents of string literals and function
 * bodies.
 */
export function statementsOf(sql: string): string[] {
  return splitStatements(sql).map(({ bare }) => bare);
}

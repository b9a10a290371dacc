import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { splitStatements } from "../src/db/migrate/sql-statements.rules.ts";

const DIRECTORY = join(import.meta.dirname, "../migrations");

/** A migration as it is written. */
export interface MigrationFile {
  readonly name: string;
  readonly sql: string;
}

/**
 * Whether the rows of a table belong to a system, and lie where the system does, or whether every machine holds a
 * copy of the table.
 */
export type TableKind = "system" | "reference";

/** All files of the migrations' directory, by name. */
export async function readMigrationFiles(): Promise<MigrationFile[]> {
  const names = (await readdir(DIRECTORY)).sort();
  return Promise.all(names.map(async (name) => ({ name, sql: await readFile(join(DIRECTORY, name), "utf8") })));
}

/** The kind of each table, where the comment above its `create table` begins with `system.` or `reference.`. */
export function declaredKinds(sql: string): Map<string, TableKind> {
  const declarations = sql.matchAll(
    /^-- (system|reference)\..*\n(?:--.*\n)*create (?:unlogged )?table (?:if not exists )?(\w+)/gm,
  );
  return new Map([...declarations].map(([, kind, table = ""]) => [table, kind === "system" ? "system" : "reference"]));
}

/** The statements, in lower case, without comments, and without what stands in texts and function bodies. */
export function statementsOf(sql: string): string[] {
  return splitStatements(sql).map(({ bare }) => bare);
}

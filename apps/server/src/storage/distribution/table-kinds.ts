import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const DIRECTORY = join(import.meta.dirname, "../../../migrations");

/**
 * How a distributed database stores a table. `system`: each row belongs to a system and is on that system's node.
 * `reference`: every node has a copy of the table.
 */
export type TableKind = "system" | "reference";

/**
 * Returns the kind of each table, in the order of the migrations. The comment above each `create table` begins with the
 * kind.
 */
export async function readTableKinds(): Promise<ReadonlyMap<string, TableKind>> {
  const names = (await readdir(DIRECTORY)).filter((name) => name.endsWith(".sql")).sort();
  const files = await Promise.all(names.map((name) => readFile(join(DIRECTORY, name), "utf8")));
  return declaredKinds(files.join("\n"));
}

/**
 * Returns the kind of each table that some SQL creates, if the comment above its `create table` begins with `system.` or
 * `reference.`. Omits partitions, which have their table's kind.
 */
export function declaredKinds(sql: string): Map<string, TableKind> {
  const declarations = sql.matchAll(
    /^-- (system|reference)\..*\n(?:--.*\n)*create (?:unlogged )?table (?:if not exists )?(\w+)\b(?! partition of)/gm,
  );
  return new Map([...declarations].map(([, kind, table = ""]) => [table, kind === "system" ? "system" : "reference"]));
}

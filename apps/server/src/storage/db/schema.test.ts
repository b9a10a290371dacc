import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { type MigrationFile, readMigrationFiles, statementsOf } from "../../../tools/migration-files.ts";
import { schemaRules } from "../../../tools/schema-rules.ts";
import { declaredKinds } from "../distribution/table-kinds.ts";
import type { Queryable } from "./database.ts";
import { statement } from "./statement.ts";

let database: TestDatabase;
let migrations: MigrationFile[];

beforeAll(async () => {
  database = await createTestDatabase();
  migrations = await readMigrationFiles();
});

afterAll(() => database.close());

async function namesFrom(db: Queryable, sql: string): Promise<string[]> {
  return (await db.query<{ name: string }>(statement("", sql))).map(({ name }) => name);
}

const allKinds = () => new Map(migrations.flatMap(({ sql }) => [...declaredKinds(sql)]));

describe("in the migrated schema", () => {
  test.each(schemaRules)("$rule", async ({ offenders }) => {
    expect(await namesFrom(database.db, offenders)).toEqual([]);
  });

  test.each(schemaRules)("a breach would be named: $rule", async ({ offenders, breach }) => {
    const undo = new Error("only tried");
    const tried = database.db.transaction(async (tx) => {
      await tx.run(breach.sql);
      expect(await namesFrom(tx, offenders)).toContain(breach.offender);
      throw undo;
    });
    await expect(tried).rejects.toBe(undo);
  });

  test("every table is declared as system or reference above its create table", async () => {
    const tables = await namesFrom(
      database.db,
      `select relname as name from pg_class where relnamespace = current_schema()::regnamespace
       and relkind in ('r', 'p') and not relispartition and relname <> 'migrations'`,
    );
    const declared = allKinds();
    expect(tables.filter((table) => !declared.has(table))).toEqual([]);
  });

  test("a table whose comment does not begin with its kind counts as undeclared", () => {
    const sql = "-- A reference. Nearly.\ncreate table a (\n-- system. Too far.\n\ncreate table b (";
    expect(declaredKinds(sql)).toEqual(new Map());
    expect(declaredKinds(`${sql}\n-- reference. So.\n-- And more.\ncreate table c (`)).toEqual(
      new Map([["c", "reference"]]),
    );
  });

  test("no foreign key leads from a reference table to a system table", async () => {
    const keys = await database.db.query<{ source: string; target: string }>(
      statement(
        "",
        `select conrelid::regclass::text as source, confrelid::regclass::text as target from pg_constraint
         where connamespace = current_schema()::regnamespace and contype = 'f'`,
      ),
    );
    const kinds = allKinds();
    expect(keys.length).toBeGreaterThan(0);
    expect(
      keys.filter(({ source, target }) => kinds.get(source) === "reference" && kinds.get(target) !== "reference"),
    ).toEqual([]);
  });
});

describe("the migration files", () => {
  const aloneForeignKey =
    /^alter table \w+ add (?:constraint \w+ )?foreign key \([^)]*\) references \w+ \([^)]*\)(?: (?:on|match|deferrable|initially|not valid)[ \w]*)?$/;
  const withForeignKey = (sql: string) =>
    statementsOf(sql).filter((text) => /\breferences\b|\bforeign key\b/.test(text));

  test("are numbered from 0001 without a gap", () => {
    expect(migrations.map(({ name }) => /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1])).toEqual(
      migrations.map((_, index) => String(index + 1).padStart(4, "0")),
    );
  });

  test("add each foreign key in an alter table of its own", () => {
    const keys = migrations.flatMap(({ sql }) => withForeignKey(sql));
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((text) => !aloneForeignKey.test(text))).toEqual([]);
  });

  test.each([
    "create table a (id text references b (id));",
    "create table a (id text, foreign key (id) references b (id));",
    "alter table a add column id text references b (id);",
    "alter table a add foreign key (x) references b (x), add foreign key (y) references b (y);",
  ])("would be refused with %j", (sql) => {
    expect(withForeignKey(sql).every((text) => aloneForeignKey.test(text))).toBe(false);
  });
});

// A distributed database reports the names of a shard instead of those of the table.
test("no source decides on the constraint or table that an error names", async () => {
  const root = join(import.meta.dirname, "../..");
  const readsName = /\.constraint\b|\b(?:error|cause|failure)\??\.table\b|"(?:constraint|table)" in /;
  const files = (await readdir(root, { recursive: true })).filter((name) => /(?<!\.test)\.ts$/.test(name));
  const texts = await Promise.all(
    files.map(async (name) => ({ name, text: await readFile(join(root, name), "utf8") })),
  );
  expect(files.some((name) => name.endsWith("queries.ts"))).toBe(true);
  expect(texts.filter(({ text }) => readsName.test(text)).map(({ name }) => name)).toEqual([]);
});

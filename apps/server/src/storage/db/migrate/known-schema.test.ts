import { afterEach, beforeEach, expect, test } from "vitest";
import { createEmptyDatabase } from "../../../../test/database.ts";
import { laterProgram } from "../../../../test/migrations.ts";
import { readVersion } from "../../../version.ts";
import type { Database } from "../database.ts";
import { statement } from "../statement.ts";
import { BASE } from "./known-schema.ts";
import { isMigrated, migrate } from "./migrate.ts";
import { planMigrations } from "./plan.ts";
import type { Program } from "./program.ts";

let db: Database;
let close: () => Promise<void>;
let program: Program;
beforeEach(async () => {
  ({ db, close } = await createEmptyDatabase());
  program = await laterProgram(
    "99.0.0",
    `-- oldest program: ${readVersion()}\nalter table bikes add column added boolean;`,
  );
});
afterEach(() => close());

const run = (sql: string) => db.query<{ name: string }>(statement("", sql));
const tables = async () =>
  (await run("select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'")).map(
    ({ name }) => name,
  );

/** Asserts that each way to open the database reports the same error and changes nothing. */
async function expectRefused(why: string): Promise<void> {
  const before = await tables();
  const ways = [isMigrated(db, program), migrate(db, { program }), planMigrations(db, program)];
  for (const outcome of await Promise.allSettled(ways)) {
    expect(outcome).toHaveProperty(
      "reason.message",
      expect.stringContaining(
        `This program does not know the schema of the database: ${why}. Nothing was changed. Go on with`,
      ),
    );
  }
  expect(await tables()).toEqual(before);
}

test("the tables that the migrations of 0.1.0 make are brought up to date", async () => {
  await migrate(db, { last: BASE });
  expect(await isMigrated(db, program)).toBe(false);
  expect(await migrate(db, { program })).toContain(program.migrations.at(-1)?.name);
});

test("tables that a version before 0.1.0 made under the same numbers are refused", async () => {
  await migrate(db, { last: BASE });
  await run("alter table rides rename column source to imported_from");
  await expectRefused("a version of this program before 0.1.0 made its tables");
});

test.each([
  "create table migrations (number integer primary key, name text not null, applied_at timestamptz)",
  "create table migrations (id serial, migration varchar, batch integer)",
])("a book of migrations of another form is refused: %s", async (book) => {
  await run(book);
  await expectRefused("its table `migrations` is of another program, or of a version of this one before 0.1.0");
});

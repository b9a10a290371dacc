import { createTestClock, createTestIds } from "@bikeshare/test-kit";
import { expect, it } from "vitest";
import { createPartner } from "../src/partners/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { createTestDatabase, createUnusedDatabase, type TestDatabase } from "./database.ts";

const run = ({ db }: Pick<TestDatabase, "db">, text: string) => db.query<Record<string, unknown>>(statement("", text));

/** Reads the rows of every table. */
const rowsOf = (database: TestDatabase) =>
  run(
    database,
    `select c.oid::regclass::text as name, query_to_xml(format('select * from %s', c.oid::regclass), true, false, '')::text as rows
     from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
  );

it("a database that a test has given back has every row of an unused one, and no other, for the next test", async () => {
  const unused = await createUnusedDatabase();
  const before = await rowsOf(unused);
  await unused.close();
  const database = await createTestDatabase();
  const { db, systemId } = database;
  await createPartner({ db, clock: createTestClock(), ids: createTestIds(), actor: "test" }, systemId, "Another");
  await run(database, "update systems set name = 'Renamed'");
  await database.close();
  await expect(run(database, "select 1")).rejects.toThrow("the test is over");
  const next = await createTestDatabase();
  expect(next.db.connectionString).toBe(db.connectionString);
  expect(await rowsOf(next)).toEqual(before);
  await next.close();
});

it.each([
  "create table more (id int)",
  "alter table partners add column more text",
  "alter table partners alter column name set default 'x'",
  "create function more() returns int language sql as 'select 1'",
  "drop schema public cascade",
  "insert into placed_systems select 'more-' || n from generate_series(1, 20000) n; analyze placed_systems",
])("after `%s` no other test gets the database", async (text) => {
  const database = await createTestDatabase();
  for (const each of text.split("; ")) await run(database, each);
  await database.close();
  const next = await createTestDatabase();
  expect(next.db.connectionString).not.toBe(database.db.connectionString);
  await next.close();
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/database.ts";
import { laterProgram } from "../../../../test/migrations.ts";
import { statement } from "../statement.ts";
import { migrate } from "./migrate.ts";
import { planMigrations } from "./plan.ts";
import { readProgram } from "./program.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const insert = `insert into rides (system_id, id, bike_id, status, started_at, ended_at, updated_at, source)
    select 'main', 'ride-' || n, 'bike', 'completed', now(), now(), now(), 'test' from generate_series(1, 3000) as n`;
  await database.db.query(statement("", insert));
  await database.db.query(statement("", "vacuum (analyze) rides"));
});
afterAll(() => database.close());

test("nothing is planned for a schema that is up to date", async () => {
  expect(await planMigrations(database.db)).toEqual([]);
});

test("each statement that is pending is listed with its locks, its work, and the size of the table; nothing is changed", async () => {
  const { db } = database;
  const program = await laterProgram(
    "99.0.0",
    `alter table rides add column price integer check (price > 0), add column note text;
     create table fares (system_id text);
     create index on_fares on fares (system_id);
     drop index rides_updated_at;
     cluster rides`,
    `-- step: backfill rides
     update rides set price = 0 where :batch;
     -- step: autocommit
     create index concurrently rides_price on rides (system_id, price);`,
  );
  const [first, second] = program.migrations.slice(-2).map(({ name }) => name);
  const rides = { table: "rides", bytes: expect.any(Number) as number, rows: 3000 };
  const planned = { step: 1, kind: "transaction", work: "none", locks: [], estimated_seconds: 0 };
  const before = await db.query(statement("", "select count(*) from pg_attribute"));
  const plan = await planMigrations(db, program);
  const exclusive = [{ ...rides, lock: "access exclusive", blocks: "reads and writes" }];
  expect(plan).toEqual([
    {
      ...planned,
      migration: first,
      statement: "alter table rides add column price integer check (price > 0), add column note text",
      locks: exclusive,
      work: "scan",
      estimated_seconds: 1,
    },
    { ...planned, migration: first, statement: "create table fares (system_id text)" },
    { ...planned, migration: first, statement: "create index on_fares on fares (system_id)" },
    { ...planned, migration: first, statement: "drop index rides_updated_at", locks: exclusive },
    { ...planned, migration: first, statement: "cluster rides", work: "unknown", estimated_seconds: null },
    {
      ...planned,
      migration: second,
      kind: "backfill",
      statement: "update rides set price = 0 where :batch",
      locks: [{ ...rides, lock: "row exclusive", blocks: "nothing" }],
      work: "rows",
      estimated_seconds: 1,
    },
    {
      ...planned,
      migration: second,
      step: 2,
      kind: "autocommit",
      statement: "create index concurrently rides_price on rides (system_id, price)",
      locks: [{ ...rides, lock: "share update exclusive", blocks: "nothing" }],
      work: "index build",
      estimated_seconds: 1,
    },
  ]);
  expect(plan[0]?.locks[0]?.bytes).toBeGreaterThan(1_000_000);
  expect(await db.query(statement("", "select count(*) from pg_attribute"))).toEqual(before);
});

test("of a migration that was begun, what is left is planned", async () => {
  const { db } = database;
  const program = await laterProgram(
    "99.0.0",
    `-- step: transaction
     alter table bikes add column x text;
     -- step: transaction
     alter table nothing_of_that_name add column x text;`,
  );
  await expect(migrate(db, { program })).rejects.toThrow("step 2 of 2 failed");
  expect(await planMigrations(db, program)).toMatchObject([
    { step: 2, statement: expect.stringContaining("nothing_of") as string },
  ]);
});

test("without a record of migrations all are planned, and each statement of them is known", async () => {
  const { db } = database;
  await db.query(statement("", "drop table migrations"));
  const plan = await planMigrations(db);
  const { migrations } = await readProgram();
  expect([...new Set(plan.map(({ migration }) => migration))]).toEqual(migrations.map(({ name }) => name));
  expect(plan.filter(({ work }) => work === "unknown")).toEqual([]);
});

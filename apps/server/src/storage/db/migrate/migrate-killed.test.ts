import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/database.ts";
import { laterProgram } from "../../../../test/migrations.ts";
import { until } from "../../../../test/until.ts";
import { createSystem } from "../../../city/systems/service.ts";
import { statement } from "../statement.ts";
import { migrate } from "./migrate.ts";
import type { Program } from "./program.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());

const BATCH_ROWS = 10;

/** Migrates in a separate process, which can be killed. */
function startMigrating(program: Program): ChildProcess {
  const code = `
    const { migrate } = await import(${JSON.stringify(join(import.meta.dirname, "migrate.ts"))});
    const program = JSON.parse(process.env.PROGRAM);
    await migrate({ connectionString: process.env.DATABASE_URL }, { program, batchRows: ${BATCH_ROWS} });`;
  return spawn(process.execPath, ["--conditions=@bikeshare/source", "--input-type=module", "--eval", code], {
    env: { ...process.env, PROGRAM: JSON.stringify(program), DATABASE_URL: database.db.connectionString },
    stdio: "ignore",
  });
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.signalCode === null && child.exitCode === null) await once(child, "exit");
}

const find = async <Row>(sql: string) => (await database.db.query<Row>(statement("", sql)))[0];

test("a migration that is killed during a backfill and again while it builds an index goes on, and does nothing twice", async () => {
  const { db } = database;
  await createSystem(db, "second", "Another city", 0);
  await find(`insert into rides (system_id, id, bike_id, status, started_at, ended_at, distance_meters, updated_at, source)
    select system_id, 'ride-' || n, 'bike', 'completed', now(), now(), 0, now(), 'test'
    from systems, generate_series(10, 54) as n`);
  const program = await laterProgram(
    "99.0.0",
    `-- step: transaction
    alter table bikes add column added text;
    -- step: backfill rides
    update rides set distance_meters = distance_meters + 1 where :batch;
    -- step: autocommit
    create index concurrently rides_added on rides (system_id, distance_meters);`,
  );

  // The third batch of the second system waits for this row.
  const holding = Promise.withResolvers<void>();
  const held = db.transaction(async (tx) => {
    await tx.run("select 1 from rides where system_id = 'second' and id = 'ride-35' for update");
    await holding.promise;
  });
  const first = startMigrating(program);
  await until(
    async () =>
      (await find<{ at: string }>("select position::text as at from migrations where applied_at is null"))?.at ===
      "{second,ride-29}",
  );
  await kill(first);
  holding.resolve();
  await held;

  // Building the index waits for this transaction, which sees the older state.
  const snapshot = Promise.withResolvers<void>();
  const seen = db.transaction(async (tx) => {
    await tx.run("set transaction isolation level repeatable read; select 1 from systems");
    await snapshot.promise;
  });
  const second = startMigrating(program);
  const invalid = "select 1 from pg_index where indexrelid = to_regclass('rides_added') and not indisvalid";
  await until(async () => (await find(invalid)) !== undefined);
  await kill(second);
  // PostgreSQL notices by itself that the killed client is gone.
  const lock = `select 1 from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`;
  await until(async () => (await find(lock)) === undefined);
  snapshot.resolve();
  await seen;
  expect(await find(invalid)).toBeDefined();

  expect(await migrate(db, { program })).toEqual([program.migrations.at(-1)?.name]);
  expect(await find(invalid)).toBeUndefined();
  expect(await find("select count(*) as rides, min(distance_meters), max(distance_meters) from rides")).toEqual({
    rides: 90,
    min: 1,
    max: 1,
  });
  expect(await migrate(db, { program })).toEqual([]);
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { createUnusedDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import type { Database } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { careForTables } from "../db/vacuum.ts";
import { startTableCare } from "./service.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createUnusedDatabase();
  await run("alter table rides set (autovacuum_enabled = off)");
  await fill(1, 5_000);
});
afterAll(() => database.close());

const run = (text: string) => database.db.query(statement("", text));

/** Writes rides like an import that is interrupted before it vacuums the table. */
async function fill(first: number, last: number): Promise<void> {
  await database.db.transaction(async (tx) => {
    // A vacuum marks a page all-visible only once the rows' commit is flushed to disk.
    await tx.run("set local synchronous_commit = on");
    await tx.run(`
      insert into rides (system_id, id, bike_id, status, started_at, ended_at, updated_at, source)
      select 'main', 'ride-' || i, 'bike-' || i, 'completed', at, at, at, 'test'
      from (select i, timestamptz '2026-01-01Z' + i * interval '16 s' as at from generate_series(${first}, ${last}) as i) as made`);
  });
}

const facts = (table: string) => `select reltuples::int as rows,
  relallvisible >= 0.9 * pg_relation_size(oid) / current_setting('block_size')::int as "isVisible"
  from pg_class where oid = '${table}'::regclass`;
/** In a distributed database the rows are in a shard of the system. */
const factsOfShard = `select known.* from run_command_on_shards('rides', $$select row_to_json(k) from (${facts("%s")}) as k$$) as shard
  cross join json_to_record(shard.result::json) as known (rows int, "isVisible" boolean)
  where shard.shardid = get_shard_id_for_distribution_column('rides', 'main')`;

/** PostgreSQL's estimate of the number of rides, and whether an index-only scan can avoid reading rows. */
async function known(): Promise<{ rows: number; isVisible: boolean }> {
  const text = process.env["TEST_CITUS_URL"] === undefined ? facts("rides") : factsOfShard;
  return oneRow(await database.db.query<{ rows: number; isVisible: boolean }>(statement("", text)));
}

it("a service mends what PostgreSQL knows of a table that was filled and left, and then lets it rest", async () => {
  expect(await known()).toMatchObject({ rows: -1, isVisible: false });
  let now = 0;
  const errors: unknown[] = [];
  const care = startTableCare({
    db: database.db,
    monotonic: () => now,
    onError: (error) => errors.push(error),
    minPages: 20,
  });
  try {
    await until(async () => {
      now += 3_600_000;
      await care.runOnce();
      return (await known()).isVisible;
    });
    expect(await known()).toEqual({ rows: 5_000, isVisible: true });
    await fill(5_001, 9_000);
    expect(await known()).toMatchObject({ isVisible: false });
    await care.runOnce();
    expect(await known()).toMatchObject({ isVisible: false });
    await until(async () => {
      now += 3_600_000;
      await care.runOnce();
      return (await known()).isVisible;
    });
    expect(errors).toEqual([]);
  } finally {
    await care.close();
  }
});

it("rests for twenty times as long as the search took", async () => {
  let now = 0;
  let searches = 0;
  const db: Database = {
    ...database.db,
    query(named, values) {
      const isSearch = named.name.startsWith("tableCare.neglected");
      if (isSearch) {
        searches += 1;
        now += 1_000;
      }
      return isSearch ? Promise.resolve([]) : database.db.query(named, values);
    },
  };
  const care = startTableCare({ db, monotonic: () => now, onError: () => undefined });
  try {
    await until(() => Promise.resolve(searches === 1));
    now = 19_999;
    await care.runOnce();
    expect(searches).toBe(1);
    now = 20_000;
    await care.runOnce();
    expect(searches).toBe(2);
  } finally {
    await care.close();
  }
});

it("whoever cares for tables need not own them: what cannot be done is left to the service", async () => {
  await careForTables(database.db.connectionString, ["rides", "no_such_table"]);
  await careForTables(database.db.connectionString, ["rides"]);
  expect((await known()).rows).toBe(9_000);
});

it("ends at once, also where its first attempt to cancel a vacuum comes before PostgreSQL begins it", async () => {
  await run(
    `do $$ begin execute format('alter database %I set vacuum_cost_limit = 1', current_database());
     execute format('alter database %I set vacuum_cost_delay = 100', current_database()); end $$`,
  );
  await fill(9_001, 14_000);
  let cancels = 0;
  const db: Database = {
    ...database.db,
    query(named, values) {
      const isLost = named.name === "tableCare.cancel" && ++cancels === 1;
      return isLost ? Promise.resolve([]) : database.db.query(named, values);
    },
  };
  const care = startTableCare({ db, monotonic: () => 0, onError: () => undefined, minPages: 20 });
  const vacuums = statement(
    "",
    "select pid from pg_stat_activity where datname = current_database() and state = 'active' and query like 'vacuum (%'",
  );
  await until(async () => (await database.db.query(vacuums)).length > 0);
  await care.close();
  expect(cancels).toBeGreaterThan(1);
  expect(await known()).toMatchObject({ isVisible: false });
});

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/database.ts";
import { laterProgram } from "../../../../test/migrations.ts";
import { until } from "../../../../test/until.ts";
import { readVersion } from "../../../version.ts";
import type { Database } from "../database.ts";
import { statement } from "../statement.ts";
import { isMigrated, migrate } from "./migrate.ts";

let database: TestDatabase;
let db: Database;

beforeEach(async () => {
  database = await createTestDatabase();
  ({ db } = database);
});
afterEach(() => database.close());

const compatible = `-- oldest program: ${readVersion()}\n`;
const addColumn = `${compatible}alter table bikes add column is_electric boolean;`;
const names = async (sql: string) => (await db.query<{ name: string }>(statement("", sql))).map(({ name }) => name);
const addedColumns = () =>
  names("select attname as name from pg_attribute where attrelid = 'bikes'::regclass and attname = 'is_electric'");

/** Holds the locks of a statement until `release` is called. */
async function hold(sql: string, holder = db) {
  const released = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const ended = holder.transaction(async (tx) => {
    await tx.run(sql);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return {
    release: () => {
      released.resolve();
      return ended;
    },
  };
}

test("migrating again, also several at once, applies nothing and fails nowhere", async () => {
  expect(await Promise.all([migrate(db), migrate(db), migrate(db)])).toEqual([[], [], []]);
});

test("several that start at once apply each migration once", async () => {
  const program = await laterProgram("99.0.0", addColumn);
  const applied = await Promise.all([1, 2, 3].map(() => migrate(db, { program })));
  expect(applied.flat()).toEqual([program.migrations.at(-1)?.name]);
  expect(await addedColumns()).toEqual(["is_electric"]);
});

describe("while somebody holds a lock that a migration needs", () => {
  test("others go on reading and writing, and the migration is applied afterwards", async () => {
    const program = await laterProgram("99.0.0", addColumn);
    const { release } = await hold("select count(*) from bikes");
    const reported: string[] = [];
    const migrating = migrate(db, { program, report: (message) => void reported.push(message) });
    await until(() => reported.length > 0);
    // Each attempt of the migration makes these requests wait for at most 0.2 s, and is followed by a pause.
    for (let n = 0; n < 20; n++) {
      await db.query(statement("", "select count(*) from bikes"));
      await db.query(statement("", "update bikes set number = number"));
    }
    expect(await addedColumns()).toEqual([]);
    expect(reported[0]).toMatch(
      /waits for a lock: process \d+ of PostgreSQL \(bikeshare, idle in transaction, .*select/,
    );
    await release();
    expect(await migrating).toEqual([program.migrations.at(-1)?.name]);
  });

  test("a migration that never gets it gives up with nothing changed, says who holds it, and can be run again", async () => {
    const program = await laterProgram("99.0.0", `${addColumn}\nalter table rides add column x integer;`);
    const { release } = await hold("select count(*) from rides");
    // Another database from the same template has tables with the same object ids.
    const other = await createTestDatabase();
    const elsewhere = await hold("select count(*) as elsewhere from rides", other.db);
    const failure: unknown = await migrate(db, { program, lockAttempts: 2, lockTimeoutMs: 20 }).catch(
      (error: unknown) => error,
    );
    const { message, cause } = failure as Error;
    expect(message).toMatch(/_added.sql failed. .* Remove the cause and run `bikeshare migrate`/);
    expect(String(cause)).toContain("select count(*) from rides");
    expect(String(cause)).not.toContain("elsewhere");
    await elsewhere.release();
    await other.close();
    expect(await addedColumns()).toEqual([]);
    await release();
    expect(await migrate(db, { program })).toHaveLength(1);
  });
});

test("while a newer version migrates, this version starts, and another of the newer waits until it has finished", async () => {
  const concurrently = `${compatible}-- step: autocommit\ncreate index concurrently added on bikes (system_id, number);`;
  const program = await laterProgram("99.0.0", concurrently);
  // Building an index waits for every transaction that may still see an older state.
  const { release } = await hold("set transaction isolation level repeatable read; select 1 from systems");
  const first = migrate(db, { program });
  await until(async () => (await names("select relname as name from pg_class where relname = 'added'")).length > 0);
  const reported = Promise.withResolvers<string>();
  const second = migrate(db, { program, report: reported.resolve });
  expect(await reported.promise).toBe("waits for another process that migrates");
  expect([await isMigrated(db), await migrate(db)]).toEqual([true, []]);
  await release();
  expect([await first, await second]).toEqual([[program.migrations.at(-1)?.name], []]);
});

describe("a schema that is newer than the program", () => {
  test("is worked on when each newer migration names the program's version or an older one", async () => {
    await migrate(db, { program: await laterProgram("99.0.0", addColumn) });
    expect([await isMigrated(db), await migrate(db)]).toEqual([true, []]);
  });

  test.each(["alter table bikes add column x integer;", `-- oldest program: 99.0.0\n${addColumn}`])(
    "is refused otherwise, with what to do",
    async (sql) => {
      await migrate(db, { program: await laterProgram("99.0.0", sql) });
      expect(await isMigrated(db)).toBe(false);
      await expect(migrate(db)).rejects.toThrow(/needs .* of the program; this is .*\. Start a newer one/);
    },
  );
});

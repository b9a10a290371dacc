import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { recordEvents } from "../../events/outbox.ts";
import type { Ids } from "../../ids.ts";
import { openDatabase } from "../db/database.ts";
import { codeOf } from "../db/errors.ts";
import { statement } from "../db/statement.ts";
import { isOfUnits, isOfValues } from "../set-aside/units.ts";
import { insertPartition, listPartitions, lockDefault } from "./partition-queries.ts";
import { addDays, type DailyTable, dailyTables, dayOf, defaultOf, partitionOf } from "./partition.rules.ts";
import { createPartitionsBesideDefault, dropPastDays, emptyDefault, startPartitionKeeper } from "./service.ts";

const DAY = 24 * 3_600_000;
const tables = dailyTables.filter(({ name }) => name.startsWith("webhook_"));
const [deliveries] = tables.filter(({ name }) => name === "webhook_deliveries");
if (deliveries === undefined) throw new Error("there is no table of deliveries");

let testDb: TestDatabase;
let clock: TestClock;
let ids: Ids;
let today: string;
let warned: unknown[];

beforeEach(async () => {
  testDb = await createTestDatabase();
  clock = createTestClock();
  ids = createTestIds();
  today = dayOf(clock());
  warned = [];
  await run(`insert into partners values ('main', 'p', 'P', now())`);
  await run(`insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, created_at, updated_at)
    values ('main', 'e', 'p', 'aaaaaa', 'https://p.example', '{ride.started}', 'active', now(), now())`);
});
afterEach(() => testDb.close());

const run = (text: string) => testDb.db.transaction((tx) => tx.run(text));
const context = () => ({
  db: testDb.db,
  clock,
  warn: (detail: object, message: string) => void warned.push({ ...detail, message }),
});

/** Records the start of a ride, which makes one delivery, and an attempt of the delivery. */
async function rideStarts(): Promise<void> {
  const now = new Date(clock());
  await testDb.db.transaction((tx) =>
    recordEvents(tx, { ids, systemId: testDb.systemId, now }, [
      { name: "ride.started", occurredAt: now, partnerId: null, data: "{}" },
    ]),
  );
  await run(`insert into webhook_attempts (system_id, started_on, delivery_id, number, endpoint_id, started_at, outcome, url)
    select system_id, created_on, id, 1, endpoint_id, created_at, 'failed', 'u' from webhook_deliveries
    on conflict do nothing`);
}

/** Counts the rows of a table or a partition. */
async function count(table: string): Promise<number> {
  const [row] = await testDb.db.query<{ n: number }>(statement("", `select count(*) as n from ${table}`));
  return row?.n ?? 0;
}

async function makeAll(): Promise<string[]> {
  const stay = await Promise.all(
    tables.map((table) => createPartitionsBesideDefault(testDb.db, table, dayOf(clock()))),
  );
  return stay.flat();
}

/** Creates the partitions of the days. Tries again, because on a busy machine an attempt may leave one to the next call. */
async function makeSurely(days = [dayOf(clock()), addDays(dayOf(clock()), 1)]): Promise<void> {
  await until(async () => {
    await makeAll();
    const made = (await Promise.all(tables.map((table) => listPartitions(testDb.db, table)))).flat();
    return tables.every((table) => days.every((day) => made.includes(partitionOf(table, day))));
  });
}

describe("partitions of webhooks' tables", () => {
  it("are made for today and tomorrow, with every index and check of their table, by however many at once", async () => {
    await Promise.all(Array.from({ length: 8 }, makeAll));
    // A caller that did not get the lock in time left the work to the others.
    await makeSurely();
    for (const table of tables) {
      expect(await listPartitions(testDb.db, table)).toEqual([
        partitionOf(table, today),
        partitionOf(table, addDays(today, 1)),
        defaultOf(table),
      ]);
      const parts = await testDb.db.query<{ indexes: number; checks: number }>(
        statement(
          "",
          `select (select count(*) from pg_index where indrelid = inhrelid) as indexes,
             (select count(*) from pg_constraint where conrelid = inhrelid and contype = 'c') as checks
           from pg_inherits where inhparent = '${table.name}'::regclass`,
        ),
      );
      expect(new Set(parts.map((part) => JSON.stringify(part))).size, table.name).toBe(1);
    }
  });

  it("take what happens on their day; a day that has none goes into the default, and fails nobody", async () => {
    await rideStarts();
    for (const table of tables) expect(await count(defaultOf(table))).toBe(1);
    clock.advance(DAY);
    await makeSurely();
    await rideStarts();
    for (const table of tables) {
      expect(await count(defaultOf(table))).toBe(1);
      expect(await count(partitionOf(table, addDays(today, 1)))).toBe(1);
    }
  });

  it("are not made for a day of which the default has rows: it stays there, and this is told once", async () => {
    await rideStarts();
    expect(await makeAll()).toEqual(tables.map(() => today));
    await makeSurely([addDays(today, 1)]);
    const keeper = startPartitionKeeper({ ...context(), onError: fail });
    await keeper.runOnce();
    await keeper.runOnce();
    await keeper.close();
    expect(warned).toEqual(
      tables.map(({ name }) => ({
        table: name,
        day: today,
        message: "the day stays in the default partition, which has rows of it",
      })),
    );
    await rideStarts();
    for (const table of tables) {
      expect(await listPartitions(testDb.db, table)).toEqual([partitionOf(table, addDays(today, 1)), defaultOf(table)]);
      expect(await count(defaultOf(table))).toBe(2);
    }
  });

  it("all stay when the clock jumps ahead by years, and those that are past go when it has been so for a day", async () => {
    const partitionsOfAll = async () =>
      (await Promise.all(tables.map((table) => listPartitions(testDb.db, table)))).flat().toSorted();
    await makeSurely();
    await rideStarts();
    const kept = await partitionsOfAll();
    clock.advance(400 * DAY);
    const keeper = startPartitionKeeper({ ...context(), onError: fail });
    await keeper.runOnce();
    await keeper.runOnce();
    expect(await partitionsOfAll()).toEqual(expect.arrayContaining(kept));
    const message = expect.stringContaining("the clock may have jumped") as string;
    for (const { name } of tables)
      expect(warned.filter((each) => (each as { table: string }).table === name)).toEqual([
        { table: name, day: dayOf(clock()), message },
      ]);
    clock.advance(DAY);
    await keeper.runOnce();
    await keeper.close();
    expect((await partitionsOfAll()).filter((name) => kept.includes(name))).toEqual(tables.map(defaultOf).toSorted());
  });

  it("are made while rides write theirs, which do not wait", async () => {
    const patient = openDatabase({
      connectionString: testDb.db.connectionString,
      maxConnections: 1,
      statementTimeoutMs: 2_000,
    });
    await makeSurely();
    clock.advance(DAY);
    await testDb.db.transaction(async (tx) => {
      recordEvents(tx, { ids, systemId: "main", now: new Date(clock()) }, [
        { name: "ride.started", occurredAt: new Date(clock()), partnerId: null, data: "{}" },
      ]);
      for (const table of tables) {
        await until(async () => {
          await createPartitionsBesideDefault(patient, table, dayOf(clock()));
          return (await listPartitions(patient, table)).includes(partitionOf(table, addDays(today, 2)));
        });
      }
    });
    await patient.close();
  });

  it("are made while rows are on their way to the default: those go to their day", async () => {
    for (const table of tables) {
      await makeUnderWay(table);
      expect([await count(partitionOf(table, today)), await count(defaultOf(table))]).toEqual([2, 0]);
    }
  });

  it("that a row met on its way do not let it count as one that cannot be stored", async () => {
    for (const table of tables) {
      const failures = await makeUnderWay(table);
      expect(failures.map((error) => [codeOf(error), isOfValues(error), isOfUnits(error)])).toEqual([
        ["23514", false, false],
      ]);
    }
  });

  it("are left for the next time while somebody uses the default", async () => {
    await testDb.db.transaction(async (tx) => {
      for (const table of tables) await tx.run(`select count(*) from ${table.name}`);
      expect(await makeAll()).toEqual([]);
    });
    for (const table of tables) expect(await listPartitions(testDb.db, table)).toEqual([defaultOf(table)]);
    await makeSurely();
    for (const table of tables) expect(await listPartitions(testDb.db, table)).toHaveLength(3);
  });
});

/**
 * Makes today's partition while two inserts of today wait for the default partition, one of them in a transaction.
 * @returns the errors of that transaction's insert before the transaction was run again
 */
async function makeUnderWay(table: DailyTable): Promise<unknown[]> {
  const failures: unknown[] = [];
  const insert = statement(`test.insert.${table.name}`, insertRow[table.name] ?? "");
  const inTransaction = (id: string) =>
    testDb.db.transaction(async (tx) => {
      await tx.query(insert, [today, id]).catch((error: unknown) => {
        failures.push(error);
        throw error;
      });
    });
  const writing = await testDb.db.transaction(async (tx) => {
    await lockDefault(tx, table);
    const rows = [inTransaction("a"), testDb.db.query(insert, [today, "b"])];
    await until(async () => (await countWaiting()) === rows.length);
    await insertPartition(tx, table, today);
    return { rows };
  });
  await Promise.all(writing.rows);
  return failures;
}

describe("days that are past", () => {
  const dropAll = async () => {
    for (const table of tables) await dropPastDays(context(), table);
  };
  const emptyAll = async () => {
    for (const table of tables) await emptyDefault(context(), table);
  };

  it("go whole when they are older than 30 days, not a day before, and with them what was never sent", async () => {
    await makeSurely();
    await rideStarts();
    await run(`insert into webhook_replay_items select system_id, 'r', created_on, id from webhook_deliveries`);
    clock.advance(30 * DAY);
    await makeSurely();
    await rideStarts();
    await dropAll();
    for (const table of tables) expect(await count(table.name)).toBe(2);
    clock.advance(DAY);
    await dropAll();
    for (const table of tables) {
      expect(await count(table.name)).toBe(1);
      expect(await listPartitions(testDb.db, table)).not.toContain(partitionOf(table, today));
    }
    expect(await count("webhook_queue")).toBe(1);
    expect(await count("webhook_replay_items")).toBe(0);
    expect(warned).toEqual(
      ["deliveries that were never sent", "deliveries that a replay had not reached"].map((loss) => ({
        systemId: "main",
        table: "webhook_deliveries",
        day: today,
        n: 1,
        message: `the day is past, and with it ${loss}`,
      })),
    );
  });

  it("that are in use are left for the next time", async () => {
    await makeSurely();
    await rideStarts();
    clock.advance(31 * DAY);
    await testDb.db.transaction(async (tx) => {
      for (const table of tables) await tx.run(`select count(*) from ${table.name}`);
      await dropAll();
    });
    for (const table of tables) expect(await count(table.name)).toBe(1);
    await dropAll();
    for (const table of tables) expect(await count(table.name)).toBe(0);
  });

  it("take along a delivery that was queued again while the day was being dropped", async () => {
    await makeSurely();
    await rideStarts();
    clock.advance(31 * DAY);
    // Queues the delivery while the drop waits for its lock, and commits before the drop gives up.
    const again = testDb.db.transaction(async (tx) => {
      await tx.run("delete from webhook_queue");
      await tx.run("update webhook_deliveries set attempts = attempts");
      let hasGivenUp = false;
      const dropping = dropPastDays(context(), deliveries).finally(() => (hasGivenUp = true));
      await until(async () => hasGivenUp || (await countWaiting()) > 0);
      await tx.run(`insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
        select system_id, id, endpoint_id, created_on, event_id, created_at from webhook_deliveries`);
      return { dropping };
    });
    await (
      await again
    ).dropping;
    // On a slow machine the first run may have given up; the next run drops the day.
    await dropPastDays(context(), deliveries);
    expect(await count("webhook_deliveries")).toBe(0);
    expect(await count("webhook_queue")).toBe(0);
  });

  it("go from the default too, in batches, and leave younger ones there", async () => {
    await run(`insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status)
      select 'main', '${today}', 'old' || n, 'e', 'x', 'ride.started', now(), 'pending' from generate_series(1, 2500) n`);
    await run(`insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
      select system_id, id, endpoint_id, created_on, event_id, created_at from webhook_deliveries`);
    clock.advance(30 * DAY);
    await rideStarts();
    await emptyAll();
    expect(await count("webhook_deliveries_default")).toBe(2501);
    clock.advance(DAY);
    await emptyAll();
    expect(await count("webhook_deliveries_default")).toBe(1);
    expect(await count("webhook_queue")).toBe(1);
    expect(warned).toEqual([expect.objectContaining({ day: today, n: 2500 })]);
  });

  it("in the default do not keep a look from ending while somebody holds their rows", async () => {
    await rideStarts();
    clock.advance(31 * DAY);
    await testDb.db.transaction(async (tx) => {
      await tx.run("select * from webhook_deliveries for update");
      await emptyAll();
    });
    expect(await count("webhook_deliveries")).toBe(1);
    await emptyAll();
    expect(await count("webhook_deliveries")).toBe(0);
  });
});

/** For each table, SQL that inserts a row with the day $1 and the id $2. */
const insertRow: Readonly<Record<string, string>> = {
  webhook_deliveries: `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status)
    values ('main', $1, $2, 'e', 'x', 'ride.started', now(), 'pending')`,
  webhook_bodies: "insert into webhook_bodies values ('main', $1, $2, 'ride.started', now(), '{}')",
  webhook_attempts: `insert into webhook_attempts (system_id, started_on, delivery_id, number, endpoint_id, started_at, outcome, url)
    values ('main', $1, $2, 1, 'e', now(), 'failed', 'u')`,
};

/** How many sessions wait for a lock. */
async function countWaiting(): Promise<number> {
  const waiting = statement(
    "",
    "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return (await testDb.db.query<{ n: number }>(waiting))[0]?.n ?? 0;
}

function fail(error: unknown): never {
  throw error;
}

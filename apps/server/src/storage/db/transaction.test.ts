import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { openDatabase } from "./database.ts";
import { CommitOutcomeUnknown, TransactionConflict } from "./errors.ts";
import { createNotifier } from "./notifier.ts";
import { statement } from "./statement.ts";
import { inTransaction } from "./transaction.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.db.transaction((tx) => tx.run("create table sent (n integer primary key)"));
});
afterAll(() => database.close());
beforeEach(() => database.db.transaction((tx) => tx.run("delete from sent")));

const insert = statement("test.insertSent", "insert into sent values ($1)");
const rows = async () =>
  (await database.db.query<{ n: number }>(statement("test.listSent", "select n from sent order by n"))).map(
    ({ n }) => n,
  );

describe("a statement that is sent", () => {
  test("takes effect in its order, with those whose rows are read", async () => {
    const seen = await database.db.transaction(async (tx) => {
      tx.send(insert, [1]);
      tx.send(insert, [2]);
      return tx.query(statement("test.countSent", "select count(*) as n from sent"));
    });
    expect([seen, await rows()]).toEqual([[{ n: 2 }], [1, 2]]);
  });

  test("and fails, fails the transaction, whatever comes after it", async () => {
    const last = database.db.transaction((tx) => {
      tx.send(insert, [1]);
      tx.send(insert, [1]);
    });
    await expect(last).rejects.toMatchObject({ code: "23505" });
    const before = database.db.transaction(async (tx) => {
      tx.send(insert, [1]);
      tx.send(insert, [1]);
      await tx.query(insert, [2]);
    });
    // The error is not the one of the next statement, that the transaction has failed.
    await expect(before).rejects.toMatchObject({ code: "23505" });
    expect(await rows()).toEqual([]);
    // The connection can still be used.
    await database.db.transaction((tx) => tx.send(insert, [3]));
    expect(await rows()).toEqual([3]);
  });
});

test("a transaction with a lock timeout waits for a lock that long, and others as long as it takes", async () => {
  const lockTimeout = statement("test.lockTimeout", "select current_setting('lock_timeout') as lock_timeout");
  const read = (options?: { lockTimeoutMs: number }) => database.db.transaction((tx) => tx.query(lockTimeout), options);
  expect(await read({ lockTimeoutMs: 70 })).toEqual([{ lock_timeout: "70ms" }]);
  expect(await read()).toEqual([{ lock_timeout: "0" }]);
});

test("a transaction without a time limit for statements has none in the driver either, and the next one has it again", async () => {
  const { connectionString } = database.db;
  const pool = new pg.Pool({ connectionString, statement_timeout: 400, query_timeout: 500, pipeline: true, max: 1 });
  const context = { pool, notifier: createNotifier(() => Promise.resolve([])), observer: undefined };
  const slow = statement("test.slow", "select 1 as n from pg_sleep(0.7)");
  try {
    const patient = inTransaction(context, async (tx) => {
      await tx.liftStatementTimeout();
      return tx.query(slow);
    });
    expect(await patient).toEqual([{ n: 1 }]);
    await expect(inTransaction(context, (tx) => tx.query(slow))).rejects.toMatchObject({ code: "57014" });
    // Only the driver's limit is left.
    const impatient = inTransaction(context, async (tx) => {
      await tx.run("set local statement_timeout = 0");
      return tx.query(slow);
    });
    await expect(impatient).rejects.toThrow("Query read timeout");
  } finally {
    await pool.end();
  }
});

test("a commit that takes too long counts as one of which nobody knows whether it took place: it may, later", async () => {
  const { db } = database;
  // Like PostgreSQL's wait for a synchronous replica, this wait ends only by the driver's time limit.
  await db.transaction((tx) =>
    tx.run(`create function wait_for_lock() returns trigger language plpgsql as
              'begin perform pg_advisory_xact_lock(1); return null; end';
            create constraint trigger waiting after insert on sent deferrable initially deferred
              for each row execute function wait_for_lock()`),
  );
  const { connectionString } = db;
  const pool = new pg.Pool({ connectionString, query_timeout: 500, pipeline: true });
  const impatient = { pool, notifier: createNotifier(() => Promise.resolve([])), observer: undefined };
  try {
    await db.transaction(async (tx) => {
      await tx.query(statement("test.lockAll", "select pg_advisory_xact_lock(1)"));
      await expect(inTransaction(impatient, (other) => other.send(insert, [1]))).rejects.toThrow(CommitOutcomeUnknown);
    });
    await until(async () => (await rows()).length === 1);
  } finally {
    await pool.end();
    await db.transaction((tx) => tx.run("drop function wait_for_lock cascade"));
  }
});

/**
 * The notifications on a channel. Uses a plain connection instead of a listener, which would reconnect when its heartbeat is
 * late on a busy machine.
 */
async function listenTo(channel: string) {
  const client = new pg.Client({ connectionString: database.db.connectionString });
  const heard: string[] = [];
  client.on("notification", ({ payload = "" }) => void heard.push(payload));
  await client.connect();
  await client.query(`listen ${channel}`);
  return { heard, close: () => client.end() };
}

describe("a notification", () => {
  test("is sent after the commit, once for many transactions, and not after a rollback", async () => {
    const { heard, close } = await listenTo("stations");
    try {
      const rolledBack = database.db.transaction((tx) => {
        tx.notify("stations", "rolled back");
        throw new Error("rolled back");
      });
      await expect(rolledBack).rejects.toThrow("rolled back");
      let attempts = 0;
      await database.db.transaction((tx) => {
        tx.notify("stations", "repeated");
        if (attempts++ === 0) throw new TransactionConflict();
      });
      const from = performance.now();
      await Promise.all(
        Array.from({ length: 200 }, () => database.db.transaction((tx) => tx.notify("stations", "many"))),
      );
      await database.db.transaction((tx) => tx.notify("stations", "last"));
      await until(() => Promise.resolve(heard.includes("last")));
      expect(new Set(heard)).toEqual(new Set(["repeated", "many", "last"]));
      expect(heard.filter((payload) => payload === "repeated")).toHaveLength(1);
      // At most one statement in 5 ms; a timer may fire 1 ms early. How long the transactions take depends on the machine.
      const atMost = 2 + (performance.now() - from) / 4;
      expect(heard.filter((payload) => payload === "many").length).toBeLessThanOrEqual(atMost);
    } finally {
      await close();
    }
  });

  test("of the last transaction before a pool closes is sent", async () => {
    const { heard, close } = await listenTo("bikes");
    try {
      const other = openDatabase({ connectionString: database.db.connectionString });
      await other.transaction((tx) => tx.notify("bikes", "last"));
      await other.close();
      await until(() => Promise.resolve(heard.includes("last")));
    } finally {
      await close();
    }
  });
});

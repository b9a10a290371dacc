import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { startDatabaseProxy, type TcpProxy } from "../../../test/servers/database-proxy.ts";
import { until } from "../../../test/until.ts";
import { type Database, openDatabase } from "./database.ts";
import { CommitOutcomeUnknown, DatabaseUnavailable, isOutage } from "./errors.ts";
import { checkServing, createOutageGate, holdDuringOutages, type OutageGate } from "./outage-gate.ts";
import { openReadPool, type ReadPool } from "./read-pool.ts";
import { statement } from "./statement.ts";

const makeTable = statement("gate.make", "create table written (id int)");
const insertRow = statement("gate.insert", "insert into written values ($1)");
const countRows = statement("gate.count", "select count(*) as n from written");

let database: TestDatabase;
let proxy: TcpProxy;
let direct: Database;
let outages: unknown[];
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  const started = await startDatabaseProxy(database.db.connectionString);
  proxy = started;
  direct = openDatabase({ connectionString: started.connectionString, maxConnections: 2 });
  await database.db.query(makeTable);
});
beforeEach(async () => {
  outages = [];
  for (const each of open.splice(0)) await each.close();
});
afterAll(async () => {
  for (const each of [...open, direct, proxy, database]) await each.close();
});

function openGate(toleranceMs: number): OutageGate {
  const { connectionString } = direct;
  const gate = createOutageGate({ connectionString, toleranceMs, onOutage: (error) => outages.push(error) });
  open.push(gate);
  return gate;
}

function openReads(gate: OutageGate): ReadPool {
  const pool = openReadPool({ connectionString: direct.connectionString, connections: 1, outages: gate });
  open.push(pool);
  return pool;
}

test("what is asked for while the database is away waits for it, and one look at a time is taken whether it is back", async () => {
  const gate = openGate(30_000);
  const db = holdDuringOutages(direct, gate);
  const reads = openReads(gate);
  await Promise.all([db.query(countRows), reads.read(countRows, [])]);
  await proxy.cut();
  const first = reads.read(countRows, []);
  await until(() => gate.isHolding());
  const waiting = Promise.all([
    first,
    ...Array.from({ length: 20 }, () => reads.read<{ n: number }>(countRows, [])),
    ...Array.from({ length: 20 }, (_, n) => db.query(insertRow, [n])),
    ...Array.from({ length: 20 }, (_, n) => db.transaction((tx) => tx.query(insertRow, [20 + n]))),
  ]);
  await checkServing(direct, gate);
  await sleep(100);
  await proxy.mend();
  await waiting;
  expect(await db.query<{ n: number }>(countRows)).toEqual([{ n: 40 }]);
  expect(gate.isHolding()).toBe(false);
  expect(outages).toHaveLength(1);
});

test("an outage that lasts longer fails what waits, and then everything at once, until it is over", async () => {
  const gate = openGate(200);
  const db = holdDuringOutages(direct, gate);
  await proxy.cut();
  await expect(db.query(countRows)).rejects.toSatisfy(isOutage);
  const from = performance.now();
  for (let n = 0; n < 100; n++) await expect(db.query(countRows)).rejects.toSatisfy(isOutage);
  expect(performance.now() - from).toBeLessThan(5_000);
  await expect(checkServing(direct, gate)).rejects.toSatisfy(isOutage);
  await proxy.mend();
  await until(() =>
    db.query(countRows).then(
      () => true,
      () => false,
    ),
  );
});

test("a transaction runs again unless its commit was sent, a statement that writes unless it was sent", async () => {
  const gate = openGate(30_000);
  const lost = new DatabaseUnavailable("Connection terminated unexpectedly");
  const failing = (error: Error) => {
    const runs = { count: 0 };
    const fail = () => (runs.count++ === 0 ? Promise.reject(error) : Promise.resolve([] as never));
    return { runs, db: holdDuringOutages({ ...direct, query: fail, transaction: fail }, gate) };
  };
  const outcomes = async (error: Error) => {
    const { runs, db } = failing(error);
    const outcome = async (work: Promise<unknown>) => {
      const isDone = await work.then(
        () => true,
        () => false,
      );
      runs.count = 0;
      return isDone;
    };
    return [
      await outcome(db.query(countRows)),
      await outcome(db.query(insertRow, [1])),
      await outcome(db.transaction(() => undefined)),
    ];
  };
  expect(await outcomes(lost)).toEqual([true, false, true]);
  expect(await outcomes(Object.assign(new Error("starting up"), { code: "57P03" }))).toEqual([true, true, true]);
  expect(await outcomes(new CommitOutcomeUnknown("lost at commit"))).toEqual([true, false, false]);
  expect(await outcomes(new DatabaseUnavailable("Query read timeout"))).toEqual([false, false, false]);
  expect(await outcomes(Object.assign(new Error("full"), { code: "53100" }))).toEqual([false, false, false]);
});

test("a transaction that stands still is rolled back by PostgreSQL, locks nothing any more, and runs again", async () => {
  const db = holdDuringOutages(direct, openGate(30_000));
  const limit = statement("gate.limit", "select current_setting('idle_in_transaction_session_timeout') as limit");
  const locks = statement(
    "gate.locks",
    `select count(*) as n from pg_locks
     where database = (select oid from pg_database where datname = current_database())
       and relation = 'written'::regclass and pid <> pg_backend_pid()`,
  );
  expect(await db.query(limit)).toEqual([{ limit: "5s" }]);
  const before = await db.query<{ n: number }>(countRows);
  let runs = 0;
  await db.transaction(async (tx) => {
    await tx.query(insertRow, [1_000]);
    if (++runs > 1) return;
    await tx.run("set local idle_in_transaction_session_timeout = 20");
    await until(async () => (await database.db.query<{ n: number }>(locks))[0]?.n === 0);
  });
  expect(runs).toBe(2);
  expect(await db.query<{ n: number }>(countRows)).toEqual([{ n: (before[0]?.n ?? 0) + 1 }]);
});

test("a statement that breaks its connection each time is given up", async () => {
  const gate = openGate(30_000);
  let runs = 0;
  const crash = () => {
    runs++;
    return Promise.reject(new DatabaseUnavailable("Connection terminated unexpectedly"));
  };
  await expect(gate.run(crash, () => true)).rejects.toThrow("terminated");
  expect(runs).toBe(3);
});

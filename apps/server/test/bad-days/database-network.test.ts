import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabase } from "../../src/storage/db/database.ts";
import { createOutageGate, holdDuringOutages, type OutageGate } from "../../src/storage/db/outage-gate.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { buildAnother, type BuiltApp } from "../built-app.ts";
import { startDatabaseProxy } from "../servers/database-proxy.ts";
import { until } from "../until.ts";

/* Faults of the network between the service and PostgreSQL: it is slow, lets nothing pass, or forgets connections. */
let app: TestApp;
let proxy: Awaited<ReturnType<typeof startDatabaseProxy>>;
let outages: OutageGate;
let distant: BuiltApp;
let close: () => Promise<void>;
let key: string;

beforeEach(async () => {
  app = await startTestApp();
  proxy = await startDatabaseProxy(app.db.connectionString);
  outages = createOutageGate({ connectionString: proxy.connectionString });
  const db = openDatabase({ connectionString: proxy.connectionString });
  distant = await buildAnother({ ...app, db: holdDuringOutages(db, outages) }, { outages });
  key = (await app.issue()).key;
  close = async () => {
    await distant.close();
    await outages.close();
    await db.close();
  };
});
afterEach(async () => {
  proxy.delay(0);
  proxy.resume();
  await close();
  await proxy.close();
  await app.close();
});

let made = 0;
/** Sends a read or a write that no cache or memory can answer. */
const ask = async (which: "read" | "write") => {
  const n = ++made;
  const asked = performance.now();
  const response =
    which === "read"
      ? await fetch(`${distant.url}/v1/rides?limit=${(n % 200) + 1}`, { headers: { authorization: `Bearer ${key}` } })
      : await fetch(`${distant.url}/v1/reservations`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ station_id: "none", rider_ref: `rider-${n}` }),
        });
  const { error } = (await response.json()) as { error?: string };
  return {
    status: response.status,
    error,
    retryAfter: response.headers.get("retry-after"),
    ms: performance.now() - asked,
  };
};
type Said = Awaited<ReturnType<typeof ask>>;
/**
 * Tells whether a request was served. A served write gets 404, because it names an unknown station, which only the database
 * can tell.
 */
const isServed = ({ status }: Said) => status === 200 || status === 404;
const isUnavailable = ({ status, error, retryAfter }: Said) =>
  status === 503 && error === "unavailable" && retryAfter !== null;
const askBoth = async () => Promise.all([ask("read"), ask("write")]);

it("a network that takes 200 ms each way makes answers late, and no error", async () => {
  expect((await askBoth()).every(isServed)).toBe(true);
  proxy.delay(200);
  const said = (await Promise.all(Array.from({ length: 4 }, askBoth))).flat();
  expect(said.filter((each) => !isServed(each) && !isUnavailable(each))).toEqual([]);
  expect((await askBoth()).every(isServed)).toBe(true);
  proxy.delay(0);
  await until(async () => (await askBoth()).every(isServed));
});

it("a network that stands still for a while: each answer is a plain error, in bounded time, and then all is well", async () => {
  expect((await askBoth()).every(isServed)).toBe(true);
  const before = process.memoryUsage().heapUsed;
  proxy.stall();
  const asked = Promise.all(Array.from({ length: 100 }, askBoth));
  await until(async () => (await fetch(`${distant.url}/readyz`)).status === 503);
  expect((await fetch(`${distant.url}/healthz`)).status).toBe(200);
  const said = (await asked).flat();
  expect(said.filter((each) => !isServed(each) && !isUnavailable(each))).toEqual([]);
  expect(said.filter(isUnavailable).length).toBeGreaterThan(100);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200e6);
  proxy.resume();
  await until(async () => (await askBoth()).every(isServed));
  expect(proxy.connections()).toBeLessThan(40);
});

it("connections that are forgotten without a word are found out in seconds, and replaced", async () => {
  expect((await Promise.all(Array.from({ length: 5 }, askBoth))).flat().every(isServed)).toBe(true);
  proxy.forget();
  const said = await Promise.all(Array.from({ length: 5 }, askBoth));
  expect(said.flat().filter((each) => !isServed(each) && !isUnavailable(each))).toEqual([]);
  // Faster than the time limits of the statements, with which the requests would take 12 s.
  expect(Math.max(...said.flat().map(({ ms }) => ms))).toBeLessThan(10_000);
  await until(async () => (await askBoth()).every(isServed));
});

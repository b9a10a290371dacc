import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { listBikes } from "../../city/bikes/service.ts";
import { listStations } from "../../city/stations/service.ts";
import type { Queryable } from "../db/database.ts";
import { type Statement, statement } from "../db/statement.ts";
import { readContextOn } from "./read-context.ts";

let database: TestDatabase;
const BIKES = 20_000;

beforeAll(async () => {
  database = await createTestDatabase();
  // A city of 0.2 by 0.2 degrees; the golden ratio spreads its bikes and stations evenly.
  const location = "59.8 + 0.2 * (n * 0.6180339887 % 1), 10.6 + 0.2 * (n * 0.7548776662 % 1)";
  const fill = [
    `insert into bikes (system_id, id, vehicle_state, lat, lon, updated_at, source)
     select 'main', 'b' || n, 'available', ${location}, now(), 'operator' from generate_series(1, ${BIKES}) as n`,
    `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at, source, counters)
     select 'main', 's' || n, 'S', ${location}, true, true, true, 'online', now(), 'operator', 'operated' from generate_series(1, ${BIKES}) as n`,
    "vacuum (analyze) bikes",
    "vacuum (analyze) stations",
  ];
  for (const text of fill) await database.db.query(statement("", text));
});
afterAll(() => database.close());

/** Runs a read and gives the plans of its statements. */
async function plansOf(read: (db: Queryable) => Promise<unknown>): Promise<string[]> {
  const run: [Statement, readonly unknown[]][] = [];
  const { db } = database;
  await read({
    query: (asked, values = []) => {
      run.push([asked, values]);
      return db.query(asked, values);
    },
    transaction: (work) => db.transaction(work),
  });
  const plans = run.map(([{ text }, values]) =>
    db.query<{ "QUERY PLAN": string }>(statement("", `explain (costs off) ${text}`), values),
  );
  return (await Promise.all(plans)).map((lines) => lines.map((line) => line["QUERY PLAN"]).join("\n"));
}

const whose = { systemId: "main", partnerId: "p" };
const bbox = { west: 10.7, south: 59.9, east: 10.705, north: 59.905 };

test.each([
  ["bikes", listBikes],
  ["stations", listStations],
] as const)("a small rectangle of many %s is read by its index alone, by page and by cursor", async (table, list) => {
  for (const request of [
    { kind: "first", limit: 50 },
    { kind: "page", page: 1, limit: 5 },
    { kind: "page", page: 2, limit: 5 },
    { kind: "cursor", after: "b1", limit: 50 },
  ] as const) {
    const plans = await plansOf((db) => list(readContextOn(db), whose, { bbox }, request));
    for (const plan of plans) {
      expect(plan).toContain(`${table}_location`);
      expect(plan).not.toContain("Seq Scan");
    }
  }
  const { total } = await list(readContextOn(database.db), whose, { bbox }, { kind: "first", limit: 50 });
  expect(total).toBeGreaterThan(5);
  expect(total).toBeLessThan(BIKES / 100);
});

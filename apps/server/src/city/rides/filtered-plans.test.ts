import { afterAll, beforeAll, expect, it } from "vitest";
import { createUnusedDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { countRides } from "../counts/service.ts";
import { needsDays } from "./asked-rides.ts";
import { listFilteredRideRows, type RideFilters } from "./filtered-queries.ts";
import { createDayIndex, createPastCounts, type DayIndex } from "./memory.ts";
import { listChangedDays } from "./queries.ts";

const RIDES = 10_000;
let database: TestDatabase;
let days: DayIndex;

beforeAll(async () => {
  database = await createUnusedDatabase();
  await database.db.transaction(async (tx) => {
    // A vacuum marks only rows that are safe on disk as visible to everybody.
    await tx.run("set local synchronous_commit = on");
    await tx.run(
      `insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at,
         duration_seconds, is_countable, updated_at, source)
       select 'main', 'ride-' || lpad(i::text, 8, '0'), 'bike-' || i % 500, case when i % 50 = 0 then 'cancelled' else 'completed' end,
         'station-' || i % 90, 'station-' || i % 77, at, at + interval '11 min', 660, true, at + interval '11 min', 'test'
       from (select i, timestamptz '2026-01-01Z' + i * interval '16 s' as at from generate_series(1, ${RIDES}) as i) as made`,
    );
  });
  await database.db.transaction((tx) => {
    const firstMs = Date.parse("2026-01-01T00:00:00Z");
    countRides(tx, "main", 3, { inserted: Array.from({ length: RIDES }, (_, i) => firstMs + (i + 1) * 16_000) });
    return Promise.resolve();
  });
  await vacuum();
  days = createDayIndex({ read: (systemId, known) => listChangedDays(database.db, systemId, known), clock: () => 0 });
});
afterAll(() => database.close());

/** Vacuums until no row is dead or invisible to others, because PostgreSQL would touch such rows, too. */
async function vacuum(): Promise<void> {
  // An earlier statement of PostgreSQL itself may keep rows from being visible to everybody.
  await until(async () => {
    await database.db.query(statement("", "vacuum (analyze) rides"));
    const [table] = await database.db.query<{ all: boolean }>(
      statement("", "select relallvisible = relpages as all from pg_class where relname = 'rides'"),
    );
    return table?.all === true;
  });
}

/** Runs a page's statements, and counts the 8 KiB pages that PostgreSQL touched for them. */
async function pagesRead(
  filters: RideFilters,
  skip: number,
  pastCounts = createPastCounts(() => 0),
): Promise<{ rows: number; total: number; pages: number }> {
  let pages = 0;
  const counting: Queryable = {
    transaction: () => Promise.reject(new Error("a list opens no transaction")),
    async query<Row>({ text }: { readonly text: string }, values: readonly unknown[] = []) {
      const explained = await database.db.query<{ "QUERY PLAN": { Plan: Record<string, number> }[] }>(
        statement("", `explain (analyze, buffers, timing off, format json) ${text}`),
        values,
      );
      const plan = explained[0]?.["QUERY PLAN"][0]?.Plan ?? {};
      pages += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
      return database.db.query<Row>(statement("", text), values);
    },
  };
  // Pages of 50 begin at multiples of 50.
  const request = { kind: "page", page: skip / 50 + 1, limit: 50 } as const;
  const known = needsDays(filters) ? await days.known("main", true) : undefined;
  const found = await listFilteredRideRows(counting, "main", filters, request, pastCounts, known);
  if (found === undefined) throw new Error("past rides have changed");
  return { rows: found.rows === null ? 0 : found.rows.split("\n").length, total: found.total ?? 0, pages };
}

const everything = { started_after: "2000-01-01T00:00:00Z", updated_since: "2000-01-01T00:00:00Z" };
const heapPages = async () => {
  const [row] = await database.db.query<{ n: number }>(
    statement("", "select (pg_relation_size('rides') / 8192)::int as n"),
  );
  return row?.n ?? 0;
};

it("a deep page of a filtered list touches the index and the rows it shows, not those that it counts or steps over", async () => {
  const heap = await heapPages();
  expect(heap).toBeGreaterThan(600);
  for (const filters of [{ status: "completed" }, everything, { status: "completed", ...everything }]) {
    for (const skip of [200, RIDES / 2, RIDES - 800]) {
      const { rows, pages } = await pagesRead(filters, skip);
      expect(rows).toBe(51);
      expect([filters, skip, pages < heap / 2]).toEqual([filters, skip, true]);
    }
  }
});

it("the last page is stepped to from the end, and a page behind it reads no rows", async () => {
  const count = (await pagesRead({ status: "completed" }, RIDES)).pages;
  const last = await pagesRead({ status: "completed" }, 9_750);
  expect(last).toMatchObject({ rows: 50, total: 9_800 });
  expect(last.pages - count).toBeLessThan(170);
  expect(await pagesRead({ status: "completed" }, RIDES)).toEqual({ rows: 0, total: 9_800, pages: count });
});

it("the first page of a bike, of a station or of a stretch of time reads its rows from an index, and no others", async () => {
  // At this station all rides end where they began, so no ride only ended there.
  await database.db.query(
    statement("", "update rides set end_station_id = 'station-1' where start_station_id = 'station-1'"),
  );
  await database.db.query(
    statement(
      "",
      "update rides set end_station_id = 'station-2' where end_station_id = 'station-1' and start_station_id <> 'station-1'",
    ),
  );
  await vacuum();
  const time = { started_after: "2026-01-01T12:00:00Z", started_before: "2026-01-02T12:00:00Z" };
  const pastCounts = createPastCounts(() => 0);
  for (const [filters, rows] of [
    [{ bike_id: "bike-7" }, 20],
    [{ station_id: "station-1" }, 51],
    [{ station_id: "station-1", ...time }, 51],
    [time, 51],
  ] as const) {
    await pagesRead(filters, 0, pastCounts);
    // Uses the remembered numbers of the past, which the count has just made.
    const page = await pagesRead(filters, 0, pastCounts);
    expect([filters, page.rows, page.pages < 150]).toEqual([filters, rows, true]);
  }
});

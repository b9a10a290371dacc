import { listFilters, type PageRequest } from "@bikeshare/rules";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createUnusedDatabase, type TestDatabase } from "../../../test/database.ts";
import { nodesOf, type PlanNode, rowsSeenBy } from "../../../test/plan-nodes.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { careForTables, RIDE_TABLES } from "../../storage/db/vacuum.ts";
import type { TimePosition } from "../../storage/lists/page.ts";
import { readContextOn } from "../../storage/lists/read-context.ts";
import { countRides } from "../counts/service.ts";
import type { RideFilters } from "./filtered-queries.ts";
import { createDayIndex, createPastCounts } from "./memory.ts";
import { listChangedDays } from "./queries.ts";
import { listRides } from "./service.ts";

const RIDES = 10_000;
const FIRST_MS = Date.parse("2026-01-01T00:00:00Z");
/** Time between two rides: 360 rides a day. */
const STEP_MS = 240_000;
let database: TestDatabase;

beforeAll(async () => {
  database = await createUnusedDatabase();
  await database.db.transaction(async (tx) => {
    // Half of the rides are written by one import, the others when they ended.
    await tx.run(
      `insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, updated_at, source)
       select 'main', 'ride-' || lpad(i::text, 8, '0'), 'bike-' || i % 500, case when i % 50 = 0 then 'cancelled' else 'completed' end,
         'station-' || i % 90, 'station-' || i % 77, at, at + interval '11 min',
         case when i < ${RIDES / 2} then timestamptz '2026-01-20T10:00:00Z' else at + interval '11 min' end, 'test'
       from (select i, to_timestamp(${FIRST_MS / 1000} + i * ${STEP_MS / 1000}) as at from generate_series(0, ${RIDES - 1}) as i) as made`,
    );
    countRides(tx, "main", 3, { inserted: Array.from({ length: RIDES }, (_, i) => FIRST_MS + i * STEP_MS) });
  });
  await careForTables(database.db.connectionString, RIDE_TABLES);
});
afterAll(() => database.close());

function visitedBy(plan: PlanNode): number {
  return nodesOf(plan)
    .filter((node) => node["Node Type"].includes("Scan"))
    .reduce((sum, node) => sum + rowsSeenBy(node), 0);
}

let visited = 0;
/** Counts the rows and index entries that statements look at. */
const counting = (): Queryable => ({
  transaction: () => Promise.reject(new Error("a list opens no transaction")),
  async query<Row>({ text }: { readonly text: string }, values: readonly unknown[] = []) {
    const explained = await database.db.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      statement("", `explain (analyze, timing off, format json) ${text}`),
      values,
    );
    for (const row of explained) visited += visitedBy(row["QUERY PLAN"][0].Plan);
    return database.db.query<Row>(statement("", text), values);
  },
});

/** Values that pass most rides, some, and none. */
const samples = {
  status: ["completed", "cancelled", "started"],
  bike_id: ["bike-7", "bike-nobody's"],
  station_id: ["station-3", "station-80"],
  started_after: ["2026-01-01T00:00:00Z", "2026-01-15T13:37:00Z", "2027-01-01T00:00:00Z"],
  started_before: ["2027-01-01T00:00:00Z", "2026-01-15T13:37:00Z", "2026-01-01T00:00:00Z"],
  updated_since: ["2026-01-01T00:00:00Z", "2026-01-20T10:00:00Z", "2026-01-22T13:37:00Z", "2027-01-01T00:00:00Z"],
} satisfies Record<keyof typeof listFilters.rides, string[]>;

const names = Object.keys(listFilters.rides) as (keyof typeof samples)[];
const combinations = names.flatMap((one, index) => [[one], ...names.slice(index + 1).map((other) => [one, other])]);

it.each(combinations.map((each) => [each.join(" and "), each] as const))(
  "any page by %s looks at hardly more than it shows, by number and by cursor, however long the list",
  async (_, chosen) => {
    const depths = { locate: () => undefined, observe: () => undefined };
    const days = createDayIndex({
      read: (systemId, known) => listChangedDays(database.db, systemId, known),
      clock: () => 0,
    });
    const context = { ...readContextOn(counting()), pastCounts: createPastCounts(() => 0), depths, days };
    const read = (filters: RideFilters, request: PageRequest<TimePosition>) =>
      listRides(context, { systemId: "main", partnerId: "p" }, filters, request);
    const filtersOf = ([name, ...others]: readonly (keyof typeof samples)[]): RideFilters[] =>
      name === undefined
        ? [{}]
        : samples[name].flatMap((value) => filtersOf(others).map((rest) => ({ ...rest, [name]: value })));
    for (const filters of filtersOf(chosen)) {
      // The first page makes the service remember the numbers.
      const { total = 0, next } = await read(filters, { kind: "first", limit: 50 });
      const pages = Math.max(1, Math.ceil(total / 50));
      const requests: PageRequest<TimePosition>[] = [1, 0.5, 0.83, 1].map((share, index) => ({
        kind: "page",
        page: index === 0 ? 1 : Math.ceil(pages * share),
        limit: 50,
      }));
      if (next !== undefined) requests.push({ kind: "cursor", after: next, limit: 50 });
      for (const request of requests) {
        visited = 0;
        await read(filters, request);
        expect([filters, request, visited < RIDES / 8 ? "few" : visited]).toEqual([filters, request, "few"]);
      }
    }
  },
);

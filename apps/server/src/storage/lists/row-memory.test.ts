import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { type BikeFilters, listBikes } from "../../city/bikes/service.ts";
import { createChangeWatch } from "../../city/changes/service.ts";
import { listReservations } from "../../city/reservations/service.ts";
import { openReadPool, type ReadPool } from "../db/read-pool.ts";
import { CHANGED } from "../db/sql-fragments.ts";
import { statement } from "../db/statement.ts";
import { splitRows } from "./page.ts";
import { readContextOn } from "./read-context.ts";
import { createRowMemory, type RowMemory } from "./row-memory.ts";

let database: TestDatabase;
let readPool: ReadPool;
let memory: RowMemory;
/** The number of pages that came from memory. */
let remembered = 0;
/** Milliseconds of the memory's clock. */
let now = 0;
const whose = { systemId: "main", partnerId: "p" };

beforeAll(async () => {
  database = await createTestDatabase();
  readPool = openReadPool({ connectionString: database.db.connectionString, connections: 1 });
});
afterAll(async () => {
  await readPool.close();
  await database.close();
});
beforeEach(() => {
  memory = memoryOf();
  remembered = 0;
});
afterEach(() => run("delete from bikes"));

function memoryOf(maxBytes?: number): RowMemory {
  const { db } = database;
  const options = { db, readPool, follow: createChangeWatch(readPool), monotonic: () => now, maxWaitMs: 60_000 };
  const made = createRowMemory(maxBytes === undefined ? options : { ...options, maxBytes });
  return {
    async page(list, asked) {
      const page = await made.page(list, asked);
      if (page !== undefined) remembered++;
      return page;
    },
  };
}

async function run(text: string, ...values: unknown[]): Promise<void> {
  await database.db.query(statement("", text), values);
}

const insert = `insert into bikes (system_id, id, vehicle_state, station_id, lat, lon, updated_at, source)
  select 'main', 'bike ' || i, case when i % 3 = 0 then 'missing' else 'available' end, 's' || i % 4, i % 5, i % 7,
    timestamptz '2026-01-01Z' + i % 6 * interval '1 h', 'test'
  from unnest($1::int[]) as i on conflict do nothing`;
const update = `update bikes set vehicle_state = $2, station_id = $3, ${CHANGED} where id = any(select 'bike ' || i from unnest($1::int[]) as i)`;
const remove = `with removed as (delete from bikes where id = any(select 'bike ' || i from unnest($1::int[]) as i) returning id)
  insert into removed_bikes (system_id, id) select 'main', id from removed
  on conflict (system_id, id) do update set change_position = excluded.change_position`;
const vanish = `with gone as (delete from bikes where id = any(select 'bike ' || i from unnest($1::int[]) as i))
  insert into change_resets values ('main', 'bikes', 1) on conflict (system_id, list) do update set n = change_resets.n + 1`;

const numbers = fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 12 });
const state = fc.constantFrom("available", "missing", "non_operational");
const station = fc.constantFrom("s0", "s1", "s9", null);
const writes = fc.oneof(
  numbers.map((some) => [insert, some]),
  fc.tuple(numbers, state, station).map(([some, ...values]) => [update, some, ...values]),
  numbers.map((some) => [remove, some]),
  numbers.map((some) => [vanish, some]),
);
const filters: fc.Arbitrary<BikeFilters> = fc.oneof(
  state.map((value) => ({ vehicle_state: value })),
  fc.record({ vehicle_state: state, station_id: fc.constantFrom("s0", "s1", "s9") }),
  fc.constantFrom("2026-01-01T02:00:00Z", "2026-01-02T00:00:00Z").map((value) => ({ updated_since: value })),
  fc
    .record({ west: fc.nat(3), south: fc.nat(3) })
    .map(({ west, south }) => ({ bbox: { west, south, east: 6, north: 3 } })),
);
const requests = fc.oneof(
  fc.record({
    kind: fc.constant("page" as const),
    page: fc.integer({ min: 1, max: 4 }),
    limit: fc.constantFrom(1, 3, 50),
  }),
  fc.record({
    kind: fc.constant("cursor" as const),
    after: fc.constantFrom("", "bike 2", "bike 39"),
    limit: fc.constantFrom(1, 3),
  }),
);

/** Returns a page that the memory makes, and the same page made by the database. */
async function bothPages(given: BikeFilters, request: Parameters<typeof listBikes>[3]) {
  const context = readContextOn(database.db);
  const counted = await listBikes(context, whose, given, request);
  return [await listBikes({ ...context, rowMemory: memory }, whose, given, request), counted];
}

it("gives what the database gives, whatever was written, removed or deleted without a trace between pages", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ write: writes, filters, request: requests, ms: fc.constantFrom(0, 2_000) })),
      async (steps) => {
        for (const {
          write: [text = "", ...values],
          filters: given,
          request,
          ms,
        } of steps) {
          await run(String(text), ...values);
          now += ms;
          const [page, expected] = await bothPages(given, request);
          expect(page).toEqual(expected);
        }
      },
    ),
    { numRuns: randomRuns(15) },
  );
  expect(remembered).toBeGreaterThan(50);
});

it("shows what a transaction wrote that was open for long, once it is committed", async () => {
  await run(insert, [1, 2, 3, 4, 5]);
  const page = { kind: "page", page: 1, limit: 50 } as const;
  const isWritten = Promise.withResolvers<void>();
  const isToEnd = Promise.withResolvers<void>();
  const open = database.db.transaction(async (tx) => {
    await tx.query(statement("", update), [[1, 4], "missing", null]);
    isWritten.resolve();
    await isToEnd.promise;
  });
  await isWritten.promise;
  // The list is read into memory and shown while the transaction is open.
  for (const each of [1, 2, 3]) {
    now += 5_000;
    await run(update, [5], "missing", `s${each}`);
    const [shown, expected] = await bothPages({ vehicle_state: "missing" }, page);
    expect(shown).toEqual(expected);
  }
  isToEnd.resolve();
  await open;
  now += 5_000;
  const [shown, expected] = await bothPages({ vehicle_state: "missing" }, page);
  expect(shown).toEqual(expected);
  expect(shown?.total).toBe(4);
  expect(remembered).toBe(4);
});

it("never shows a row that does not pass, nor counts wrongly, while others write", async () => {
  await run(
    insert,
    Array.from({ length: 40 }, (_, n) => n),
  );
  const isDone = new AbortController();
  const writing = (async () => {
    // Each statement moves one bike to the station and another away, so ten are there at any time.
    for (let n = 0; !isDone.signal.aborted; n++) {
      await run(
        `update bikes set station_id = case when id = 'bike ' || $1::int then 's1' else 's2' end, ${CHANGED}
         where id in ('bike ' || $1::int, (select id from bikes where station_id = 's1' and id <> 'bike ' || $1::int order by updated_at, id limit 1))
           and (select station_id from bikes where id = 'bike ' || $1::int) <> 's1'`,
        n % 40,
      );
    }
  })();
  for (let n = 0; n < 100; n++) {
    const context = { ...readContextOn(database.db), rowMemory: memory };
    const page = await listBikes(context, whose, { station_id: "s1" }, { kind: "page", page: 1, limit: 50 });
    const shown = JSON.parse(`[${page.items}]`) as { station_id: string }[];
    expect([page.total, shown.length, new Set(shown.map(({ station_id }) => station_id))]).toEqual([
      10,
      10,
      new Set(["s1"]),
    ]);
  }
  isDone.abort();
  await writing;
  expect(remembered).toBeGreaterThan(50);
});

it("leaves to the database a list that is longer than may be remembered", async () => {
  memory = memoryOf(20);
  await run(
    insert,
    Array.from({ length: 40 }, (_, n) => n),
  );
  const [page, expected] = await bothPages({ vehicle_state: "missing" }, { kind: "page", page: 1, limit: 50 });
  expect(page).toEqual(expected);
  expect(splitRows(page?.items ?? "", 50).items).not.toBe("");
  expect(remembered).toBe(0);
});

it("takes no more memory than it may, however many lists are asked for, and leaves room for a system's other lists", async () => {
  const maxBytes = 1_200_000;
  memory = memoryOf(maxBytes);
  const partners = Array.from({ length: 20 }, (_, n) => `partner ${n}`);
  await run(
    insert,
    Array.from({ length: 40 }, (_, n) => n),
  );
  await run(
    `insert into reservations (system_id, id, partner_id, status, bike_id, rider_ref, created_at, expires_at, updated_at, change_position)
     select 'main', 'res ' || partner_id || ' ' || i, partner_id, 'expired', 'bike', 'rider ' || i % 7, at, at + interval '15 min', at, i
     from unnest($1::text[]) as partner_id, generate_series(1, $2::int) as i, lateral (select timestamptz '2026-01-01Z' + i * interval '1 s' as at) as made`,
    partners,
    2_000,
  );
  const taken = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = taken();
  for (const partnerId of partners) {
    const context = { ...readContextOn(database.db), clock: () => Date.now() };
    const asked = [
      { systemId: "main", partnerId },
      { rider_ref: "rider 3" },
      { kind: "page", page: 2, limit: 3 },
    ] as const;
    const page = await listReservations({ ...context, rowMemory: memory }, ...asked);
    expect(page).toEqual(await listReservations(context, ...asked));
    expect(page.total).toBe(286);
  }
  // The lists of the first partners, with 2,000 rows of some 60 bytes each.
  expect(remembered).toBeGreaterThan(5);
  expect(remembered).toBeLessThan(12);
  // V8 frees collected memory on its own threads, some time later.
  await until(() => taken() - before < maxBytes);
  const ofReservations = remembered;
  const [page, expected] = await bothPages({ vehicle_state: "missing" }, { kind: "page", page: 1, limit: 50 });
  expect(page).toEqual(expected);
  expect(remembered).toBe(ofReservations + 1);
  await run("delete from reservations");
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}

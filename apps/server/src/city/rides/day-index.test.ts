import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { statement } from "../../storage/db/statement.ts";
import { countRides } from "../counts/service.ts";
import { listFilteredRideRows, type RideFilters } from "./filtered-queries.ts";
import { createDayIndex, createPastCounts } from "./memory.ts";
import { listChangedDays, MAX_DAYS } from "./queries.ts";
import { DAY_MS, HOUR_MS } from "./ride-day.rules.ts";

/** More days than one statement reads. */
const DAYS = 2.5 * MAX_DAYS;
let database: TestDatabase;
let now = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  const [row] = await database.db.query<{ at: Date }>(statement("", "select now() as at"));
  now = row?.at.getTime() ?? 0;
  // Three rides a day, the youngest a moment ago.
  await insert(Array.from({ length: 3 * DAYS }, (_, index) => now - index * 8 * HOUR_MS - 1000));
});
afterAll(() => database.close());

let made = 0;
async function insert(starts: readonly number[]): Promise<void> {
  await database.db.transaction(async (tx) => {
    await tx.query(
      statement(
        "",
        `insert into rides (system_id, id, bike_id, status, started_at, ended_at, updated_at, source)
         select 'main', $1 || i, 'bike-' || i, case when i % 3 = 0 then 'cancelled' else 'completed' end, at, at, at, 'test'
         from unnest($2::timestamptz[]) with ordinality as made(at, i)`,
      ),
      [`ride ${++made} `, starts.map((ms) => new Date(ms).toISOString())],
    );
    countRides(tx, "main", 5, { inserted: starts });
  });
}

/** An index whose reads wait until they are let through. */
function gatedIndex(options: { readonly maxWaitMs: number }) {
  const gate = { ...Promise.withResolvers<void>(), reads: 0, open: MAX_DAYS };
  const index = createDayIndex({
    read: async (systemId, known) => {
      if (++gate.reads > gate.open) await gate.promise;
      return listChangedDays(database.db, systemId, known);
    },
    clock: () => Date.now(),
    ...options,
  });
  return { index, gate };
}

async function expectExact(index: ReturnType<typeof createDayIndex>, filters: RideFilters): Promise<void> {
  const known = await index.known("main", true);
  const request = { kind: "page", page: 3, limit: 10 } as const;
  const shown = await listFilteredRideRows(
    database.db,
    "main",
    filters,
    request,
    createPastCounts(() => 0),
    known,
  );
  const [real] = await database.db.query<{ n: number; ids: string[] }>(
    statement(
      "",
      `with passing as (select id, started_at from rides where ($1::text is null or status = $1) and ($2::timestamptz is null or updated_at >= $2)
         order by started_at desc, id desc)
       select (select count(*)::int from passing) as n, array(select id from passing offset 20 limit 10) as ids`,
    ),
    [filters.status ?? null, filters.updated_since ?? null],
  );
  const ids = (JSON.parse(`[${shown?.rows ?? ""}]`) as { id: string }[]).map(({ id }) => id);
  expect([filters, shown?.total, ids.slice(0, 10)]).toEqual([filters, real?.n, real?.ids]);
}

const asked: readonly RideFilters[] = [
  { status: "cancelled" },
  { updated_since: "2000-01-01T00:00:00Z" },
  { status: "completed", updated_since: new Date(Date.now() - 200 * DAY_MS).toISOString() },
];

it("while the past is being read, pages are exact with what is known so far, whoever waits; then all of it is known", async () => {
  const { index, gate } = gatedIndex({ maxWaitMs: 500 });
  gate.open = 1;
  const partly = await index.known("main", true);
  expect(partly?.days).toHaveLength(MAX_DAYS);
  expect(partly?.knownFrom).toBe(partly?.days.at(-1)?.from);
  for (const filters of asked) await expectExact(index, filters);
  gate.resolve();
  await expect.poll(async () => (await index.known("main", true))?.knownFrom).toBe(-Infinity);
  expect(gate.reads).toBe(3);
  for (const filters of asked) await expectExact(index, filters);
});

it("days that change while others are read are not given as they were", async () => {
  const { index, gate } = gatedIndex({ maxWaitMs: 500 });
  gate.open = 2;
  await index.known("main", true);
  // More days that are known than one statement reads.
  await insert(Array.from({ length: 1.5 * MAX_DAYS }, (_, day) => now - (day + 20) * DAY_MS));
  gate.open = 3;
  gate.resolve();
  await expect.poll(async () => (await index.known("main", true))?.knownFrom).toBe(-Infinity);
  for (const filters of asked) await expectExact(index, filters);
});

it("hours that are over by now are known, without a change of the past", async () => {
  const { index } = gatedIndex({ maxWaitMs: 60_000 });
  const known = await index.known("main", true);
  const [row] = await database.db.query<{ hour: Date }>(
    statement("", "select date_bin('1 hour', now(), '1970-01-01Z') as hour"),
  );
  expect(known?.upto).toBe((row?.hour.getTime() ?? 0) - HOUR_MS);
  expect(known?.days[0]?.to).toBe(known?.upto);
});

it("a recent ride of a program that does not count late changes is counted ten minutes later", async () => {
  let clock = 0;
  const index = createDayIndex({
    read: (systemId, known) => listChangedDays(database.db, systemId, known),
    clock: () => clock,
  });
  const before = await index.known("main", true);
  // Writes the row as release 0.1.0 does.
  await database.db.query(
    statement(
      "",
      `insert into rides (system_id, id, bike_id, status, started_at, ended_at, updated_at, source)
       select 'main', 'ride of 0.1.0', 'bike', 'cancelled', at, at, at, 'test' from (select now() - interval '30 hours' as at) as made`,
    ),
  );
  clock += 11 * 60_000;
  await until(async () => (await index.known("main", true)) !== before);
  await expectExact(index, { status: "cancelled" });
});

import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";

import { statement } from "../src/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { bikeRow, rideRow, type RowWriter, rowWriter, stationRow } from "./rows.ts";
import { slice } from "./walk.ts";

fc.configureGlobal({ seed: 1 });

let app: TestApp;
let write: RowWriter;
let turn = 0;

beforeAll(async () => {
  app = await startTestApp();
  write = rowWriter(app, () => turn++ % 16);
});

afterAll(() => app.close());

const keptLists = statement("", "select list, sum(n)::int as n from list_counts group by list having sum(n) <> 0 order by list");
const realLists = statement(
  "",
  `select list, n from (select 'bikes' as list, count(*)::int as n from bikes union all select 'rides', count(*)::int from rides
   union all select 'stations', count(*)::int from stations) as lists where n <> 0 order by list`,
);
const keptPeriods = statement(
  "",
  "select period, starts_at, sum(n)::int as n from ride_counts group by period, starts_at having sum(n) <> 0 order by period, starts_at",
);
const realPeriods = statement(
  "",
  `select period, date_trunc(period, started_at, 'UTC') as starts_at, count(*)::int as n
   from rides, (values ('day'), ('hour'), ('month')) as periods(period) group by 1, 2 order by 1, 2`,
);

async function expectCountsToBeReal(): Promise<void> {
  expect(await app.db.query(keptLists)).toEqual(await app.db.query(realLists));
  expect(await app.db.query(keptPeriods)).toEqual(await app.db.query(realPeriods));
}

const startedAt = fc
  .tuple(
    fc.constantFrom("1999-12-31T23", "2000-01-01T00", "2024-02-29T23", "2024-03-01T00", "2024-03-31T01", "2024-10-27T02"),
    fc.constantFrom("00:00.000", "59:59.999"),
  )
  .map(([hour, rest]) => `${hour}:${rest}Z`);

it("kept counts equal reality after any inserts and deletions, those that go on at the same time included", async () => {
  const batch = fc.record({
    inserted: fc.array(startedAt, { maxLength: 6 }),
    deleted: fc.array(fc.nat(), { maxLength: 4 }),
  });
  let made = 0;
  const present: string[] = [];
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 6 }), async (batches) => {
      await Promise.all(
        batches.map(async ({ inserted, deleted }) => {
          const removed = [...new Set(deleted.flatMap((pick) => (present.length === 0 ? [] : present.splice(pick % present.length, 1))))];
          const rides = inserted.map((at) => rideRow({ id: `ride ${made++}`, started_at: at }));
          await Promise.all([write.rides(rides), write.remove("rides", removed)]);
          present.push(...rides.map(({ id }) => id));
        }),
      );
      await expectCountsToBeReal();
      const { total_pages: pages } = await slice(app, "/v1/rides?limit=1");
      expect(pages).toBe(Math.max(1, present.length));
    }),
    { numRuns: 20 },
  );
});

it("a transaction that is rolled back counts nothing", async () => {
  await write.stations([stationRow({ id: "a" })]);
  await write.bikes([bikeRow({ id: "a" })]);
  await expect(write.stations([stationRow({ id: "b" }), stationRow({ id: "a" })])).rejects.toThrow(/duplicate key/);
  await expect(write.rides([rideRow({ id: "x", started_at: "2024-01-01T00:00:00.000Z", ended_at: "2023-01-01T00:00:00.000Z" })])).rejects.toThrow();
  await expectCountsToBeReal();
});

it("deep pages stay right where whole hours, days and months have lost all their rides", async () => {
  const started = (month: number, hour: number) => `2022-${String(month).padStart(2, "0")}-10T${String(hour).padStart(2, "0")}:30:00.000Z`;
  const rides = Array.from({ length: 12 }, (_, index) => index + 1).flatMap((month) =>
    [1, 2, 23].map((hour) => rideRow({ id: `deep ${month} ${hour}`, started_at: started(month, hour) })),
  );
  await write.rides(rides);
  await write.remove("rides", rides.filter((_, index) => index % 9 < 5).map(({ id }) => id));
  await expectCountsToBeReal();
  const { total_pages: pages = 0 } = await slice(app, "/v1/rides?limit=1");
  const seen: unknown[] = [];
  for (let page = 1; page <= pages; page++) seen.push((await slice(app, `/v1/rides?limit=1&page=${page}`)).data[0]?.id);
  const inOrder = await app.db.query<{ id: string }>(statement("", "select id from rides order by started_at desc, id desc"));
  expect(seen).toEqual(inOrder.map(({ id }) => id));
});

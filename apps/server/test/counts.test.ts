import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countRides } from "../src/city/counts/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { bikeRow, rideRow, type RowWriter, rowWriter, stationRow } from "./rows.ts";
import { slice } from "./walk.ts";

let app: TestApp;
let write: RowWriter;
let key: string;
let turn = 0;

beforeAll(async () => {
  app = await startTestApp();
  key = (await app.issue()).key;
  write = rowWriter(app, () => turn++ % 16);
});

afterAll(() => app.close());

const keptLists = statement(
  "",
  "select list, sum(n)::int as n from list_counts group by list having sum(n) <> 0 order by list",
);
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
    fc.constantFrom(
      "1999-12-31T23",
      "2000-01-01T00",
      "2024-02-29T23",
      "2024-03-01T00",
      "2024-03-31T01",
      "2024-10-27T02",
    ),
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
          const removed = [
            ...new Set(
              deleted.flatMap((pick) => (present.length === 0 ? [] : present.splice(pick % present.length, 1))),
            ),
          ];
          const rides = inserted.map((at) => rideRow({ id: `ride ${made++}`, started_at: at }));
          await Promise.all([write.rides(rides), write.remove("rides", removed)]);
          present.push(...rides.map(({ id }) => id));
        }),
      );
      await expectCountsToBeReal();
      const { total_pages: pages } = await slice(app, "/v1/rides?limit=1");
      expect(pages).toBe(Math.max(1, present.length));
    }),
    { numRuns: randomRuns(8) },
  );
});

it("a transaction that is rolled back counts nothing", async () => {
  await write.stations([stationRow({ id: "a" })]);
  await write.bikes([bikeRow({ id: "a" })]);
  await expect(write.stations([stationRow({ id: "b" }), stationRow({ id: "a" })])).rejects.toThrow(/duplicate key/);
  await expect(
    write.rides([rideRow({ id: "x", started_at: "2024-01-01T00:00:00.000Z", ended_at: "2023-01-01T00:00:00.000Z" })]),
  ).rejects.toThrow();
  await expectCountsToBeReal();
});

it("deep pages stay right where whole hours, days and months have lost all their rides", async () => {
  const started = (month: number, hour: number) =>
    `2022-${String(month).padStart(2, "0")}-10T${String(hour).padStart(2, "0")}:30:00.000Z`;
  const rides = Array.from({ length: 12 }, (_, index) => index + 1).flatMap((month) =>
    [1, 2, 23].map((hour) => rideRow({ id: `deep ${month} ${hour}`, started_at: started(month, hour) })),
  );
  await write.rides(rides);
  await write.remove(
    "rides",
    rides.filter((_, index) => index % 9 < 5).map(({ id }) => id),
  );
  await expectCountsToBeReal();
  const { total_pages: pages = 0 } = await slice(app, "/v1/rides?limit=1");
  const seen: unknown[] = [];
  for (let page = 1; page <= pages; page++) seen.push((await slice(app, `/v1/rides?limit=1&page=${page}`)).data[0]?.id);
  expect(seen).toEqual(await inOrder());
});

describe("deep pages, once the service knows how deep each hour lies", () => {
  let other: BuiltApp;
  beforeAll(async () => {
    await clearRides();
    other = await buildAnother(app);
    await write.rides(
      Array.from({ length: 40 }, (_, index) =>
        rideRow({
          id: `known ${index}`,
          started_at: new Date(Date.parse("2021-01-01T00:00:00Z") + index * 1_800_000).toISOString(),
        }),
      ),
    );
    // The first deep page starts a background job that learns the depths of the list. Later pages use them.
    app.clock.advance(3_000);
    for (let request = 0; request < 50; request++) await Promise.all([pageOf(app.url, 2), pageOf(other.url, 2)]);
  });
  afterAll(() => other.close());

  it.each([
    ["an insertion", () => write.rides([rideRow({ id: "new", started_at: "2021-01-01T18:00:00.000Z" })])],
    ["a deletion", () => write.remove("rides", ["known 30"])],
    ["rides that move to another hour and leave the total alone", moveOne],
    ["a month that is emptied", clearRides],
  ])("are right at once after %s, on every process", async (_what, change) => {
    await change();
    const rides = await inOrder();
    for (const url of [app.url, other.url]) {
      for (let page = 1; page <= Math.max(1, rides.length); page++)
        expect(await pageOf(url, page)).toEqual(rides.slice(page - 1, page));
    }
    await expectCountsToBeReal();
    app.clock.advance(3_000);
    await Promise.all([pageOf(app.url, 2), pageOf(other.url, 2)]);
  });

  it("are right in an hour of more rides than are stepped over with their rows, also while the list grows", async () => {
    const started = (second: number) => new Date(Date.parse("2020-05-05T05:00:00Z") + second * 1000).toISOString();
    await write.rides(
      Array.from({ length: 900 }, (_, index) => rideRow({ id: `busy ${index}`, started_at: started(index) })),
    );
    app.clock.advance(3_000);
    for (let request = 0; request < 20; request++) await pageOf(app.url, 2);
    for (const grown of [0, 1, 2]) {
      if (grown > 0) await write.rides([rideRow({ id: `grown ${grown}`, started_at: new Date().toISOString() })]);
      const rides = await inOrder();
      for (const page of [2, 3, 398, 399, 400, 401, 402, 450, 700, rides.length]) {
        expect(await pageOf(app.url, page)).toEqual(rides.slice(page - 1, page));
      }
    }
  });

  /** Deletes one row and inserts another in one transaction, so that the length of the list never changes. */
  async function moveOne(): Promise<void> {
    await app.db.transaction(async (tx) => {
      const to = new Date("2021-01-01T02:10:00.000Z");
      const [moved] = await tx.query<{ was: Date }>(
        statement(
          "",
          `update rides set started_at = $1 from (select id, started_at as was from rides where id = 'known 35') as old
           where rides.id = old.id returning was`,
        ),
        [to],
      );
      countRides(tx, app.systemId, 3, { deleted: [moved!.was], inserted: [to] });
    });
  }

  async function pageOf(url: string, page: number): Promise<string[]> {
    const response = await fetch(`${url}/v1/rides?limit=1&page=${page}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const body = (await response.json()) as { data?: { id: string }[] };
    return (body.data ?? []).map(({ id }) => id);
  }
});

async function inOrder(): Promise<string[]> {
  const rides = await app.db.query<{ id: string }>(
    statement("", "select id from rides order by started_at desc, id desc"),
  );
  return rides.map(({ id }) => id);
}

async function clearRides(): Promise<void> {
  await write.remove("rides", await inOrder());
}

it("says how often rides came or went that had started more than an hour before, and which more than two days, and not of others", async () => {
  const changes = async (column: string) => {
    const text = `select sum(${column})::int as n from list_counts where list = 'rides'`;
    return (await app.db.query<{ n: number }>(statement("", text)))[0]?.n ?? 0;
  };
  const pastChanges = () => changes("past_changes");
  const [now] = await app.db.query<{ at: Date }>(statement("", "select now() as at"));
  const hoursAgo = (hours: number) => new Date((now?.at.getTime() ?? 0) - hours * 3_600_000).toISOString();
  const [before, lateBefore] = [await pastChanges(), await changes("late_changes")];
  await write.rides([rideRow({ id: "of this hour", started_at: hoursAgo(0) })]);
  await write.remove("rides", ["of this hour"]);
  expect(await changes("late_changes")).toBe(lateBefore);
  await write.rides([rideRow({ id: "of today", started_at: hoursAgo(2.1) })]);
  await write.remove("rides", ["of today"]);
  expect(await changes("late_changes")).toBe(lateBefore + 2);
  await write.rides([rideRow({ id: "of yesterday", started_at: hoursAgo(46) })]);
  expect(await pastChanges()).toBe(before);
  await write.rides([
    rideRow({ id: "of last week", started_at: hoursAgo(160) }),
    rideRow({ id: "new", started_at: hoursAgo(0) }),
  ]);
  expect(await pastChanges()).toBe(before + 1);
  await write.remove("rides", ["of last week"]);
  expect(await pastChanges()).toBe(before + 2);
});

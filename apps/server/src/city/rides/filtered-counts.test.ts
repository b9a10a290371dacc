import type { PageRequest } from "@bikeshare/rules";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { createIds } from "../../ids.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { openReadPool, type ReadPool } from "../../storage/db/read-pool.ts";
import { statement } from "../../storage/db/statement.ts";
import { splitRows, type TimePosition } from "../../storage/lists/page.ts";
import { readContextOn } from "../../storage/lists/read-context.ts";
import { countRides } from "../counts/service.ts";
import { upsertPastRides } from "../fleet/past-rides.ts";
import { listQuickRideRows, type RideFilters } from "./filtered-queries.ts";
import { createDayIndex, createPastCounts, type DayIndex, type PastCounts } from "./memory.ts";
import { listChangedDays } from "./queries.ts";
import { listRides } from "./service.ts";

const HOUR_MS = 3_600_000;
let database: TestDatabase;
let clock = 0;
let pastCounts: PastCounts;
let days: DayIndex;
let readPool: ReadPool;
/** How often `listQuickRideRows` returned a page. */
let quickly = 0;
/** The database's time, because the database decides which rides are past. */
let now = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  const [row] = await database.db.query<{ at: Date }>(statement("", "select now() as at"));
  now = row?.at.getTime() ?? 0;
  pastCounts = createPastCounts(() => clock);
  days = createDayIndex({
    read: (systemId, known) => listChangedDays(database.db, systemId, known),
    clock: () => clock,
  });
  readPool = openReadPool({ connectionString: database.db.connectionString, connections: 1 });
  await insert(Array.from({ length: 400 }, (_, index) => ({ id: `ride ${index}`, hoursAgo: index * 3.7 })));
});
afterAll(async () => {
  await readPool.close();
  await database.close();
});

interface Ride {
  readonly id: string;
  readonly hoursAgo: number;
  readonly isUnderWay?: boolean;
}

/** Writes rides as the service does, with their counts. */
async function insert(rides: readonly Ride[]): Promise<void> {
  await database.db.transaction(async (tx) => {
    for (const { id, hoursAgo, isUnderWay = false } of rides) {
      const at = new Date(now - hoursAgo * HOUR_MS).toISOString();
      const index = Number(/\d+$/.exec(id)?.[0] ?? 0);
      const values = [
        "main",
        id,
        isUnderWay ? `bike ${id}` : `bike ${index % 7}`,
        isUnderWay ? "started" : "completed",
      ];
      await tx.query(statement("", insertRide), [...values, `s${index % 5}`, isUnderWay ? null : `s${index % 3}`, at]);
    }
    count(tx, rides, 1);
  });
}

const insertRide = `
  insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, updated_at, source)
  values ($1, $2, $3, $4, $5, $6, $7::timestamptz, case when $4 = 'started' then null else $7::timestamptz end, now(), 'test')`;

async function remove(ride: Ride): Promise<void> {
  await database.db.transaction(async (tx) => {
    await tx.query(statement("", "delete from rides where id = $1"), [ride.id]);
    count(tx, [ride], -1);
  });
}

function count(tx: Transaction, rides: readonly Ride[], difference: 1 | -1): void {
  const starts = rides.map(({ hoursAgo }) => now - hoursAgo * HOUR_MS);
  countRides(tx, "main", 3, difference === 1 ? { inserted: starts } : { deleted: starts });
}

/** Reads a page as the service does, with all remembered numbers. */
function list(db: Queryable, filters: RideFilters, request: PageRequest<TimePosition>) {
  const depths = { locate: () => undefined, observe: () => undefined };
  const context = { ...readContextOn(db), readPool, pastCounts, depths, days };
  return listRides(context, { systemId: "main", partnerId: "p" }, filters, request);
}

/** Returns the total that a page shows, and the number from counting the rides one by one. */
async function totals(filters: RideFilters, request: { readonly page?: number } = {}): Promise<[number, number]> {
  const asked = {
    limit: 50,
    ...(request.page === undefined ? { kind: "first" } : { kind: "page", page: request.page }),
  };
  const { items, total } = await list(database.db, filters, asked as never);
  const quick = await listQuickRideRows(readPool, "main", filters, asked as never, pastCounts);
  quickly += Number(quick !== undefined);
  expect((quick ?? { total }).total).toEqual(total);
  if (quick !== undefined) expect(splitRows(quick.rows, 50).items).toBe(items);
  const [real] = await database.db.query<{ n: number }>(
    statement(
      "",
      `select count(*)::int as n from rides where ($1::text is null or bike_id = $1) and ($2::text is null or start_station_id = $2 or end_station_id = $2)
       and ($3::timestamptz is null or started_at >= $3) and ($4::timestamptz is null or started_at < $4) and ($5::text is null or status = $5)`,
    ),
    [filters.bike_id, filters.station_id, filters.started_after, filters.started_before, filters.status].map(
      (each) => each ?? null,
    ),
  );
  return [total ?? -1, real?.n ?? -2];
}

async function expectRealTotals(): Promise<void> {
  for (const filters of [
    { station_id: "s1" },
    { station_id: "s2", status: "completed" },
    { bike_id: "bike 3" },
    { status: "started" },
  ]) {
    for (const request of [{}, { page: 2 }, {}]) {
      const [shown, real] = await totals(filters, request);
      expect([filters, request, shown]).toEqual([filters, request, real]);
    }
  }
}

it("a stretch of time is counted exactly, wherever it begins and ends", async () => {
  const instant = fc.option(fc.double({ min: -10, max: 1600, noNaN: true }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(instant, instant, async (from, to) => {
      const at = (hoursAgo: number | undefined) =>
        hoursAgo === undefined ? undefined : new Date(now - hoursAgo * HOUR_MS).toISOString();
      const filters = { started_after: at(from), started_before: at(to) };
      if (from === undefined && to === undefined) return;
      const [shown, real] = await totals(filters);
      expect(shown).toBe(real);
    }),
    { numRuns: randomRuns(25) },
  );
  expect(quickly).toBeGreaterThan(20);
});

it("what was remembered before past rides changed is not shown the quick way, and is forgotten", async () => {
  const quick = () =>
    listQuickRideRows(readPool, "main", { station_id: "s4" }, { kind: "first", limit: 50 }, pastCounts);
  expect(await quick()).toBeUndefined();
  const [total] = await totals({ station_id: "s4" });
  expect(await quick()).toMatchObject({ total });
  await insert([{ id: "later 14", hoursAgo: 400 }]);
  expect(await quick()).toBeUndefined();
  expect(await totals({ station_id: "s4" })).toEqual([total + 1, total + 1]);
  expect(await quick()).toMatchObject({ total: total + 1 });
});

it("rides since a ride that is under way for more than a week are not counted the quick way", async () => {
  const lost = { id: "lost 15", hoursAgo: 24 * 9, isUnderWay: true };
  await insert([lost]);
  const before = quickly;
  expect(await totals({ bike_id: "bike 5" })).toEqual(await totals({ bike_id: "bike 5" }));
  expect(quickly).toBe(before);
  await remove(lost);
});

it("what is remembered of past rides never shows: totals are exact after any change, also of the past", async () => {
  await expectRealTotals();
  await insert([
    { id: "new 1", hoursAgo: 0.1 },
    { id: "new 2", hoursAgo: 1 },
  ]);
  await expectRealTotals();
  await insert([{ id: "late 11", hoursAgo: 300 }]);
  await expectRealTotals();
  await remove({ id: "ride 201", hoursAgo: 201 * 3.7 });
  await expectRealTotals();
});

it("a ride under way for long counts where it ends, although it started in the past", async () => {
  await insert([{ id: "long 6", hoursAgo: 500, isUnderWay: true }]);
  await expectRealTotals();
  await database.db.query(
    statement("", "update rides set status = 'completed', ended_at = now(), end_station_id = 's2' where id = 'long 6'"),
  );
  await expectRealTotals();
});

it("a past ride that is corrected counts at the station where it is now", async () => {
  const id = "ride 161";
  const startedAt = new Date(now - 161 * 3.7 * HOUR_MS).toISOString();
  const item = {
    id,
    bike_id: "bike 0",
    started_at: startedAt,
    ended_at: startedAt,
    start_station_id: "s2",
    end_station_id: "s2",
  };
  await expectRealTotals();
  const context = { db: database.db, clock: () => now, ids: createIds(() => now), actor: "test" };
  const { results } = await upsertPastRides(context, "main", [{ item }]);
  expect(results).toMatchObject([{ id, outcome: "updated" }]);
  await expectRealTotals();
});

it("past rides are counted once, until a day has passed", async () => {
  let counted = 0;
  const db: Queryable = {
    ...database.db,
    query: (asked, values) => {
      if (asked.text.includes("with past as")) counted++;
      return database.db.query(asked, values);
    },
  };
  const filters = { bike_id: "bike 2", status: "completed" };
  const read = () => list(db, filters, { kind: "first", limit: 50 });
  for (let times = 0; times < 3; times++, clock += 11 * HOUR_MS) await read();
  expect(counted).toBe(1);
  await read();
  expect(counted).toBe(2);
});

describe("any filters, alone and together", () => {
  const at = (hoursAgo: number) => new Date(now - hoursAgo * HOUR_MS).toISOString();
  const some = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined });
  const filters = fc.record({
    status: some(fc.constantFrom("started", "completed", "cancelled")),
    bike_id: some(fc.constantFrom("bike 1", "bike 2", "nobody's")),
    station_id: some(fc.constantFrom("s0", "s1", "s4")),
    started_after: some(fc.double({ min: -10, max: 1600, noNaN: true })),
    started_before: some(fc.double({ min: -10, max: 1600, noNaN: true })),
    updated_since: some(fc.double({ min: -2, max: 1600, noNaN: true })),
  });
  let made = 0;
  /** What may happen to rides between two pages. */
  const changes = {
    "a past ride comes": async () => insert([{ id: `came ${++made}`, hoursAgo: 100 + ((made * 97) % 1400) }]),
    "a ride starts": async () => insert([{ id: `began ${++made}`, hoursAgo: 0.01, isUnderWay: true }]),
    "a ride ends": async () =>
      database.db.query(
        statement(
          "",
          `update rides set status = 'completed', ended_at = now(), end_station_id = 's1', updated_at = now()
           where id = (select id from rides where status = 'started' order by started_at desc limit 1)`,
        ),
      ),
    "a past ride goes": async () => {
      const text = `select id, extract(epoch from started_at)::float8 * 1000 as at from rides
        where status = 'completed' and started_at < now() - interval '4 days' order by md5(id || ${++made}::text) limit 1`;
      const [ride] = await database.db.query<{ id: string; at: number }>(statement("", text));
      if (ride !== undefined) await remove({ id: ride.id, hoursAgo: (now - ride.at) / HOUR_MS });
    },
    "a past ride is corrected": async () =>
      database.db.transaction(async (tx) => {
        const text = `update rides set updated_at = now(), end_station_id = 's4'
          where id = (select id from rides where status = 'completed' order by md5(id || ${++made}::text) limit 1) returning started_at`;
        const [ride] = await tx.query<{ started_at: Date }>(statement("", text));
        countRides(tx, "main", 3, { corrected: ride === undefined ? [] : [ride.started_at] });
      }),
    "nothing happens": () => Promise.resolve(),
  };

  beforeAll(async () => {
    const past = await database.db.query<{ id: string; at: Date }>(
      statement("", "select id, started_at as at from rides where id like 'ride %' and status = 'completed'"),
    );
    // The times are computed here, because Citus refuses a time that is computed from another column.
    await database.db.query(
      statement(
        "",
        `update rides set updated_at = past.at from unnest($1::text[], $2::timestamptz[]) as past(id, at)
         where system_id = 'main' and rides.id = past.id`,
      ),
      [past.map(({ id }) => id), past.map(({ at: startedAt }) => new Date(startedAt.getTime() + 11 * 60_000))],
    );
    await database.db.query(
      statement(
        "",
        "update rides set status = 'cancelled' where id in ('ride 7', 'ride 57', 'ride 157', 'ride 257', 'ride 377')",
      ),
    );
    // These writes bypassed the counts, so the days must be read again.
    await database.db.transaction((tx) => {
      countRides(tx, "main", 3, { corrected: Array.from({ length: 400 }, (_, index) => now - index * 3.7 * HOUR_MS) });
      return Promise.resolve();
    });
  });

  it("show at every page the rides, and the number of pages, that counting one by one gives", async () => {
    const change = fc.constantFrom(...(Object.keys(changes) as (keyof typeof changes)[]));
    await fc.assert(
      fc.asyncProperty(filters, change, fc.double({ min: 0, max: 1, noNaN: true }), async (asked, happening, depth) => {
        await changes[happening]();
        const { started_after: after, started_before: before, updated_since: since } = asked;
        const given: RideFilters = {
          ...asked,
          started_after: after === undefined ? undefined : at(after),
          started_before: before === undefined ? undefined : at(before),
          updated_since: since === undefined ? undefined : at(since),
        };
        const rides = await database.db.query<{ id: string; started_at: Date }>(
          statement(
            "",
            `select id, started_at from rides where ($1::text is null or bike_id = $1)
               and ($2::text is null or start_station_id = $2 or end_station_id = $2)
               and ($3::timestamptz is null or started_at >= $3) and ($4::timestamptz is null or started_at < $4)
               and ($5::text is null or status = $5) and ($6::timestamptz is null or updated_at >= $6)
             order by started_at desc, id desc`,
          ),
          [
            given.bike_id,
            given.station_id,
            given.started_after,
            given.started_before,
            given.status,
            given.updated_since,
          ].map((each) => each ?? null),
        );
        const limit = 10;
        const page = 1 + Math.floor(depth * Math.max(0, Math.ceil(rides.length / limit) - 1));
        const idsOf = (items: string) => (JSON.parse(`[${items}]`) as { id: string }[]).map(({ id }) => id);
        const shown = await list(database.db, given, { kind: "page", page, limit });
        const expected = rides.slice((page - 1) * limit, page * limit);
        expect([given, idsOf(shown.items), shown.total]).toEqual([given, expected.map(({ id }) => id), rides.length]);
        const last = expected.at(-1);
        if (last === undefined) return;
        const position = { at: last.started_at.toISOString(), id: last.id };
        const next = await list(database.db, given, { kind: "cursor", after: position, limit });
        expect(idsOf(next.items)).toEqual(rides.slice(page * limit, (page + 1) * limit).map(({ id }) => id));
      }),
      { numRuns: randomRuns(150) },
    );
  });
});

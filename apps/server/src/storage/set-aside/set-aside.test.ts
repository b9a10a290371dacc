import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openReservationsHarness, type ReservationsHarness } from "../../../test/reservations/reservations.harness.ts";
import { createFragileDatabase } from "../../../test/webhooks/fragile-database.ts";
import { startReservationSweeper } from "../../city/fleet/reservation-commands.ts";
import { createSequencer } from "../../events/sequencer.ts";
import { systemCheckFinders } from "../../health/checks/system-checks.ts";
import { openRequestLog } from "../../partners/request-log/service.ts";
import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { releaseUnits, setAsideUnits } from "./service.ts";
import { runGuarded, sweepUnits, type UnitWork } from "./units.ts";
import { MAX_CRASHES } from "./work.rules.ts";

let harness: ReservationsHarness;
let errors: unknown[];
const onError = (error: unknown) => void errors.push(error);
const found = () =>
  systemCheckFinders["set aside"]({ db: harness.db, clock: harness.clock, longRideAfterMs: 0 }, harness.systemId);
beforeEach(async () => {
  harness = await openReservationsHarness();
  errors = [];
});
afterEach(() => harness.close());

const rows = <Row>(sql: string, ...values: unknown[]) =>
  harness.db.query<Row>(statement("", sql), [harness.systemId, ...values]);
/** Lets the minute pass after which an unfinished run counts as a crash. */
const passMinute = () => rows("update work_runs set ends_by = now() where system_id = $1");
/** Makes the next tries due. */
const passDelay = () => rows("update work_failures set due_at = now() where system_id = $1 and due_at is not null");
const release = (unit?: string) => releaseUnits({ ...harness.live, actor: "cli:test" }, harness.systemId, unit);

test("a reservation that cannot be written as expired keeps no other one; mended, it expires by itself", async () => {
  const types = JSON.stringify([{ vehicle_type_id: "bike", count: 3 }]);
  await harness.fill(
    "good",
    [1, 2, 3, 4].map((n) => ({ id: `good-${n}` })),
  );
  await harness.fill("bad", [{ id: "bad-1" }], { counters: "mirrored" });
  for (const [station, n] of [
    ["good", 2],
    ["bad", 1],
    ["good", 2],
  ] as const) {
    for (let i = 0; i < n; i++) await harness.create({ station_id: station, hold_minutes: 1 });
  }
  harness.clock.advance(60_000);
  // The count is more than a bigint holds, so that the station's counters cannot be computed.
  await rows(
    `update stations set vehicle_types_available = '[{"vehicle_type_id":"bike","count":9223372036854775808}]'
     where system_id = $1 and id = 'bad'`,
  );

  const systems = () => Promise.resolve([harness.systemId]);
  const sweeper = startReservationSweeper({ ...harness.live, systems, onError });
  expect(await sweeper.runOnce()).toBe(4);
  const [unit] = await setAsideUnits(harness.db, harness.systemId);
  const [held] = await rows<{ id: string }>("select id from reservations where system_id = $1 and status = 'active'");
  expect(unit).toMatchObject({ work: "expire-reservation", unit: held?.id, failures: 1, crashes: 0 });
  expect(unit?.message).toContain("out of range");
  expect(String(errors[0])).toContain(held?.id ?? "?");

  // The next sweep leaves the failed reservation out, but it is tried again later.
  expect(await sweeper.runOnce()).toBe(0);
  expect(errors).toHaveLength(1);
  await passDelay();
  await sweeper.runOnce();
  expect((await setAsideUnits(harness.db, harness.systemId))[0]?.failures).toBe(2);
  expect(await found()).toMatchObject([{ status: "warning", check: "set aside" }]);

  await rows("update stations set vehicle_types_available = $2::text::json where system_id = $1 and id = 'bad'", types);
  await passDelay();
  expect(await sweeper.runOnce()).toBe(1);
  expect(await setAsideUnits(harness.db, harness.systemId)).toEqual([]);
  expect(await found()).toMatchObject([{ status: "ok" }]);
  await sweeper.close();
});

test("an event that cannot be listed keeps no other one from its position; mended and released, it gets the next", async () => {
  // The name is too long for PostgreSQL's index: the outbox accepts it, and the list of events does not.
  const insert = (id: string, name: string) =>
    rows(
      `insert into event_outbox (system_id, id, name, occurred_at, data)
       select $1, $2, case when $3 = '' then (select string_agg(md5(n::text), '') from generate_series(1, 300) n) else $3 end, now(), '{}'`,
      id,
      name,
    );
  for (let n = 10; n < 40; n++) await insert(`event_${n}`, n === 17 || n === 31 ? "" : "ride.started");
  const sequencer = createSequencer({ ...harness.live, onError, pollIntervalMs: 0 });
  expect(await sequencer.runOnce(harness.systemId)).toBe(28);
  const bad = (await setAsideUnits(harness.db, harness.systemId)).map(({ unit }) => unit);
  expect(bad).toEqual(["event_17", "event_31"]);
  await insert("event_50", "ride.started");
  expect(await sequencer.runOnce(harness.systemId)).toBe(1);

  await rows("update event_outbox set name = 'ride.ended' where system_id = $1 and id = 'event_17'");
  await release("event_17");
  await expect(release("event_18")).rejects.toThrow("No background job of");
  expect(await sequencer.runOnce(harness.systemId)).toBe(1);
  const listed = await rows<{ id: string; position: number }>(
    "select id, position from events where system_id = $1 order by position",
  );
  expect(listed.map(({ position }) => position)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  expect(listed.at(-1)?.id).toBe("event_17");
  expect((await setAsideUnits(harness.db, harness.systemId)).map(({ unit }) => unit)).toEqual(["event_31"]);
  await sequencer.close();
});

test("a request that cannot be logged costs no other one, of its system or another, its line", async () => {
  let unlogged = 0;
  const log = openRequestLog({ db: harness.db, onUnlogged: (n) => void (unlogged += n), onError });
  const request = (n: number, systemId: string) => ({
    ...{ systemId, id: `request_${n}`, at: Date.now(), keyId: "key_1", partnerId: "partner-1", method: "GET" },
    ...{ route: n === 5 ? "/v1/\0" : "/v1/stations", status: 200, error: null, ms: 1, address: "127.0.0.1" },
  });
  for (let n = 0; n < 12; n++) log.record(request(n, n % 2 === 0 ? "other" : harness.systemId));
  await log.close();
  const [stored] = await rows<{ n: number }>("select count(*) as n from request_log where system_id in ($1, 'other')");
  expect([stored?.n, unlogged, errors.length]).toEqual([11, 1, errors.length]);
});

/** Simulates a process that works on units until none is left, or until it dies. @returns whether it died */
async function runProcess(done: Set<string>, world: World, limit: number): Promise<boolean> {
  const db = createFragileDatabase(harness.db);
  const work: UnitWork = {
    ...{ db, work: "notify-of-station", canCrash: true, onError },
    list: (_systemId, most, apart) =>
      Promise.resolve(world.units.filter((unit) => !done.has(unit) && !apart.includes(unit)).slice(0, most)),
    run: (_systemId, units) => {
      if (units.some((unit) => world.failing.has(unit))) return Promise.reject(new RangeError("cannot be"));
      if (units.some((unit) => world.deadly.has(unit))) {
        db.die();
        return Promise.reject(new Died());
      }
      for (const unit of units) done.add(unit);
      return Promise.resolve(units.length);
    },
  };
  for (let isMore = true; isMore;) {
    try {
      ({ isMore } = await sweepUnits(work, harness.systemId, limit));
    } catch (error) {
      if (error instanceof Died) return true;
      throw error;
    }
    // A dead process gets no error: its last statements had no effect.
    if (await hasDied(db)) return true;
  }
  return false;
}

class Died extends Error {
  readonly code = "57P01";
}

async function hasDied(db: Queryable): Promise<boolean> {
  return (await db.query(statement("", "select 1"))).length === 0;
}

interface World {
  readonly units: readonly string[];
  readonly deadly: ReadonlySet<string>;
  readonly failing: ReadonlySet<string>;
}

test("whatever units end their process or fail: all others are done at once, each deadly one is set aside after three, none is blamed for another, and released all are done", async () => {
  const worlds = fc
    .record({ n: fc.integer({ min: 1, max: 40 }), limit: fc.integer({ min: 1, max: 50 }) })
    .chain(({ n, limit }) =>
      fc.record({
        limit: fc.constant(limit),
        units: fc.constant(Array.from({ length: n }, (_, i) => `unit-${i}`)),
        deadly: fc.uniqueArray(fc.integer({ min: 0, max: n - 1 }), { maxLength: 3 }),
        failing: fc.uniqueArray(fc.integer({ min: 0, max: n - 1 }), { maxLength: 3 }),
      }),
    );
  await fc.assert(
    fc.asyncProperty(worlds, async ({ units, limit, ...drawn }) => {
      await rows("delete from work_failures where system_id = $1");
      await rows("delete from work_runs where system_id = $1");
      const named = (numbers: readonly number[]) => new Set(numbers.map((n) => `unit-${n}`));
      const deadly = named(drawn.deadly);
      const failing = named(drawn.failing.filter((n) => !drawn.deadly.includes(n)));
      const done = new Set<string>();
      let deaths = 0;
      while (await runProcess(done, { units, deadly, failing }, limit)) {
        deaths++;
        // The runs of the dead process become overdue, so that the next process counts its crash.
        await passMinute();
      }
      // One death may count for several units, so there are at most MAX_CRASHES deaths for each deadly unit.
      expect(deaths).toBeLessThanOrEqual(MAX_CRASHES * deadly.size);
      expect([...done].toSorted()).toEqual(units.filter((u) => !deadly.has(u) && !failing.has(u)).toSorted());
      const kept = await setAsideUnits(harness.db, harness.systemId);
      const setAside = kept.filter(({ next_try_at: at }) => at === null);
      expect(setAside.map(({ unit, crashes }) => `${unit}: ${crashes}`).toSorted()).toEqual(
        [...deadly].map((unit) => `${unit}: ${MAX_CRASHES}`).toSorted(),
      );
      expect(new Set(kept.map(({ unit }) => unit))).toEqual(new Set([...deadly, ...failing]));

      await release();
      await runProcess(done, { units, deadly: new Set(), failing: new Set() }, limit);
      expect([done.size, (await setAsideUnits(harness.db, harness.systemId)).length]).toEqual([units.length, 0]);
    }),
    { numRuns: 12 },
  );
});

test("a source whose feed ends each process that applies it is left alone after three, until it is released", async () => {
  const guarded = (db: Queryable, run: () => Promise<string>) =>
    runGuarded({ db, work: "follow-feed", systemId: harness.systemId, unit: "gbfs", onError }, run);
  for (let death = 1; death <= MAX_CRASHES; death++) {
    const db = createFragileDatabase(harness.db);
    await guarded(db, () => {
      db.die();
      return Promise.reject(new Died());
    }).catch(onError);
    await passMinute();
  }
  await expect(guarded(harness.db, () => Promise.resolve("applied"))).rejects.toThrow("set-aside list");
  expect(await found()).toMatchObject([{ status: "failure" }]);
  await release("gbfs");
  expect(await guarded(harness.db, () => Promise.resolve("applied"))).toBe("applied");
  expect(await setAsideUnits(harness.db, harness.systemId)).toEqual([]);
});

import { afterEach, beforeEach, expect, test } from "vitest";
import { expireOverdueReservations } from "../../../test/reservations/expire-overdue.ts";
import { openReservationsHarness, type ReservationsHarness } from "../../../test/reservations/reservations.harness.ts";
import { until } from "../../../test/until.ts";
import type { PeriodicWork } from "../../storage/background/periodic.ts";
import { openDatabase } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { startReservationSweeper } from "./reservation-commands.ts";

let harness: ReservationsHarness;
let sweepers: PeriodicWork<number>[];
let failures: { error: unknown; systemId: string | undefined }[];

beforeEach(async () => {
  harness = await openReservationsHarness();
  sweepers = [];
  failures = [];
});
afterEach(async () => {
  await Promise.all(sweepers.map((sweeper) => sweeper.close()));
  await harness.close();
});

function startSweeper(systems: readonly string[] = [harness.systemId], db = harness.db): PeriodicWork<number> {
  const sweeper = startReservationSweeper({
    ...harness.live,
    db,
    systems: () => Promise.resolve(systems),
    onError: (error, systemId) => void failures.push({ error, systemId }),
  });
  sweepers.push(sweeper);
  return sweeper;
}

/** Reserves `n` bikes at each of two stations for a minute, and lets the minute pass. */
async function makeOverdue(n: number): Promise<void> {
  for (const [station, by] of [
    ["s1", "partner-1"],
    ["s2", "partner-2"],
  ] as const) {
    await harness.fill(
      station,
      Array.from({ length: n }, (_, index) => ({ id: `${station}-${index}` })),
    );
    for (let index = 0; index < n; index++) await harness.create({ station_id: station, hold_minutes: 1 }, by);
  }
  harness.clock.advance(60_000);
}

const expiredEvents = async () => (await harness.events()).filter(({ name }) => name === "reservation.expired");
const keptAs = async (status: string) => {
  const count = statement("", "select count(*) as n from reservations where system_id = $1 and status = $2");
  return (await harness.db.query<{ n: number }>(count, [harness.systemId, status]))[0]!.n;
};

test("two sweepers at once expire each reservation once, with one event each", async () => {
  await makeOverdue(30);
  const other = openDatabase({ connectionString: harness.db.connectionString });
  try {
    const [one, two] = [startSweeper(), startSweeper([harness.systemId], other)];
    let expired = 0;
    // A sweeper leaves reservations that the other sweeper has locked for its next run.
    await until(async () => {
      const numbers = await Promise.all([one.runOnce(), two.runOnce()]);
      expired += numbers[0] + numbers[1];
      return (await keptAs("active")) === 0;
    });
    const recorded = (await expiredEvents()).map(({ data }) => data.id);
    expect([recorded.length, new Set(recorded).size]).toEqual([60, 60]);
    expect(expired).toBeLessThanOrEqual(60);
    for (const station of ["s1", "s2"]) {
      expect(await harness.counters(station)).toMatchObject({ num_bikes_available: 30, num_bikes_reserved: 0 });
    }
    expect(failures).toEqual([]);
  } finally {
    await Promise.all(sweepers.map((sweeper) => sweeper.close()));
    await other.close();
  }
});

test("many at once in small parts expire each reservation once", async () => {
  await makeOverdue(20);
  const expired: number[] = [];
  while ((await keptAs("active")) > 0) {
    expired.push(
      ...(await Promise.all(
        Array.from({ length: 8 }, () => expireOverdueReservations(harness.live, harness.systemId, 7)),
      )),
    );
  }
  expect(expired.reduce((sum, n) => sum + n, 0)).toBe(40);
  expect(new Set((await expiredEvents()).map(({ data }) => data.id)).size).toBe(40);
  expect(await expiredEvents()).toHaveLength(40);
});

test("nothing is expired early, and a bike that is locked at the moment is left for the next sweep", async () => {
  await makeOverdue(1);
  harness.clock.advance(-1);
  expect(await expireOverdueReservations(harness.live, harness.systemId, 10)).toBe(0);
  harness.clock.advance(1);
  await harness.db.transaction(async (tx) => {
    await tx.query(statement("", "select from bikes where system_id = $1 and id = 's1-0' for update"), [
      harness.systemId,
    ]);
    expect(await expireOverdueReservations(harness.live, harness.systemId, 10)).toBe(1);
  });
  expect(await expireOverdueReservations(harness.live, harness.systemId, 10)).toBe(1);
});

test("a reservation whose bike a feed has deleted expires too", async () => {
  await makeOverdue(1);
  await harness.db.query(statement("", "delete from bikes where system_id = $1 and id = 's1-0'"), [harness.systemId]);
  const swept = await Promise.all([
    expireOverdueReservations(harness.live, harness.systemId, 10),
    expireOverdueReservations(harness.live, harness.systemId, 10),
  ]);
  expect(swept[0] + swept[1] + (await expireOverdueReservations(harness.live, harness.systemId, 10))).toBe(2);
  expect(await expiredEvents()).toHaveLength(2);
});

test("one system's failure is logged and does not keep the others from being swept", async () => {
  await makeOverdue(1);
  // A text in PostgreSQL cannot contain a NUL, so sweeping this system always fails.
  const sweeper = startSweeper(["\0", harness.systemId]);
  await until(async () => (await sweeper.runOnce()) === 2 || (await expiredEvents()).length === 2);
  expect(failures.length).toBeGreaterThan(0);
  expect(failures[0]).toMatchObject({ systemId: "\0" });
});

test("a sweeper sweeps by itself, until it is closed", async () => {
  await makeOverdue(1);
  const sweeper = startSweeper();
  await until(async () => (await expiredEvents()).length === 2);
  await sweeper.close();
  expect(failures).toEqual([]);
});

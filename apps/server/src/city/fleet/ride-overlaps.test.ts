import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type FleetHarness,
  type Item,
  openFleetHarness,
  outcomes,
  stationItem,
} from "../../../test/fleet/fleet.harness.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { statement } from "../../storage/db/statement.ts";

let harness: FleetHarness;
/** A bike that was ridden from 60 to 50 and from 30 to 20 minutes ago (`first`, `second`), for each test. */
let bike: string;
let made = 0;
const asImported = statement(
  "test.asImported",
  "update rides set import_id = 'import_1' where system_id = $1 and id = $2",
);

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"));
});
afterAll(() => harness.close());

beforeEach(async () => {
  made++;
  bike = `bike-${made}`;
  await harness.bikes({ id: bike, station_id: "A" });
  harness.clock.advance(3_600_000);
  await ride("first", -60, -50);
  await ride("second", -30, -20);
});

const withEnd = statement("test.withEnd", "update rides set ended_at = $3 where system_id = $1 and id = $2");

/** Moves a ride's end, whatever other rides it then overlaps with, as imports may. */
const lengthen = (name: string, to: number) =>
  harness.db.query(withEnd, [harness.systemId, id(name), new Date(inMinutes(to))]);
const inMinutes = (minutes: number) => new Date(harness.clock() + minutes * 60_000).toISOString();
const id = (name: string) => `${name}-${made}`;
const start = (name: string, from: number) =>
  harness.start({ id: id(name), bike_id: bike, started_at: inMinutes(from) });
const past = (name: string, from: number, to: number, fields: Item = {}) =>
  harness.past({ id: id(name), bike_id: bike, started_at: inMinutes(from), ended_at: inMinutes(to), ...fields });
const correct = (name: string, to: number) => harness.correct({ id: id(name), ended_at: inMinutes(to) });

async function ride(name: string, from: number, to: number) {
  await start(name, from);
  await harness.end({ id: id(name), ended_at: inMinutes(to), end_station_id: "A" });
}

/** Expects an item to be refused because of the ride `name`, and nothing to be changed. */
async function conflictsWith(name: string, work: () => ReturnType<FleetHarness["start"]>): Promise<void> {
  const before = await harness.picture();
  const results = await work();
  expect(outcomes(results)).toEqual(["ride_conflict"]);
  expect(results.results[0]?.error?.message).toContain(
    `cannot be on two rides at once: ride ${id(name)} overlaps these times. Stored: bike ${bike}, started at`,
  );
  expect(await harness.picture()).toEqual(before);
}

describe("commands never have a bike on two rides at once", () => {
  test("a correction moves no end past the start of a later ride, ended or under way", async () => {
    await conflictsWith("second", () => correct("first", -29));
    expect(outcomes(await correct("first", -30))).toEqual(["updated"]);
    await start("third", -10);
    await conflictsWith("third", () => correct("second", -5));
    expect(outcomes(await correct("second", -10))).toEqual(["updated"]);
    await harness.expectSound();
  });

  test("a late start before the end of an earlier ride, or before a later ride, is refused; a cancelled ride is none", async () => {
    await conflictsWith("second", () => start("third", -21));
    await conflictsWith("second", () => start("third", -40));
    await start("cancelled", -15);
    await harness.cancel({ id: id("cancelled"), cancelled_at: inMinutes(-5) });
    expect(outcomes(await start("third", -20))).toEqual(["created"]);
    await harness.expectSound();
  });

  test("history fits between the rides that are there, those of the same batch among them", async () => {
    await conflictsWith("first", () => past("old", -55, -45));
    await conflictsWith("second", () => past("old", -40, -29));
    await conflictsWith("first", () => past("old", -70, -10));
    await start("running", -10);
    await conflictsWith("running", () => past("old", -8, -6));
    const item = (name: string, from: number, to: number) => ({
      id: id(name),
      bike_id: bike,
      started_at: inMinutes(from),
      ended_at: inMinutes(to),
    });
    const results = await harness.past(item("x", -50, -40), item("y", -41, -35), item("z", -40, -30));
    expect(outcomes(results)).toEqual(["created", "ride_conflict", "created"]);
    // A ride does not conflict with its own stored times, but with those of the rides before and after.
    expect(outcomes(await past("x", -50, -45))).toEqual(["updated"]);
    await conflictsWith("z", () => past("x", -50, -39));
    await harness.expectSound();
  });

  test("a start without a time follows the end of the ride before, which a process with another clock wrote", async () => {
    const end = new Date(harness.clock());
    await start("third", -10);
    await harness.end({ id: id("third"), end_station_id: "A" });
    harness.clock.advance(-20_000);
    expect(outcomes(await harness.start({ id: id("fourth"), bike_id: bike }))).toEqual(["created"]);
    expect((await harness.ride(id("fourth")))["started_at"]).toEqual(end);
    expect(outcomes(await harness.end({ id: id("fourth"), end_station_id: "A" }))).toEqual(["updated"]);
    harness.clock.advance(20_000);
    await harness.expectSound();
  });

  test("a start without a time is refused if so many rides follow it that the last is not read", async () => {
    harness.clock.advance(240_000);
    const later = Array.from({ length: 25 }, (_, n) => ({
      id: id(`later-${n}`),
      bike_id: bike,
      started_at: inMinutes(-4 + n / 8),
      ended_at: inMinutes(-4 + n / 8 + 0.1),
    }));
    await harness.past(...later);
    harness.clock.advance(-240_000);
    await conflictsWith("later-0", () => harness.start({ id: id("now"), bike_id: bike }));
    harness.clock.advance(240_000);
  });

  test("of a correction, a start and history of the same minutes at once, one is done", async () => {
    for (let round = 0; round < 10; round++) {
      const results = await Promise.all([
        correct("second", -1),
        start(`start-${round}`, -5),
        past(`past-${round}`, -8, -2),
        harness.past({
          id: `unknown-${made}-${round}`,
          bike_id: id("unknown"),
          started_at: inMinutes(-8),
          ended_at: inMinutes(-3),
        }),
        harness.past({
          id: `unknown-${made}-${round}-b`,
          bike_id: id("unknown"),
          started_at: inMinutes(-5),
          ended_at: inMinutes(-2),
        }),
      ]);
      const seen = results.flatMap(outcomes);
      expect(seen.slice(0, 3).filter((outcome) => outcome !== "ride_conflict")).toHaveLength(1);
      // This bike does not exist, so it has no row to lock.
      expect(seen.slice(3).sort()).toEqual(["created", "ride_conflict"]);
      await harness.expectSound();
      if (seen[1] === "created") await harness.end({ id: id(`start-${round}`), ended_at: inMinutes(-1) });
      harness.clock.advance(600_000);
      await correct("second", -15);
    }
  });
});

describe("rides that an import had overlap hide no conflict", () => {
  afterEach(async () => {
    await lengthen("first", -50);
    await harness.expectSound();
  });

  test("of a new ride with a ride that contains the one before it", async () => {
    await lengthen("first", -5);
    await conflictsWith("first", () => start("third", -10));
    await conflictsWith("first", () => past("old", -15, -8));
    expect(outcomes(await past("old", -5, -4))).toEqual(["created"]);
  });

  test("of a ride that becomes longer with the rides after it, however many it overlaps with already", async () => {
    const inside = Array.from({ length: 30 }, (_, n) => ({
      id: id(`inside-${n}`),
      bike_id: bike,
      started_at: inMinutes(-49 + n / 3),
      ended_at: inMinutes(-49 + n / 3 + 0.1),
    }));
    await harness.past(...inside);
    await lengthen("first", -35);
    await conflictsWith("second", () => past("first", -60, -25));
    await conflictsWith("second", () => correct("first", -25));
    expect(outcomes(await past("first", -60, -30))).toEqual(["updated"]);
  });
});

test("rides that an import had overlap are listed as a warning, and can be corrected all the same", async () => {
  await harness.db.query(asImported, [harness.systemId, id("second")]);
  await lengthen("first", -25);
  const broken = async () => (await checkInvariants(harness.db, harness.systemId)).filter((check) => check.broken > 0);
  expect(await broken()).toMatchObject([
    { name: "imported_overlaps", severity: "warning", broken: 1, examples: [`${id("second")} of bike ${bike}`] },
  ]);
  expect(outcomes(await correct("first", -22))).toEqual(["updated"]);
  expect(outcomes(await correct("first", -35))).toEqual(["updated"]);
  expect(await broken()).toEqual([]);
});

describe("a clock that is up to five minutes ahead", () => {
  test("never keeps a ride from ending: times ahead are stored as now, and the answer says so", async () => {
    const now = new Date(harness.clock());
    const ahead = inMinutes(4);
    const started = await harness.start({ id: id("ahead"), bike_id: bike, started_at: ahead });
    expect(started.results).toEqual([
      {
        id: id("ahead"),
        outcome: "created",
        error: null,
        warning: `started_at lies 240 s ahead of the service's clock, and is stored as ${now.toISOString()}. Set the clock that it comes from.`,
      },
    ]);
    expect((await harness.ride(id("ahead")))["started_at"]).toEqual(now);
    harness.clock.advance(1_000);
    expect(outcomes(await harness.start({ id: id("ahead"), bike_id: bike, started_at: ahead }))).toEqual(["unchanged"]);
    const end = { id: id("ahead"), ended_at: inMinutes(4), end_station_id: "A" };
    const ended = await harness.end(end);
    expect(outcomes(ended)).toEqual(["updated"]);
    expect(ended.results[0]?.warning).toContain("ended_at lies 240 s");
    expect(await harness.ride(id("ahead"))).toMatchObject({ ended_at: new Date(harness.clock()), duration_seconds: 1 });
    expect(outcomes(await harness.end(end))).toEqual(["unchanged"]);
    await harness.expectSound();
  });

  test("of the process that started a ride, too: it ends when it began", async () => {
    await harness.start({ id: id("ahead"), bike_id: bike });
    harness.clock.advance(-30_000);
    const { started_at: startedAt } = await harness.ride(id("ahead"));
    expect(outcomes(await harness.end({ id: id("ahead"), ended_at: inMinutes(0.2) }))).toEqual(["updated"]);
    expect(await harness.ride(id("ahead"))).toMatchObject({ ended_at: startedAt, duration_seconds: 0 });
    harness.clock.advance(30_000);
    await harness.expectSound();
  });

  test("of a bike: its report counts from its arrival on, so that the end of a ride after it moves the bike", async () => {
    await harness.stations(stationItem("B"));
    await start("third", -10);
    const reported = await harness.report({ id: bike, at: inMinutes(3), station_id: "A" });
    expect(reported.results[0]?.warning).toContain("at lies 180 s ahead");
    harness.clock.advance(1_000);
    await harness.end({ id: id("third"), end_station_id: "B" });
    expect((await harness.bike(bike))["station_id"]).toBe("B");
    await harness.expectSound();
  });
});

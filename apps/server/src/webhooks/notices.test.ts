import { STATION_NOTICE_SECONDS } from "@bikeshare/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../test/fleet/fleet.harness.ts";
import { noticesIn, subscribe, tellingsOf } from "../../test/notices.ts";
import { until } from "../../test/until.ts";
import { createSystem } from "../city/systems/service.ts";
import { statement } from "../storage/db/statement.ts";
import { publishChangedStations, startStationNotices } from "./notices.ts";

const SECOND = 1_000;
const MINUTE = STATION_NOTICE_SECONDS * SECOND;

let harness: FleetHarness;
beforeEach(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B"));
});
afterEach(() => harness.close());

const sweep = () => publishChangedStations(harness.live, harness.systemId, 500);
const rename = (id: string, name: string) => harness.stations({ id, name });
const countIn = async (table: string) =>
  (await harness.db.query<{ n: number }>(statement("", `select count(*) as n from ${table}`)))[0]?.n;

/** Publishes the first notice of each station, and advances the clock by a minute. */
async function publishFirstNotices(): Promise<void> {
  await subscribe(harness, "p", ["station.updated"]);
  expect(await sweep()).toBe(2);
  harness.clock.advance(MINUTE);
}

describe("station.updated", () => {
  it("leaves no row where nobody wants it", async () => {
    await subscribe(harness, "p", ["station.offline", "bike.state_changed"]);
    expect(await sweep()).toBe(0);
    for (const table of ["webhook_deliveries", "webhook_bodies", "webhook_queue", "webhook_station_notices"])
      expect(await countIn(table)).toBe(0);
  });

  it("is told of every station once when it is first wanted, so that no change before the first sweep is missed", async () => {
    await subscribe(harness, "p", ["station.updated"]);
    await rename("A", "changed before the first sweep");
    expect(await sweep()).toBe(2);
    expect(await tellingsOf(harness, "name")).toContain("changed before the first sweep");
    harness.clock.advance(10 * MINUTE);
    expect(await sweep()).toBe(0);
  });

  it("carries the station as GET shows it, and says when it last changed", async () => {
    await publishFirstNotices();
    await harness.bikes({ id: "1", station_id: "A" });
    await sweep();
    const notice = (await noticesIn(harness)).at(-1);
    const { json } = await harness.station("A");
    expect(notice).toMatchObject({ partner: "p", status: "pending", due: true });
    expect(notice?.data).toEqual(JSON.parse(String(json)));
    expect(notice?.occurred_at.toISOString()).toBe(notice?.data["updated_at"]);
  });

  it("is told at once after a quiet minute, then once a minute at most, with the last change and no earlier one", async () => {
    await publishFirstNotices();
    const names: unknown[] = [];
    for (let second = 0; second <= 130; second++) {
      await rename("A", `at ${second}`);
      if (second % 3 === 0 && (await sweep()) > 0) names.push((await tellingsOf(harness, "name")).at(-1));
      harness.clock.advance(SECOND);
    }
    expect(names).toEqual(["at 0", "at 60", "at 120"]);
    harness.clock.advance(MINUTE);
    expect(await sweep()).toBe(1);
    expect((await tellingsOf(harness, "name")).at(-1)).toBe("at 130");
    harness.clock.advance(MINUTE);
    expect(await sweep()).toBe(0);
  });

  it("is told of the second of two changes in one millisecond", async () => {
    await publishFirstNotices();
    await rename("A", "first");
    await sweep();
    await rename("A", "second");
    harness.clock.advance(MINUTE);
    expect(await sweep()).toBe(1);
    expect((await tellingsOf(harness, "name")).slice(-2)).toEqual(["first", "second"]);
  });

  it("is told once by however many sweepers at the same moment", async () => {
    await subscribe(harness, "p", ["station.updated"]);
    await harness.stations(...Array.from({ length: 60 }, (_, n) => stationItem(`S${n}`)));
    for (let round = 0; round < 5; round++) {
      const before = (await countIn("webhook_deliveries")) ?? 0;
      const swept = await Promise.all(Array.from({ length: 6 }, sweep));
      expect(swept.reduce((sum, n) => sum + n, 0)).toBe(62);
      expect(await countIn("webhook_deliveries")).toBe(before + 62);
      harness.clock.advance(MINUTE);
      await harness.stations(
        ...["A", "B", ...Array.from({ length: 60 }, (_, n) => `S${n}`)].map((id) => ({ id, name: `round ${round}` })),
      );
    }
  });

  it("is told once when a second sweeper finds the same change while the first has not committed", async () => {
    await publishFirstNotices();
    await rename("A", "changed");
    let second: Promise<number> | undefined;
    await harness.db.transaction(async (tx) => {
      expect(await publishChangedStations({ ...harness.live, db: tx }, harness.systemId, 500)).toBe(1);
      second = sweep();
      await untilSomebodyWaits();
    });
    expect(await second).toBe(0);
    expect(await tellingsOf(harness, "name")).toHaveLength(3);
  });

  it("is told by the next when a sweeper dies before its commit", async () => {
    await publishFirstNotices();
    await rename("A", "changed");
    const died = new Error("died");
    const first = harness.db.transaction(async (tx) => {
      expect(await publishChangedStations({ ...harness.live, db: tx }, harness.systemId, 500)).toBe(1);
      throw died;
    });
    await expect(first).rejects.toBe(died);
    expect(await sweep()).toBe(1);
    expect((await tellingsOf(harness, "name")).at(-1)).toBe("changed");
  });

  it("does not hold up who changes the station while it is being told of", async () => {
    await publishFirstNotices();
    await rename("A", "changed");
    await harness.db.transaction(async (tx) => {
      await publishChangedStations({ ...harness.live, db: tx }, harness.systemId, 500);
      await rename("A", "changed again");
    });
    harness.clock.advance(MINUTE);
    await sweep();
    expect((await tellingsOf(harness, "name")).slice(-2)).toEqual(["changed", "changed again"]);
  });
});

describe("the sweeper", () => {
  const start = (onError: (error: unknown) => void, systems: readonly string[]) =>
    startStationNotices({ ...harness.live, systems: () => Promise.resolve(systems), onError });

  it("tells each system's endpoints of that system's stations, all of them however many", async () => {
    await createSystem(harness.db, "other", "Other", 0);
    await subscribe(harness, "p", ["station.updated"]);
    await subscribe({ db: harness.db, systemId: "other" }, "q", ["station.updated"]);
    await harness.stations(...Array.from({ length: 998 }, (_, n) => stationItem(`S${n}`)));
    const sweeper = start(fail, ["other", "main"]);
    expect(await sweeper.runOnce()).toBe(1000);
    await sweeper.close();
    expect(await noticesIn({ db: harness.db, systemId: "other" })).toEqual([]);
    expect(await noticesIn(harness)).toHaveLength(1000);
  });

  it("says that one system's sweep failed, and sweeps the others", async () => {
    await subscribe(harness, "p", ["station.updated"]);
    const errors: unknown[] = [];
    // PostgreSQL rejects text with a null character, so the first system fails.
    const sweeper = start((error) => void errors.push(error), ["\u0000", "main"]);
    expect(await sweeper.runOnce()).toBe(2);
    await sweeper.close();
    expect(errors).toHaveLength(1);
  });
});

async function untilSomebodyWaits(): Promise<void> {
  const waiting = statement(
    "",
    "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  await until(async () => ((await harness.db.query<{ n: number }>(waiting))[0]?.n ?? 0) > 0);
}

function fail(error: unknown): never {
  throw error;
}

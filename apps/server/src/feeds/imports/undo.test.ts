import { ServiceError } from "@bikeshare/rules";
import { createTestIds, randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  examples,
  NOW,
  openTripImportHarness,
  type TripImportHarness,
} from "../../../test/trips/trip-import.harness.ts";
import { until } from "../../../test/until.ts";
import { upsertAlerts } from "../../city/alerts/service.ts";
import { batchOf, writePastRides } from "../../city/fleet/ride-import.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import { createSystem } from "../../city/systems/service.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { listActs } from "../../partners/audit/queries.ts";
import { statement } from "../../storage/db/statement.ts";
import type { TripImportOptions } from "../trips/options.ts";
import { openTimeZone } from "../trips/trip-times.rules.ts";
import { beginImport, findImport, ImportUndone, listImports } from "./service.ts";
import { undoImport } from "./undo.ts";

let harness: TripImportHarness;
beforeAll(async () => {
  harness = await openTripImportHarness();
});
afterAll(() => harness.close());

const ids = createTestIds();
const HEADER = examples.lyft.split("\n")[0] ?? "";
const ridesOf = statement("test.undo.rides", "select * from rides where system_id = $1 order by id");
const stationsOf = statement(
  "test.undo.stations",
  "select id, name, lat, lon, status, source from stations where system_id = $1 order by id",
);
const eventsOf = statement("test.undo.events", "select id from event_outbox where system_id = $1");
const alertsOf = statement(
  "test.undo.alerts",
  `select id, ended_at is null as is_open, content -> 'station_ids' as stations from rider_alerts where system_id = $1 order by id`,
);
const alertEnds = statement(
  "test.undo.alertEnds",
  `select name || ' ' || (data::json ->> 'id') as event from event_outbox where system_id = $1 and name = 'alert.ended'`,
);
const run = (text: string) => (systemId: string) => harness.db.query(statement("", text), [systemId]);

let systems = 0;
/** Creates a system in the harness's database. Returns the functions with which a test imports, undoes and checks. */
async function openSystem() {
  const systemId = `city${++systems}`;
  let at = NOW;
  await createSystem(harness.db, systemId, systemId, NOW);
  return {
    systemId,
    async import(text: string, changes: Partial<TripImportOptions> = {}) {
      const file = await harness.write(`${ids.next("file")}.csv`, text);
      const importId = ids.next("import");
      at += 1000;
      const now = at;
      return harness.import([file], { systemId, importId, clock: () => now, ...changes });
    },
    undo: (id: string | null, onProgress: () => void = () => undefined) =>
      undoImport(
        { db: harness.db, clock: () => at, ids, actor: "cli:test", onProgress, batchRows: 2 },
        systemId,
        id ?? "",
      ),
    async state() {
      const rides = await harness.db.query<{ id: string }>(ridesOf, [systemId]);
      const stations = await harness.db.query<{ id: string }>(stationsOf, [systemId]);
      return { rides, stations };
    },
    async expectSound() {
      expect((await checkInvariants(harness.db, systemId)).filter(({ broken }) => broken > 0)).toEqual([]);
    },
  };
}

const rejection = (pattern: RegExp) => ({ name: "ServiceError", message: expect.stringMatching(pattern) as string });

/** Returns how often the least cared for of the tables with rides and their counts was vacuumed and analysed. */
async function timesCaredFor(): Promise<number> {
  const text = `select min(least(vacuum_count, analyze_count))::int as n from pg_stat_user_tables
    where relname in ('rides', 'ride_counts', 'list_counts', 'stations')`;
  return (await harness.db.query<{ n: number }>(statement("", text)))[0]?.n ?? 0;
}

it("an import and its undo leave PostgreSQL with what it must know of the tables they wrote", async () => {
  const city = await openSystem();
  const before = await timesCaredFor();
  const { id } = await city.import(examples.lyft);
  await until(async () => (await timesCaredFor()) > before);
  const between = await timesCaredFor();
  await city.undo(id);
  await until(async () => (await timesCaredFor()) > between);
});

describe("undoImport, trips", () => {
  it("removes rides and placeholder stations with their counts, makes no event, and lets the file be imported as another zone", async () => {
    const city = await openSystem();
    const wrong = await city.import(examples.citiBike, { zone: openTimeZone("Europe/Oslo") });
    expect(wrong).toMatchObject({ created: 2, stations_created: 2, first: "2019-01-01T02:09:09.711Z" });
    expect(await city.undo(wrong.id)).toEqual({ kind: "trips", rides: 2, stations: 2, bikes: 0 });
    expect(await city.state()).toEqual({ rides: [], stations: [] });
    expect(await harness.db.query(eventsOf, [city.systemId])).toEqual([]);
    await city.expectSound();
    const acts = await listActs(harness.db, city.systemId, { limit: 10 });
    expect(acts.map(({ action, subject }) => [action, subject])).toEqual([
      ["import.undone", wrong.id],
      ["import.trips", wrong.id],
    ]);
    const right = await city.import(examples.citiBike);
    expect(right).toMatchObject({ created: 2, stations_created: 2, first: "2019-01-01T08:09:09.711Z" });
    await city.expectSound();
    expect(await listImports(harness.db, city.systemId)).toMatchObject([
      { id: right.id, status: "done", created: 2, stations_created: 2, detail: { time_zone: "America/New_York" } },
      { id: wrong.id, status: "undone" },
    ]);
  });

  it("ends the alerts that concern only stations which are gone, and takes those out of the others", async () => {
    const city = await openSystem();
    const live = { db: harness.db, clock: () => NOW + 5_000, ids };
    const { id } = await city.import(examples.citiBike);
    await upsertStations(live, city.systemId, [{ item: { id: "own", name: "Own", lat: 1, lon: 2 } }]);
    const alert = (alertId: string, station_ids: string[]) => ({
      item: { id: alertId, type: "other" as const, summary: "Works", station_ids },
    });
    const [a, b] = (await city.state()).stations.map((station) => station.id);
    const alerts = [alert("gone", [a ?? "", b ?? ""]), alert("both", [a ?? "", "own"]), alert("other", ["own"])];
    await upsertAlerts(live, city.systemId, alerts);
    await city.undo(id);
    const left = await harness.db.query<{ id: string; is_open: boolean; stations: string[] }>(alertsOf, [
      city.systemId,
    ]);
    expect(left).toEqual([
      { id: "both", is_open: true, stations: ["own"] },
      { id: "gone", is_open: false, stations: [a, b] },
      { id: "other", is_open: true, stations: ["own"] },
    ]);
    const events = await harness.db.query<{ event: string }>(alertEnds, [city.systemId]);
    expect(events).toEqual([{ event: "alert.ended gone" }]);
    await city.expectSound();
  });

  it("is refused while a later import that found its rides stands, and names what to take back first", async () => {
    const city = await openSystem();
    const first = await city.import(examples.lyft);
    const again = await city.import(examples.lyft);
    expect(again).toMatchObject({ created: 0, unchanged: 3 });
    await expect(city.undo(first.id)).rejects.toMatchObject(rejection(new RegExp(`undo ${again.id}`)));
    expect((await city.state()).rides).toHaveLength(3);
    await city.undo(again.id);
    expect((await city.state()).rides).toHaveLength(3);
    expect(await city.undo(first.id)).toMatchObject({ rides: 3 });
    await expect(city.undo(first.id)).rejects.toMatchObject(rejection(/already/));
    await expect(city.undo("import_none")).rejects.toBeInstanceOf(ServiceError);
  });

  it("is refused when a ride was changed since, names it, and changes nothing", async () => {
    const city = await openSystem();
    const { id } = await city.import(examples.lyft);
    await run("update rides set distance_meters = 1, updated_at = now() where system_id = $1 and id = 'A2'")(
      city.systemId,
    );
    await expect(city.undo(id)).rejects.toMatchObject(rejection(/1 of its 3 rides were changed since \(such as A2\)/));
    expect((await city.state()).rides).toHaveLength(3);
    expect(await findImport(harness.db, city.systemId, id ?? "")).toMatchObject({ status: "done" });
  });

  it("keeps stations that a feed has claimed, and those that bikes stand at", async () => {
    const city = await openSystem();
    const { id } = await city.import(examples.citiBike);
    await run(
      "update stations set status = 'online', offline_reason = null, updated_at = now() where system_id = $1 and id = '11'",
    )(city.systemId);
    await run(`insert into bikes (system_id, id, vehicle_state, station_id, updated_at, source)
               values ($1, 'b', 'available', '12', now(), 'operator')`)(city.systemId);
    expect(await city.undo(id)).toMatchObject({ rides: 2, stations: 0 });
    expect((await city.state()).stations.map((station) => station.id)).toEqual(["11", "12"]);
  });

  it("that was cut off is completed by the next, and nothing is added meanwhile", async () => {
    const city = await openSystem();
    const rows = Array.from({ length: 7 }, (_, n) => lyftRow(n));
    const { id } = await city.import([HEADER, ...rows].join("\n"));
    const stop = () => {
      throw new Error("stopped");
    };
    await expect(city.undo(id, stop)).rejects.toThrow("stopped");
    expect((await city.state()).rides).toHaveLength(5);
    await city.expectSound();
    expect(await findImport(harness.db, city.systemId, id ?? "")).toMatchObject({ status: "undoing" });
    await expect(city.import([HEADER, ...rows].join("\n"))).rejects.toBeInstanceOf(ImportUndone);
    expect(await city.undo(id)).toMatchObject({ rides: 5 });
    expect((await city.state()).rides).toEqual([]);
  });

  it("ends an import that still runs: what it writes after that does not stay", async () => {
    const city = await openSystem();
    const acting = { clock: () => NOW, ids, actor: "cli:test" };
    const { systemId } = city;
    const start = {
      systemId,
      id: "import_running",
      kind: "trips",
      source: "test",
      at: new Date(NOW),
      detail: {},
    } as const;
    await beginImport(harness.db, acting, start);
    await city.undo("import_running");
    const origin = {
      systemId,
      importId: "import_running",
      source: "test",
      updatedAt: new Date(NOW).toISOString(),
    };
    const batch = batchOf(origin, [
      {
        row: 1,
        id: "r",
        bikeId: "b",
        startStationId: null,
        endStationId: null,
        startedAt: NOW - 600_000,
        endedAt: NOW,
        durationSeconds: 600,
        vehicleTypeId: null,
        riderCategory: null,
        endReason: null,
      },
    ]);
    for (const areNew of [true, false]) {
      const writing = writePastRides(harness.db, origin, batch, 0, areNew);
      await expect(writing).rejects.toBeInstanceOf(ImportUndone);
    }
    expect((await city.state()).rides).toEqual([]);
  });
});

function lyftRow(n: number): string {
  const day = String(1 + (n % 28)).padStart(2, "0");
  const end = `Station ${n % 3},S${n % 3}`;
  return `R${n},classic_bike,2021-02-${day} 10:00:00,2021-02-${day} 10:10:00,Start ${n % 4},T${n % 4},${end},40.7,-74.0,40.8,-74.1,member`;
}

describe("imports and undos in any order", () => {
  const ride = fc.integer({ min: 0, max: 9 });
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ import: fc.uniqueArray(ride, { maxLength: 6 }) }) },
    { weight: 2, arbitrary: fc.record({ undo: fc.nat({ max: 5 }) }) },
  );

  it("leave the rides, stations and counts of those imports alone that stand", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        const city = await openSystem();
        const imports: { id: string; rides: readonly number[]; found: Set<string>; stands: boolean }[] = [];
        const owners = new Map<number, string>();
        for (const one of steps) {
          if ("import" in one) {
            const result = await city.import([HEADER, ...one.import.map(lyftRow)].join("\n"));
            const id = result.id ?? "";
            const found = new Set(one.import.flatMap((n) => owners.get(n) ?? []));
            for (const n of one.import) if (!owners.has(n)) owners.set(n, id);
            imports.push({ id, rides: one.import, found, stands: true });
            continue;
          }
          const wanted = imports[one.undo];
          if (wanted === undefined) continue;
          const isNeeded = imports.some(({ stands, found }) => stands && found.has(wanted.id));
          if (!wanted.stands || isNeeded) {
            await expect(city.undo(wanted.id)).rejects.toBeInstanceOf(ServiceError);
            continue;
          }
          await city.undo(wanted.id);
          wanted.stands = false;
          for (const [n, owner] of owners) if (owner === wanted.id) owners.delete(n);
        }
        const standing = new Set(imports.filter(({ stands }) => stands).flatMap(({ rides }) => rides));
        const { rides, stations } = await city.state();
        expect(rides.map(({ id }) => id)).toEqual([...standing].toSorted((a, b) => a - b).map((n) => `R${n}`));
        const named = [...standing].flatMap((n) => [`S${n % 3}`, `T${n % 4}`]);
        expect(stations.map(({ id }) => id)).toEqual([...new Set(named)].toSorted());
        await city.expectSound();
      }),
      { numRuns: randomRuns(5) },
    );
  }, 60_000);
});

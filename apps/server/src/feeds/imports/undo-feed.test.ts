import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestIds } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { city23, CITY_TIME } from "../../../test/gbfs/city.ts";
import { upsertAlerts } from "../../city/alerts/service.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { listActs } from "../../partners/audit/queries.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { updateSourceHealth } from "../gbfs/health-queries.ts";
import { importGbfs } from "../gbfs/import.ts";
import { listReportEntries } from "./queries.ts";
import { listImports } from "./service.ts";
import { undoImport } from "./undo.ts";

let database: TestDatabase;
let directory: string;
let now: number;
const ids = createTestIds();
beforeEach(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-undo-"));
  now = CITY_TIME + 1000;
});
afterEach(async () => {
  await database.close();
  await rm(directory, { recursive: true });
});

const acting = () => ({ clock: () => now, ids, actor: "cli:test" });

/** Imports the feeds of the city with a `last_updated` some seconds after `CITY_TIME`. Returns the import's id. */
async function importCity(
  secondsLater: number,
  changes: (text: string) => string = (text) => text,
  reportDirectory = directory,
): Promise<string> {
  now = CITY_TIME + 1000 * (secondsLater + 1);
  for (const [feed, document] of Object.entries(city23())) {
    const moved = { ...document, last_updated: CITY_TIME / 1000 + secondsLater };
    await writeFile(join(directory, `${feed}.json`), changes(JSON.stringify(moved)));
  }
  const importId = ids.next("gbfs");
  const { db, systemId } = database;
  await importGbfs(db, {
    location: directory,
    systemId,
    source: "city",
    ...acting(),
    importId,
    reportDirectory,
  });
  return importId;
}

function undo(id: string) {
  return undoImport({ db: database.db, ...acting(), onProgress: () => undefined }, database.systemId, id);
}

async function rowsLeft(): Promise<Record<string, number>> {
  const tables = [
    "stations",
    "bikes",
    "gbfs_sources",
    "gbfs_documents",
    "gbfs_pending_station_parts",
    "gbfs_feed_health",
    "gbfs_source_health",
    "event_outbox",
  ];
  const counts = await Promise.all(
    tables.map(async (table) => {
      const text = `select count(*) as n from ${table} where system_id = $1`;
      const [row] = await database.db.query<{ n: number }>(statement("", text), [database.systemId]);
      return [table, row?.n ?? 0] as const;
    }),
  );
  return Object.fromEntries(counts.filter(([, n]) => n > 0));
}

async function expectSound(): Promise<void> {
  const checks = await checkInvariants(database.db, database.systemId);
  expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
}

const run = (text: string) => database.db.query(statement("", text), [database.systemId]);

it("keeps the record of an import whose report names ids that PostgreSQL stores in no JSON", async () => {
  const cut = `${"x".repeat(199)}🚲${"y".repeat(100)}`;
  const bad = { b1: "b\0\ud800", b2: cut };
  const id = await importCity(0, (text) =>
    text.replaceAll(/"(b[12])"/g, (_, bike: keyof typeof bad) => JSON.stringify(bad[bike])),
  );
  const { db, systemId } = database;
  expect((await listImports(db, systemId)).map((kept) => [kept.id, kept.status])).toEqual([[id, "done"]]);
  const kept = await listReportEntries(db, systemId, id, { after: 0, reason: undefined, limit: 9 });
  expect(kept.map(({ entry }) => entry.value)).toEqual(["b\uFFFD\uFFFD", expect.stringMatching(/^x{199}\uFFFD…$/)]);
});

it("keeps the record of an import whose report cannot be written, so that it can be undone", async () => {
  const unusable = join(directory, "station_status.json", "reports");
  const withoutName = (text: string) => text.replaceAll('"Harbour"', '""');
  await expect(importCity(0, withoutName, unusable)).rejects.toThrow("ENOTDIR");
  const [record] = await listImports(database.db, database.systemId);
  expect(record).toMatchObject({ status: "done", report: null });
  await undo(record?.id ?? "");
  expect(await rowsLeft()).toEqual({});
});

it("the import that brought a feed in is undone with all that is known of the feed", async () => {
  const id = await importCity(0);
  const [record] = await listImports(database.db, database.systemId);
  const { stations_created: stations = 0, created = 0 } = record ?? {};
  expect(stations).toBeGreaterThan(0);
  expect(await undo(id)).toEqual({ kind: "gbfs", rides: 0, stations, bikes: created - stations });
  expect(await rowsLeft()).toEqual({});
  await expectSound();
  const acts = await listActs(database.db, database.systemId, { limit: 2 });
  expect(acts.map(({ action, subject }) => [action, subject])).toEqual([
    ["import.undone", id],
    ["import.gbfs", id],
  ]);
  await importCity(0);
  await expectSound();
});

it("an undo ends the operator's alerts that concern only the feed's stations", async () => {
  const { db, systemId } = database;
  const id = await importCity(0);
  const [station] = await db.query<{ id: string }>(
    statement("", "select min(id) as id from stations where system_id = $1"),
    [systemId],
  );
  const item = { id: "works", type: "other" as const, summary: "Works", station_ids: [station?.id ?? ""] };
  await upsertAlerts({ db, clock: () => now, ids }, systemId, [{ item }]);
  await undo(id);
  expect(await run("select id, ended_at is null as is_open from rider_alerts where system_id = $1")).toEqual([
    { id: "works", is_open: false },
  ]);
  await expectSound();
});

it("an undo takes the feed's bikes off the counters of the operator's stations", async () => {
  const { db, systemId } = database;
  const live = { db, clock: () => now, ids };
  await upsertStations(live, systemId, [{ item: { id: "harbour", name: "Harbour", lat: 59.9, lon: 10.7 } }]);
  await upsertBikes(live, systemId, [{ item: { id: "own", station_id: "harbour" } }]);
  const available = async () => {
    const text = "select num_bikes_available as n from stations where system_id = $1 and id = 'harbour'";
    return oneRow(await db.query<{ n: number }>(statement("", text), [systemId])).n;
  };
  const id = await importCity(0, (text) => text.replaceAll('"is_reserved":true', '"is_reserved":false'));
  expect(await available()).toBeGreaterThan(1);
  await expectSound();
  await undo(id);
  expect(await available()).toBe(1);
  await expectSound();
});

it("is refused once a later import of the source stands, and that one is where it changed what was there", async () => {
  const first = await importCity(0);
  const second = await importCity(60, (text) => text.replace(/"num_bikes_available":\d+/, '"num_bikes_available":9'));
  const before = await rowsLeft();
  await expect(undo(first)).rejects.toThrow(`undo ${second}`);
  await expect(undo(second)).rejects.toThrow(/it changed \d+ stations and bikes that were there before/);
  expect(await rowsLeft()).toEqual(before);
});

it.each([
  ["a station was changed", "update stations set updated_at = now() where system_id = $1", /were changed since/],
  ["a bike is gone", "delete from bikes where system_id = $1 and id = (select min(id) from bikes)", /are gone/],
  [
    "a ride began at a station",
    `insert into rides (system_id, id, bike_id, status, start_station_id, started_at, updated_at, source)
     select $1, 'r', 'other', 'started', min(id), now(), now(), 'operator' from stations`,
    /rides, reservations or other bikes name 1/,
  ],
])("is refused, and nothing is changed, when %s", async (_what, change, reason) => {
  const id = await importCity(0);
  await run(change);
  const before = await rowsLeft();
  await expect(undo(id)).rejects.toThrow(reason);
  expect(await rowsLeft()).toEqual(before);
  expect(await listImports(database.db, database.systemId)).toMatchObject([{ id, status: "done" }]);
});

it("ends the alerts of the feed, with an event for each", async () => {
  const alerts = [{ alert_id: "works", type: "STATION_CLOSURE", summary: "Works", station_ids: ["harbour"] }];
  const document = { last_updated: CITY_TIME / 1000, ttl: 60, version: "2.3", data: { alerts } };
  await writeFile(join(directory, "system_alerts.json"), JSON.stringify(document));
  const id = await importCity(0);
  await undo(id);
  const events = await database.db.query<{ name: string }>(
    statement("", "select name from event_outbox where system_id = $1 and name like 'alert.%' order by id"),
    [database.systemId],
  );
  expect(events.map(({ name }) => name)).toEqual(["alert.opened", "alert.ended"]);
  await expectSound();
});

it("is refused while a process follows the source, whose next poll would create everything again", async () => {
  const id = await importCity(0);
  const { db, systemId } = database;
  const poll = { systemId, source: "city", now, location: "https://feeds.example/gbfs.json", message: null };
  await updateSourceHealth(db, { ...poll, intervalMs: 30_000 });
  const before = await rowsLeft();
  now += 119_999;
  await expect(undo(id)).rejects.toThrow(/while a process follows its source "city".*and undo it after 20/);
  expect(await rowsLeft()).toEqual(before);
  now += 1;
  await undo(id);
  expect(await rowsLeft()).toEqual({});
});

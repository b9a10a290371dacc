import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bike, station } from "@bikeshare/contract";
import { createTestIds, randomRuns } from "@bikeshare/test-kit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { descriptiveFeeds } from "./descriptions.ts";
import { importSnapshot, openSource } from "./import.ts";
import { replaySnapshots } from "./replay.ts";
import { listDescriptions } from "./source-descriptions.ts";

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../../shared/data");
const feeds = join(shared, "gbfs");
const there = existsSync(feeds);
const NOW = Date.UTC(2026, 0, 1);
const madeIds = createTestIds();
const none = { created: 0, updated: 0, unchanged: 0, removed: 0, rejected: 0 };

describe.skipIf(!there)(`real feeds${there ? "" : " (skipped: the shared data is not here)"}`, () => {
  let database: TestDatabase;
  let systemId: string;
  let systems = 0;
  let directory: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    directory = await mkdtemp(join(tmpdir(), "bikeshare-feeds-"));
  });
  afterAll(async () => {
    await database.close();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(() => void (systemId = `s${++systems}`));

  const load = async (name: string, now = NOW) => {
    const source = await openSource(join(feeds, name), now);
    try {
      return await importSnapshot(database.db, { systemId, source: "gbfs", now, ids: madeIds }, source);
    } finally {
      await source.close();
    }
  };
  const readRows = (table: string) =>
    database.db.query<{ id: string; json: string }>(
      { name: "", text: `select id, json from ${table} where system_id = $1 order by id` },
      [systemId],
    );

  const withRentalUris = async () => {
    const has = "source_facts -> 'rental_uris' is not null";
    const text = `select ((select count(*) from stations where system_id = $1 and ${has})
      + (select count(*) from bikes where system_id = $1 and ${has}))::int as n`;
    return (await database.db.query<{ n: number }>({ name: "", text }, [systemId]))[0]?.n;
  };

  test("Divvy: 1,811 stations and 1,244 vehicles, none lost, all as the contract wants them, and again no change", async () => {
    const first = await load("divvy-v2.3");
    expect([first.stations, first.bikes]).toEqual([
      { ...none, created: 1811 },
      { ...none, created: 1244 },
    ]);
    // Divvy counts scooters only by type, not among its bikes.
    expect(first.problems).toHaveLength(139);
    expect(new Set(first.problems.map(({ field, reason }) => `${field} ${reason}`))).toEqual(
      new Set(["num_bikes_available fewer_than_types"]),
    );
    const before = [await readRows("stations"), await readRows("bikes")];
    for (const { json } of before[0] ?? []) {
      const { num_bikes_available, vehicle_types_available } = station.parse(JSON.parse(json));
      expect(vehicle_types_available.reduce((sum, { count }) => sum + count, 0)).toBe(num_bikes_available);
    }
    for (const { json } of before[1] ?? []) bike.parse(JSON.parse(json));
    expect(await withRentalUris()).toBe(3055);
    const descriptions = await listDescriptions(database.db, systemId, descriptiveFeeds);
    expect(descriptions.map(({ feed, content }) => [feed, Array.isArray(content) ? content.length : 1])).toEqual([
      ["system_alerts", 0],
      ["system_calendar", 1],
      ["system_hours", 0],
      ["system_information", 1],
      ["system_pricing_plans", 3],
      ["system_regions", 1],
      ["vehicle_types", 3],
    ]);
    // Lyft's additional counts, which repeat the counts by type.
    expect(first.notTaken).toEqual([
      "station_status.num_ebikes_available",
      "station_status.num_scooters_available",
      "station_status.num_scooters_unavailable",
    ]);
    const offline = (before[0] ?? []).filter(({ json }) =>
      json.includes('"status":"offline","offline_reason":"flags"'),
    );
    const planned = (before[0] ?? []).filter(({ json }) => json.includes('"status":"planned"'));
    expect([offline.length, planned.length]).toEqual([2, 5]);
    const second = await load("divvy-v2.3", NOW + 60_000);
    expect([second.stations, second.bikes]).toEqual([
      { ...none, unchanged: 1811 },
      { ...none, unchanged: 1244 },
    ]);
    expect([await readRows("stations"), await readRows("bikes")]).toEqual(before);
  });

  test("JUMP: the status of a station that nobody describes waits", async () => {
    const { stations, bikes, applied } = await load("jump-dc-v1.0");
    expect([stations, bikes, applied.stations.waiting]).toEqual([
      { ...none, created: 8 },
      { ...none, created: 74 },
      { withoutInformation: 1, withoutStatus: 0 },
    ]);
    expect(
      await database.db.query(
        { name: "", text: "select station_id from gbfs_pending_station_parts where system_id = $1" },
        [systemId],
      ),
    ).toEqual([{ station_id: "mahmood" }]);
  });

  test("Helsinki: records without an id or a place are rejected, the others kept", async () => {
    const { stations, problems } = await load("hsl-helsinki-v1");
    expect(stations).toEqual({ ...none, created: 7, rejected: 3 });
    expect(problems.map(({ record, field, reason, action }) => [record, field, reason, action])).toEqual([
      [null, "station_id", "not_an_identifier", "rejected"],
      [null, "station_id", "not_an_identifier", "rejected"],
      ["008", "name", "missing", "repaired"],
      ["009", "name", "missing", "repaired"],
      ["010", "lat,lon", "position_missing", "rejected"],
    ]);
    expect((await readRows("stations")).map(({ id }) => id)).toEqual(["001", "002", "003", "004", "005", "008", "009"]);
  });

  // All 515 snapshots of the month take ten seconds.
  const every = randomRuns(1) > 1 ? 1 : 4;
  test("Oslo: the snapshots of a month make six events, each once, also when they are replayed again", async () => {
    const file = join(directory, "series.ndjson");
    const lines = gunzipSync(await readFile(join(feeds, "oslo", "station_status-2022-10.ndjson.gz")))
      .toString()
      .trimEnd()
      .split("\n")
      .filter((_, n) => n % every === 0);
    await writeFile(file, lines.join("\n"));
    const replay = () =>
      replaySnapshots({
        db: database.db,
        clock: () => NOW,
        ids: madeIds,
        systemId,
        source: "oslo",
        file,
        information: join(feeds, "oslo", "station_information-20221023.json"),
      });
    expect(await replay()).toMatchObject({
      snapshots: Math.ceil(515 / every),
      events: { "station.offline": 5, "station.online": 1 },
      failed: [],
      waiting: { withoutInformation: 0, withoutStatus: 0 },
    });
    const before = await readRows("stations");
    expect(await replay()).toMatchObject({ snapshots: lines.length, events: {}, failed: [] });
    expect(await readRows("stations")).toEqual(before);
  });
});

import { createReadStream, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { StationAt, StationHistory } from "@bikeshare/contract";
import { createTestIds, randomRuns } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../../test/app.ts";
import { createTestDatabase } from "../../../test/database.ts";
import { refused, slice, walkByCursor, walkByPage } from "../../../test/walk.ts";
import { applySnapshot } from "../../feeds/gbfs/apply.ts";
import { readStationInformation, readStationStatus } from "../../feeds/gbfs/documents.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { upsertStations } from "../fleet/station-commands.ts";
import { listStationsAt } from "./station-history-queries.ts";

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../../shared/data");
const ids = createTestIds();

/** Returns the fields of a station that its history contains. */
const historyOf = ({ last_reported: _, updated_at: __, as_of: ___, name: ____, ...station }: StationAt) => station;

/** Returns values of a station that a snapshot and the history have in the same form, to compare the two. */
const reported = (station: Partial<Omit<StationAt, "vehicle_types_available" | "last_reported">> | undefined) => [
  ...[station?.num_bikes_available, station?.num_docks_available, station?.num_bikes_disabled],
  ...[station?.is_installed, station?.is_renting, station?.is_returning],
];

/** A repeatable random number below `n`. */
function createRandom(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** A status document of some stations. */
function statusOf(at: number, stations: readonly object[], now: number) {
  return readStationStatus({ last_updated: at / 1000, data: { stations } }, now);
}

describe("a series of snapshots", () => {
  const START = Date.parse("2026-03-27T10:00:00Z");
  const STEP_MS = 17 * 60_000;
  const random = createRandom(7);
  const named = Array.from({ length: 12 }, (_, n) => `s${String(n).padStart(2, "0")}`);
  /** The stations as they were listed after each snapshot. */
  const seen: { readonly at: number; readonly stations: StationAt[] }[] = [];
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp();
    const apply = (at: number, snapshot: Parameters<typeof applySnapshot>[2]) =>
      applySnapshot(app.db, { systemId: app.systemId, source: "city", now: app.clock(), ids }, snapshot).then(() => at);
    const information = readStationInformation(
      {
        last_updated: START / 1000,
        data: {
          stations: named.map((station_id, n) => ({
            ...{
              station_id,
              name: station_id,
              lat: 59 + n / 100,
              lon: 10,
              region_id: n % 2 ? "odd" : "even",
              capacity: 9,
            },
          })),
        },
      },
      app.clock(),
    );
    let at = START;
    for (let n = 1; n <= 90; n++) {
      // Some stations begin later, some vanish for a while, and at times nothing changes for days.
      at += n % 30 === 29 ? 5 * 86_400_000 : STEP_MS;
      const listed = named.filter((_, station) => n > station && (random(8) > 0 || station < 2));
      const status = statusOf(
        at,
        listed.map((station_id) => ({
          station_id,
          num_bikes_available: random(4),
          num_bikes_disabled: random(2),
          num_docks_available: random(4),
          vehicle_types_available: [
            { vehicle_type_id: 'e"bike', count: random(3) },
            { vehicle_type_id: "bike", count: random(2) },
          ],
          ...{ is_installed: true, is_renting: random(5) > 0, is_returning: random(5) > 0 },
        })),
        app.clock(),
      );
      await apply(at, n === 1 ? { information, status } : { status });
      const text = "select json from stations where system_id = $1 order by id";
      const rows = await app.db.query<{ json: string }>({ name: "", text }, [app.systemId]);
      seen.push({ at, stations: rows.map(({ json }) => JSON.parse(json) as StationAt) });
    }
  });
  afterAll(() => app.close());

  const stationsAt = async (instant: number, filters = "") =>
    (await walkByCursor(
      app,
      `/v1/stations?at=${new Date(instant).toISOString()}${filters}`,
      5,
    )) as unknown as StationAt[];

  it("is shown as it was at any instant", async () => {
    const [first] = seen;
    const end = (seen.at(-1)?.at ?? 0) + 3_600_000;
    for (let n = 0; n < randomRuns(25); n++) {
      // Half of the instants are those of a snapshot, or a millisecond before.
      const some = seen[random(seen.length)]?.at ?? 0;
      const instant = n % 2 === 0 ? some - (n % 4) / 2 : (first?.at ?? 0) + random(end - (first?.at ?? 0));
      if (instant < (first?.at ?? 0)) continue;
      const then = seen.findLast(({ at }) => at <= instant)?.stations ?? [];
      const shown = await stationsAt(instant);
      expect(shown.map(historyOf), new Date(instant).toISOString()).toEqual(then.map(historyOf));
      expect(shown.every(({ as_of }) => as_of === new Date(instant).toISOString())).toBe(true);
    }
  });

  it("is paged and filtered by how the stations were, and by what they are called today", async () => {
    const { at, stations } = seen[40] ?? { at: 0, stations: [] };
    const iso = new Date(at + 1000).toISOString();
    const online = stations.filter(({ status }) => status === "online").map(({ id }) => id);
    expect((await stationsAt(at + 1000, "&status=online")).map(({ id }) => id)).toEqual(online);
    expect((await walkByPage(app, `/v1/stations?at=${iso}&status=online`, 3)).map(({ id }) => id)).toEqual(online);
    expect((await walkByPage(app, `/v1/stations?at=${iso}`, 3)).map(({ id }) => id)).toEqual(
      stations.map(({ id }) => id),
    );
    const odd = stations.filter(({ region_id }) => region_id === "odd").map(({ id }) => id);
    expect((await stationsAt(at + 1000, "&region_id=odd")).map(({ id }) => id)).toEqual(odd);
    expect((await stationsAt(at, "&bbox=9,58.99,11,59.025")).map(({ id }) => id)).toEqual(["s00", "s01", "s02"]);
    const page = await slice(app, `/v1/stations?at=${iso}&limit=5`);
    expect(await refused(app, `/v1/stations?at=${iso}&status=online&cursor=${page.next_cursor}`)).toMatchObject({
      error: "invalid_cursor",
    });
  });

  it("shows one station, and says of one that was not known yet that it was not", async () => {
    const late = seen.find(({ stations }) => stations.some(({ id }) => id === "s11"))?.at ?? 0;
    const at = (instant: number) => `?at=${new Date(instant).toISOString()}`;
    const shown = await (await app.get(`/v1/stations/s11${at(late)}`)).json();
    expect(shown).toMatchObject({ id: "s11", as_of: new Date(late).toISOString(), last_reported: null });
    expect(shown).toEqual((await stationsAt(late)).find(({ id }) => id === "s11"));
    expect(await refused(app, `/v1/stations/s11${at(late - 1)}`)).toMatchObject({ status: 404, error: "not_found" });
    expect(await refused(app, `/v1/stations/none${at(late)}`)).toMatchObject({ status: 404 });
  });

  it("is refused before it begins, in the future, and together with changes, with the reason", async () => {
    const begins = new Date(seen[0]?.at ?? 0).toISOString();
    expect(await refused(app, "/v1/stations?at=2026-01-01T00:00:00Z")).toEqual({
      status: 400,
      error: "outside_history",
      message: `at=2026-01-01T00:00:00Z lies before the history that is kept. It begins at ${begins}.`,
    });
    expect(await refused(app, "/v1/stations/s00?at=2027-01-01T00:00:00Z")).toMatchObject({ error: "outside_history" });
    expect(await refused(app, `/v1/stations?at=${begins}&updated_since=${begins}`)).toMatchObject({
      error: "invalid_parameter",
      message: expect.stringContaining("leave updated_since out") as string,
    });
    expect(await refused(app, `/v1/stations?at=${begins}&changes_since=x`)).toMatchObject({
      error: "invalid_parameter",
    });
    expect(await refused(app, "/v1/stations?at=yesterday")).toMatchObject({ error: "invalid_parameter" });
  });

  it("needs history:read beside stations:read, and without `at` does not", async () => {
    const { key } = await app.issue({ scopes: ["stations:read"] });
    expect((await app.get("/v1/stations", { key })).status).toBe(200);
    for (const path of ["/v1/stations?at=2026-04-01T00:00:00Z", "/v1/stations/s00?at=2026-04-01T00:00:00Z"]) {
      const response = await app.get(path, { key });
      expect(response.status).toBe(403);
      expect(response.headers.get("www-authenticate")).toContain('scope="history:read"');
    }
    expect((await app.get("/v1/stations/s00/history", { key })).status).toBe(403);
  });

  it("is folded as an independent statement folds it, over a change of the clocks", async () => {
    await app.db.transaction((tx) =>
      tx.run(`insert into descriptions (system_id, kind, id, content, set_at)
        values ('${app.systemId}', 'system', '', '{"timezone": "Europe/Oslo"}', now())`),
    );
    for (const [id, step] of [
      ["s00", "PT15M"],
      ["s05", "PT6H"],
      ["s11", "P1D"],
    ] as const) {
      const path = `/v1/stations/${id}/history?from=2026-03-27T12:00:00Z&to=2026-04-14T00:00:00Z&step=${step}`;
      const { data, time_zone } = (await (await app.get(path)).json()) as StationHistory;
      expect(time_zone).toBe("Europe/Oslo");
      const independent = await app.db.query<Record<string, string | null>>(
        {
          name: "",
          text: `with spans as (
              select at as begins, coalesce(lead(at) over (order by at), $4::timestamptz) as ends, bikes, docks, flags / 8 % 8 = 2 as is_online
              from station_changes where system_id = $1 and station_id = $2),
            pieces as (
              select step.n, spans.*, extract(epoch from least(ends, step.upto, $4::timestamptz) - greatest(begins, step.since)) / 60 as minutes
              from json_to_recordset($3::json) as step (n int, since timestamptz, upto timestamptz)
              join spans on spans.begins < step.upto and spans.ends > step.since)
            select n, sum(minutes) as minutes, sum(bikes * minutes) / sum(minutes) as bikes, min(bikes) as least, max(docks) as most,
              coalesce(sum(minutes) filter (where is_online and bikes = 0), 0) as empty,
              coalesce(sum(minutes) filter (where is_online and docks = 0), 0) as full,
              coalesce(sum(minutes) filter (where not is_online), 0) as offline
            from pieces where minutes > 0 group by n order by n`,
        },
        [
          app.systemId,
          id,
          JSON.stringify(data.map(({ from, to }, n) => ({ n, since: from, upto: to }))),
          new Date(app.clock()),
        ],
      );
      expect(independent.length).toBeGreaterThan(5);
      expect(data.filter(({ minutes }) => minutes > 0)).toHaveLength(independent.length);
      for (const row of independent) {
        const point = data[Number(row["n"])];
        expect(point?.minutes).toBeCloseTo(Number(row["minutes"]), 2);
        expect(point?.bikes?.mean).toBeCloseTo(Number(row["bikes"]), 2);
        expect([point?.bikes?.min, point?.docks?.max]).toEqual([Number(row["least"]), Number(row["most"])]);
        expect(point?.minutes_empty).toBeCloseTo(Number(row["empty"]), 2);
        expect(point?.minutes_full).toBeCloseTo(Number(row["full"]), 2);
        expect(point?.minutes_offline).toBeCloseTo(Number(row["offline"]), 2);
      }
    }
    const days = (await (
      await app.get("/v1/stations/s00/history?from=2026-03-28T12:00:00Z&to=2026-03-30T12:00:00Z&step=P1D")
    ).json()) as StationHistory;
    expect(days.data.map(({ minutes }) => minutes / 60)).toEqual([24, 23, 24]);
  });

  it("refuses steps that are none or too many, and stations that there are not", async () => {
    const history = (query: string) => refused(app, `/v1/stations/s00/history?${query}`);
    expect(await history("from=2026-03-01T00:00:00Z&to=2026-04-01T00:00:00Z&step=PT5M")).toMatchObject({
      error: "invalid_parameter",
      message:
        "from and to are 8928 steps of PT5M apart; at most 3000 are given at once. Choose longer steps or less time.",
    });
    expect(await history("step=PT7M")).toMatchObject({ error: "invalid_parameter" });
    expect(await history("from=2026-05-01T00:00:00Z&to=2026-04-01T00:00:00Z")).toMatchObject({ status: 400 });
    expect(await refused(app, "/v1/stations/none/history")).toMatchObject({ status: 404 });
    const now = (await (await app.get("/v1/stations/s00/history")).json()) as StationHistory;
    expect(now.data).toHaveLength(96);
    expect(now.data.at(-1)?.to).toBe(new Date(app.clock()).toISOString());
  });

  it("keeps the state of a station that the operator makes, and every invariant", async () => {
    const made = await upsertStations({ db: app.db, clock: app.clock, ids }, app.systemId, [
      { item: { id: "new", name: "New", lat: 1, lon: 1, capacity: 3 } },
    ] as never);
    expect(made.failed).toBe(0);
    const shown = await stationsAt(app.clock());
    expect(shown.find(({ id }) => id === "new")).toMatchObject({ num_docks_available: 3, status: "online" });
    expect((await stationsAt(app.clock() - 1)).map(({ id }) => id)).not.toContain("new");
    const broken = (await checkInvariants(app.db, app.systemId)).filter(({ broken: count }) => count > 0);
    expect(broken.map(({ name }) => name)).toEqual([]);
  });
});

describe.skipIf(!existsSync(join(shared, "gbfs/oslo")))("the snapshots of Oslo", () => {
  // With TEST_RUNS_FACTOR=50 the test checks 1,000 instants of all the snapshots.
  it("are how the stations were at any instant", { timeout: randomRuns(60_000) }, async () => {
    const { db, systemId, close } = await createTestDatabase();
    const now = Date.parse("2023-06-10T00:00:00Z");
    const apply = (snapshot: Parameters<typeof applySnapshot>[2]) =>
      applySnapshot(db, { systemId, source: "oslo", now, ids }, snapshot);
    const folder = join(shared, "gbfs/oslo");
    const file = await readFile(join(folder, "station_information-20221023.json"), "utf8");
    const information = readStationInformation(JSON.parse(file) as object, now);
    const seen: ReturnType<typeof readStationStatus>[] = [];
    const lines = createInterface({
      input: createReadStream(join(folder, "station_status-2023-06-01_07.ndjson.gz")).pipe(createGunzip()),
    });
    for await (const line of lines) {
      if (seen.length >= randomRuns(30)) break;
      const status = readStationStatus(JSON.parse(line) as object, now);
      if (status.at <= (seen.at(-1)?.at ?? 0)) continue;
      await apply(seen.length === 0 ? { information, status } : { status });
      seen.push(status);
    }
    const random = createRandom(11);
    const [first, last] = [seen[0]?.at ?? 0, seen.at(-1)?.at ?? 0];
    let compared = 0;
    for (let n = 0; n < randomRuns(20); n++) {
      const instant = first + random(last - first);
      const { rows } = await listStationsAt(db, systemId, new Date(instant), {}, { after: "" }, 1000);
      const shown = new Map((JSON.parse(`[${rows}]`) as StationAt[]).map((station) => [station.id, station]));
      const snapshot = seen.findLast(({ at }) => at <= instant)?.records;
      const described = [...(snapshot ?? [])].filter(([id]) => information.records.has(id));
      expect(described.map(([id]) => reported(shown.get(id)))).toEqual(described.map(([, report]) => reported(report)));
      compared += described.length;
    }
    expect(compared).toBeGreaterThan(randomRuns(2_500));
    await close();
  });
});

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { city23, CITY_TIME, type Documents } from "../../../test/gbfs/city.ts";
import { type FeedServer, startFeedServer } from "../../../test/gbfs/feed-server.ts";
import { until } from "../../../test/until.ts";
import { createSystem } from "../../city/systems/service.ts";
import { sourceCondition } from "../../health/checks/feed-sources.rules.ts";
import { systemCheckFinders } from "../../health/checks/system-checks.ts";
import { OtherSystemError } from "./apply.ts";
import { type Following, type FollowOptions, type PollResult, startFollowing } from "./follow.ts";
import { sourceStates } from "./source-state.ts";

let database: TestDatabase;
let directory: string;
let systems = 0;
let systemId: string;
let server: FeedServer;
let clock: TestClock;
let polls: PollResult[];
let errors: unknown[];
const ids = createTestIds();
const followings: Following[] = [];
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.close());
beforeEach(async () => {
  systemId = `s${++systems}`;
  directory = await mkdtemp(join(tmpdir(), "gbfs-follow-"));
  clock = createTestClock(new Date(CITY_TIME + 3_600_000).toISOString());
  polls = [];
  errors = [];
  server = await startFeedServer(withoutRest({ ...city23(), system_information: systemCalled("oslo") }));
});
afterEach(async () => {
  for (const following of followings.splice(0)) await following.close();
  await server.close();
  await rm(directory, { recursive: true });
});

const withoutRest = (documents: Documents): Documents =>
  Object.fromEntries(Object.entries(documents).map(([name, document]) => [name, { ...document, ttl: 0 }]));
const systemCalled = (system_id: string) => ({
  last_updated: CITY_TIME / 1000,
  ttl: 0,
  data: { system_id, name: "City", timezone: "Europe/Oslo", language: "en" },
});

function follow(over: Partial<FollowOptions> = {}): void {
  followings.push(
    startFollowing({
      db: database.db,
      clock,
      ids,
      url: server.url,
      intervalMs: 2,
      systemId,
      source: "gbfs",
      reportDirectory: join(directory, "reports"),
      log: (round, error) => {
        polls.push(round);
        errors.push(error);
      },
      ...over,
    }),
  );
}

async function roundUntil(isWanted: (round: PollResult) => boolean): Promise<PollResult> {
  const from = polls.length;
  let found: PollResult | undefined;
  await until(() => (found = polls.slice(from).find(isWanted)) !== undefined);
  if (found === undefined) throw new Error("no such round");
  return found;
}

const asked = (feed: string) => server.requests.filter((request) => request.startsWith(`${feed} `)).length;
const stations = () =>
  database.db.query<{ id: string; status: string }>(
    { name: "", text: "select id, status from stations where system_id = $1 order by id" },
    [systemId],
  );

test("a server that says when it may be asked again is not asked before, and its other feeds go on", async () => {
  server.pages["station_status"] = (response) => response.writeHead(503, { "retry-after": "120" }).end();
  follow();
  const retry_at = new Date(clock() + 120_000).toISOString();
  expect(await roundUntil(({ outcome }) => outcome === "partial")).toMatchObject({
    bikes: { created: 3 },
    failures: [
      { feed: "station_status", message: `HTTP 503 from ${new URL("station_status.json", server.url).href}`, retry_at },
    ],
    ages: { free_bike_status: 0, station_status: null },
  });
  clock.advance(119_000);
  // A failing feed is also reported by polls that do not fetch it.
  const seen = polls.length;
  await until(() => polls.length > seen + 5);
  expect(polls.at(-1)).toMatchObject({ outcome: "partial", failures: [{ feed: "station_status" }] });
  expect(asked("station_status")).toBe(1);
  expect(asked("free_bike_status")).toBeGreaterThan(5);
  server.pages["station_status"] = withoutRest(city23())["station_status"];
  clock.advance(1_000);
  expect(await roundUntil(({ outcome }) => outcome === "applied")).toMatchObject({ stations: { created: 2 } });
});

test("a source that becomes another system is refused with its stations untouched, until it is the old one again", async () => {
  follow();
  await roundUntil(({ outcome }) => outcome === "unchanged");
  const before = await stations();
  const { station_information, station_status } = server.pages;
  // The stations change when `system_information` is fetched, so that no poll finds the old id with the new stations.
  server.pages["system_information"] = (response) => {
    server.pages["station_information"] = renamed(station_information);
    server.pages["station_status"] = renamed(station_status);
    response.end(JSON.stringify(systemCalled("divvy")));
  };
  const round = await roundUntil(({ outcome }) => outcome === "failed");
  expect(round.failures[0]?.message).toMatch(/"gbfs" was the system "oslo" .+ say "divvy" .+--source.+--force/);
  await roundUntil(({ outcome }) => outcome === "failed");
  expect([errors.at(-1), await stations()]).toEqual([expect.any(OtherSystemError), before]);
  // The failure is in the database, where every process can read it.
  const state = async () => (await sourceStates(database.db, systemId))[0];
  const expected = { location: server.url, failing_since: expect.any(Date) as Date, published_id: "oslo" };
  expect(await state()).toMatchObject({ ...expected, message: expect.stringMatching(/say "divvy"/) as string });
  // The feeds are not applied either while `system_information` is missing.
  server.pages["system_information"] = undefined;
  clock.advance(300_000);
  await roundUntil(({ outcome, failures }) => outcome === "failed" && failures.length > 1);
  expect(await stations()).toEqual(before);
  Object.assign(server.pages, { station_information, station_status, system_information: systemCalled("oslo") });
  clock.advance(600_000);
  await roundUntil(({ outcome }) => outcome === "applied");
  expect(await stations()).toEqual(before);
  expect(await state()).toMatchObject({ failing_since: null, message: null });
});

test("a source that was another system for a moment is asked at its usual pace, and says when", async () => {
  follow({ intervalMs: 5 });
  await roundUntil(({ outcome }) => outcome === "unchanged");
  // By its `ttl` this document need not be fetched again for ten minutes, and the test's clock does not advance.
  server.pages["system_information"] = { ...systemCalled("divvy"), last_updated: CITY_TIME / 1000 + 3_600, ttl: 600 };
  const { failures } = await roundUntil(({ outcome }) => outcome === "failed");
  const at = new Date(clock()).toISOString();
  const retry_at = new Date(clock() + 5).toISOString();
  expect(failures).toEqual([expect.objectContaining({ feed: "", since: at, retry_at })]);
  expect(failures[0]?.message).toMatch(/asked again every 0.005 s, and applied once it says "oslo"/);
  const [askedId, askedStations] = [asked("system_information"), asked("station_status")];
  await until(() => asked("system_information") > askedId + 2);
  // No other feed is fetched until the old id is back.
  expect(asked("station_status")).toBe(askedStations);
  server.pages["system_information"] = systemCalled("oslo");
  expect((await roundUntil(({ outcome }) => outcome === "applied")).failures).toEqual([]);
});

test("a feed whose publisher has stopped behind a cache is stale in the poll, in readiness, doctor and alerts, until it goes on", async () => {
  const now = clock();
  const document = (minutesAgo: number, bikes = 3) => {
    const page = withoutRest(city23())["station_status"] as { data: { stations: object[] } };
    const changed = page.data.stations.map((station) => ({ ...station, num_bikes_available: bikes }));
    return { ...page, last_updated: (now - minutesAgo * 60_000) / 1000, data: { stations: changed } };
  };
  server.pages["station_status"] = document(0);
  follow({ staleAfterMs: 2 * 3_600_000 });
  expect(await roundUntil(({ outcome }) => outcome === "applied")).toMatchObject({
    ...{ stale: [], data_ages: { station_status: 0 }, older: [] },
  });
  const found = async () => {
    const [source] = await sourceStates(database.db, systemId);
    const results = await systemCheckFinders.feeds({ db: database.db, clock, longRideAfterMs: 0 }, systemId);
    return {
      doctor: results.filter(({ status }) => status !== "ok").map(({ detail }) => detail),
      page: source && sourceCondition(source, clock()).state,
    };
  };
  await createSystem(database.db, systemId, "City", 0);
  expect(await found()).toEqual({ doctor: [], page: "well" });
  // The feed can be read, but returns a document that is four hours old.
  server.pages["station_status"] = document(240, 1);
  expect(await roundUntil(({ stale }) => stale.length > 0)).toMatchObject({
    ...{
      failures: [],
      stale: [{ feed: "station_status", message: expect.stringMatching(/^its data are of /) as string }],
    },
    ...{ data_ages: { station_status: 14_400 }, older: ["station_status"] },
  });
  expect(await found()).toEqual({
    doctor: [
      expect.stringMatching(/^the source gbfs: station_status can be read and is stale: its data are of /) as string,
    ],
    page: "stale",
  });
  server.pages["station_status"] = document(-1);
  await roundUntil(({ stale }) => stale.length === 0);
  expect(await found()).toEqual({ doctor: [], page: "well" });
});

test("with force a source may become another system once", async () => {
  follow();
  await roundUntil(({ outcome }) => outcome === "unchanged");
  for (const following of followings.splice(0)) await following.close();
  server.pages["system_information"] = systemCalled("oslobysykkel");
  follow({ force: true });
  await roundUntil(({ outcome }) => outcome === "applied");
  server.pages["system_information"] = systemCalled("divvy");
  await roundUntil(({ outcome }) => outcome === "failed");
});

test("what is wrong with a record is written down once, however often its feed repeats it, for the owner alone", async () => {
  const { free_bike_status } = withoutRest(city23()) as { free_bike_status: { data: { bikes: object[] } } };
  const broken = (seconds: number, ...more: object[]) => ({
    ...free_bike_status,
    last_updated: CITY_TIME / 1000 + seconds,
    data: { bikes: [...free_bike_status.data.bikes, { bike_id: "nowhere", lat: 0, lon: 0 }, ...more] },
  });
  server.pages["free_bike_status"] = broken(0);
  follow();
  const { report } = await roundUntil(({ report: path }) => path !== null);
  for (let seconds = 1; seconds <= 3; seconds++) {
    server.pages["free_bike_status"] = broken(seconds);
    expect(await roundUntil(({ bikes }) => bikes !== null)).toMatchObject({ report: null, bikes: { rejected: 1 } });
  }
  server.pages["free_bike_status"] = broken(4, { bike_id: "lost", lat: 91, lon: 0 });
  expect(await roundUntil(({ bikes }) => bikes?.rejected === 2)).toMatchObject({ report });
  const lines = (await readFile(report ?? "", "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ record: "nowhere", reason: "position_null_island", at: new Date(clock()).toISOString() }),
    expect.objectContaining({ record: "lost", reason: "position_out_of_range" }),
  ]);
  expect(await readdir(join(directory, "reports"))).toHaveLength(1);
  expect((await stat(report ?? "")).mode & 0o777).toBe(0o600);
});

test("a poll whose report cannot be written is applied all the same, and its problems are reported later", async () => {
  const { free_bike_status } = withoutRest(city23()) as { free_bike_status: { data: { bikes: object[] } } };
  const broken = (seconds: number) => ({
    ...free_bike_status,
    last_updated: CITY_TIME / 1000 + seconds,
    data: { bikes: [...free_bike_status.data.bikes, { bike_id: "nowhere", lat: 0, lon: 0 }] },
  });
  server.pages["free_bike_status"] = broken(0);
  // A file where the directory of reports should be.
  await writeFile(join(directory, "reports"), "");
  follow();
  const first = await roundUntil(({ reportError }) => reportError !== undefined);
  expect(first).toMatchObject({ outcome: "applied", bikes: { created: 3, rejected: 1 }, failures: [], report: null });
  await rm(join(directory, "reports"));
  server.pages["free_bike_status"] = broken(1);
  const { report } = await roundUntil(({ report: path }) => path !== null);
  expect(await readFile(report ?? "", "utf8")).toContain('"record":"nowhere"');
});

/** Returns a later page with the same stations under other names. */
function renamed(page: FeedServer["pages"][string]): object {
  const document = page as { data: { stations: { station_id: string }[] } };
  const others = document.data.stations.map((station) => ({ ...station, station_id: `other-${station.station_id}` }));
  return { ...document, last_updated: CITY_TIME / 1000 + 60, data: { stations: others } };
}

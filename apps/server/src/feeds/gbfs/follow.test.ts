import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { city23, CITY_TIME, type Documents } from "../../../test/gbfs/city.ts";
import { type FeedServer, startFeedServer } from "../../../test/gbfs/feed-server.ts";
import { until } from "../../../test/until.ts";
import { MIN_OPEN_MS } from "../../city/alerts/alert.rules.ts";
import { createSystem } from "../../city/systems/service.ts";
import { type Following, type FollowOptions, type PollResult, startFollowing } from "./follow.ts";

let database: TestDatabase;
let systemId: string;
let systems = 0;
let server: FeedServer;
let clock: TestClock;
let polls: PollResult[];
let reportDirectory: string;
const ids = createTestIds();
const followings: Following[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  reportDirectory = await mkdtemp(join(tmpdir(), "gbfs-reports-"));
});
afterAll(async () => {
  await database.close();
  await rm(reportDirectory, { recursive: true });
});
beforeEach(async () => {
  systemId = `s${++systems}`;
  await createSystem(database.db, systemId, "City", 0);
  clock = createTestClock(new Date(CITY_TIME + 3_600_000).toISOString());
  polls = [];
  server = await startFeedServer(city());
});
afterEach(async () => {
  for (const following of followings.splice(0)) await following.close();
  await server.close();
});

/** The feeds of the city with a `ttl` of 0, so that each poll fetches them again. */
const city = (): Documents => fresh(city23());
const fresh = (documents: Documents, seconds = 0): Documents =>
  Object.fromEntries(
    Object.entries(documents).map(([name, document]) => [
      name,
      { ...document, ttl: 0, last_updated: CITY_TIME / 1000 + seconds },
    ]),
  );

function follow(over: Partial<FollowOptions> = {}): Following {
  const log = (round: PollResult) => void polls.push(round);
  const following = startFollowing({
    db: database.db,
    clock,
    ids,
    url: server.url,
    intervalMs: 5,
    systemId,
    source: "gbfs",
    reportDirectory,
    log,
    ...over,
  });
  followings.push(following);
  return following;
}

/** Waits for a poll that is as wanted, and returns its result. */
async function roundUntil(isWanted: (round: PollResult) => boolean): Promise<PollResult> {
  const from = polls.length;
  let found: PollResult | undefined;
  await until(() => (found = polls.slice(from).find(isWanted)) !== undefined);
  if (found === undefined) throw new Error("no such round");
  return found;
}

const sql = <Row>(text: string) => database.db.query<Row>({ name: "", text }, [systemId]);
const states = () => sql("select id, status from stations where system_id = $1 order by id");
const events = () =>
  sql<{ name: string; occurred_at: Date; data: string }>(
    "select name, occurred_at, data from event_outbox where system_id = $1 order by id",
  );
/** Returns a `station_status` some seconds later, in which no station rents or takes back bikes. */
const harbourOut = (seconds: number) => {
  const { station_status } = city23() as { station_status: { data: { stations: object[] } } };
  const stations = station_status.data.stations.map((station) => ({
    ...station,
    is_renting: false,
    is_returning: false,
  }));
  return fresh({ station_status: { ...station_status, data: { stations } } }, seconds)["station_status"];
};

test("applies what the feed says, then only what changes, with an event at the feed's own time", async () => {
  follow();
  expect(await roundUntil(({ outcome }) => outcome === "applied")).toMatchObject({
    stations: { created: 2 },
    bikes: { created: 3 },
    failures: [],
  });
  await roundUntil(({ outcome }) => outcome === "unchanged");
  server.pages["station_status"] = harbourOut(60);
  const round = await roundUntil(({ outcome }) => outcome === "applied");
  expect(round).toMatchObject({ stations: { updated: 1 }, events: { "station.offline": 1 } });
  const [event, ...others] = await events();
  expect([event?.name, event?.occurred_at, others]).toEqual(["station.offline", new Date(CITY_TIME + 60_000), []]);
  expect(JSON.parse(event?.data ?? "")).toMatchObject({ id: "harbour", status: "offline", offline_reason: "flags" });
});

test("asks only whether a feed changed: an unchanged one is answered without a body", async () => {
  follow();
  await roundUntil(({ outcome }) => outcome === "unchanged");
  await roundUntil(({ outcome }) => outcome === "unchanged");
  const full = server.requests.filter((request) => request.endsWith(" 200"));
  expect(full.toSorted()).toEqual([
    "free_bike_status 200",
    "gbfs 200",
    "station_information 200",
    "station_status 200",
  ]);
  expect(server.requests).toContain("station_status 304");
});

test("takes the same bytes for unchanged where a server knows no conditions", async () => {
  await server.close();
  server = await startFeedServer(city(), { etags: false });
  follow();
  await roundUntil(({ outcome }) => outcome === "applied");
  expect(await roundUntil(() => true)).toMatchObject({ outcome: "unchanged" });
});

test.each([
  ["answers 500", (response: ServerResponse) => response.writeHead(500).end()],
  ["is garbage", (response: ServerResponse) => response.end("<html>")],
  ["is not a feed", (response: ServerResponse) => response.end("[]")],
  [
    "breaks off",
    (response: ServerResponse) => response.writeHead(200, { "content-length": "99" }).write("{") && response.destroy(),
  ],
  ["never answers", () => undefined],
])("keeps the last good state while a feed %s, is partial meanwhile, and goes on when it is back", async (_, page) => {
  // A short timeout, for the page that never comes. On a busy machine other pages may time out too, and are fetched again.
  follow({ fetchOptions: { timeoutMs: 200 } });
  await until(async () => (await states()).length === 2);
  await roundUntil(({ outcome }) => outcome === "unchanged");
  const before = await states();
  server.pages["station_status"] = page;
  const round = await roundUntil(({ failures }) => failures.map(({ feed }) => feed).join() === "station_status");
  expect(round).toMatchObject({ outcome: "partial", ages: { station_status: 0 } });
  clock.advance(30_000);
  expect(
    (await roundUntil(({ at, outcome }) => at > round.at && outcome === "partial")).ages["station_status"],
  ).toBeGreaterThanOrEqual(30);
  expect(await states()).toEqual(before);
  server.pages["station_status"] = harbourOut(60);
  clock.advance(600_000);
  const back = await roundUntil(({ events: made }) => made["station.offline"] === 1);
  expect(back.ages["station_status"]).toBe(0);
});

test("waits for a server that is not there yet", async () => {
  const { gbfs } = server.pages;
  server.pages["gbfs"] = undefined;
  follow();
  expect(await roundUntil(({ outcome }) => outcome === "failed")).toMatchObject({ failures: [{ feed: "gbfs" }] });
  server.pages["gbfs"] = gbfs;
  clock.advance(600_000);
  await roundUntil(({ outcome }) => outcome === "applied");
});

test("fetches again what could not be stored", async () => {
  let isAway = true;
  const db: FollowOptions["db"] = {
    query: (...args) => database.db.query(...args),
    transaction: (work) => (isAway ? Promise.reject(new Error("the database is away")) : database.db.transaction(work)),
  };
  follow({ db });
  expect(await roundUntil(({ outcome }) => outcome === "failed")).toMatchObject({
    failures: [{ message: "the database is away" }],
  });
  isAway = false;
  expect(await roundUntil(({ outcome }) => outcome === "applied")).toMatchObject({ stations: { created: 2 } });
});

test("does not ask a feed again before its time to live is over", async () => {
  server.pages["station_status"] = { ...city()["station_status"], ttl: 60, last_updated: clock() / 1000 };
  follow();
  await roundUntil(({ outcome }) => outcome === "unchanged");
  await roundUntil(({ outcome }) => outcome === "unchanged");
  const asked = () => server.requests.filter((request) => request.startsWith("station_status")).length;
  expect(asked()).toBe(1);
  clock.advance(60_000);
  await until(() => asked() > 1);
});

test("believes a time to live for ten minutes at most", async () => {
  server.pages["station_status"] = {
    ...city()["station_status"],
    ttl: 86_400,
    last_updated: clock() / 1000 + 9_999_999,
  };
  follow();
  await roundUntil(({ outcome }) => outcome === "unchanged");
  clock.advance(10 * 60_000);
  await until(() => server.requests.filter((request) => request.startsWith("station_status")).length > 1);
});

test("a source with its vehicles in two versions is asked for the newer one alone", async () => {
  await server.close();
  const { free_bike_status, ...others } = city();
  server = await startFeedServer({
    ...others,
    vehicle_status: free_bike_status ?? {},
    free_bike_status: free_bike_status ?? {},
  });
  follow();
  await roundUntil(({ outcome }) => outcome === "unchanged");
  expect(server.requests.filter((request) => request.startsWith("free_bike_status"))).toEqual([]);
});

test("two processes on one source make each event once", async () => {
  follow();
  follow();
  await roundUntil(({ outcome }) => outcome === "applied");
  for (let minute = 1; minute <= 4; minute++) {
    server.pages["station_status"] =
      minute % 2 ? harbourOut(60 * minute) : fresh(city23(), 60 * minute)["station_status"];
    await until(async () => (await events()).length >= minute);
  }
  for (const following of followings.splice(0)) await following.close();
  expect((await events()).map(({ name }) => name)).toEqual([
    "station.offline",
    "station.online",
    "station.offline",
    "station.online",
  ]);
});

test("closing gives up a fetch that hangs, tells of no such round, and begins no other", async () => {
  server.pages["station_status"] = () => undefined;
  let asked = false;
  server.pages["station_information"] = (response) => {
    asked = true;
    response.writeHead(404).end();
  };
  const following = follow({ fetchOptions: { timeoutMs: 60_000 } });
  await until(() => asked);
  await following.close();
  expect(polls).toEqual([]);
});

test("an address that is none is refused at once", () => {
  expect(() => follow({ url: "feeds.example.com" })).toThrow("not an http or https address");
});

test("alerts of a feed that its list drops end, and what its other feeds described stays", async () => {
  const regions = { data: { regions: [{ region_id: "north", name: "North" }] } };
  const alerts = { data: { alerts: [{ alert_id: "works", type: "OTHER", summary: "Works" }] } };
  await server.close();
  server = await startFeedServer(fresh({ ...city(), system_alerts: alerts, system_regions: regions }));
  follow();
  expect((await roundUntil(({ outcome }) => outcome === "applied")).events).toMatchObject({ "alert.opened": 1 });
  // An alert that disappears sooner than `MIN_OPEN_MS` after it was opened would end only later.
  clock.advance(MIN_OPEN_MS);
  // Waits until the current poll has ended, because it would read the new list at the old time.
  await roundUntil(() => true);
  const { data, ...list } = server.pages["gbfs"] as { data: { feeds: { name: string }[] } };
  const left = data.feeds.filter(({ name }) => name !== "system_alerts" && name !== "system_regions");
  server.pages["gbfs"] = { ...list, data: { feeds: left } };
  expect((await roundUntil((round) => "alert.ended" in round.events)).events).toEqual({ "alert.ended": 1 });
  expect((await roundUntil(() => true)).outcome).toBe("unchanged");
  const held = await sql<{ feed: string }>("select feed from gbfs_documents where system_id = $1 order by feed");
  expect(held.map(({ feed }) => feed)).toEqual(["system_alerts", "system_regions"]);
});

test("another language of a feed is fetched again when it changes, and while it fails the last one stays", async () => {
  const named = (name: string) => ({
    ...{ ttl: 0, last_updated: CITY_TIME / 1000 },
    data: { regions: [{ region_id: "north", name }] },
  });
  const feeds = (folder: string) => ({ feeds: [{ name: "system_regions", url: `${folder}system_regions.json` }] });
  server.pages["gbfs"] = { ttl: 0, data: { en: feeds(""), nb: feeds("nb/") } };
  Object.assign(server.pages, { system_regions: named("North"), "nb/system_regions": named("Nord") });
  follow();
  const name = async () => {
    const [row] = await sql<{ content: { name: { text: string }[] }[] }>(
      "select content from gbfs_documents where system_id = $1 and feed = 'system_regions'",
    );
    return row?.content[0]?.name.map(({ text }) => text);
  };
  await roundUntil(({ outcome }) => outcome === "applied");
  expect(await name()).toEqual(["North", "Nord"]);
  server.pages["nb/system_regions"] = { ...named("Nordre"), last_updated: CITY_TIME / 1000 + 1 };
  await roundUntil(({ outcome }) => outcome === "applied");
  expect(await name()).toEqual(["North", "Nordre"]);
  server.pages["nb/system_regions"] = undefined;
  await roundUntil(() => server.requests.includes("nb/system_regions 404"));
  expect((await roundUntil(() => true)).outcome).toBe("unchanged");
  expect(await name()).toEqual(["North", "Nordre"]);
});

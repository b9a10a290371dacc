import { bike, station } from "@bikeshare/contract";
import { createTestIds } from "@bikeshare/test-kit";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { city10, city23, city3, CITY_TIME, type Documents, sourceOf } from "../../../test/gbfs/city.ts";
import { until } from "../../../test/until.ts";
import { bringStationsOnline } from "../../city/fleet/station-commands.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { applySnapshot } from "./apply.ts";
import { readStationInformation, readStationStatus, readVehicles } from "./documents.ts";
import { importSnapshot } from "./import.ts";
import type { GbfsSnapshot } from "./snapshot.ts";

let database: TestDatabase;
let systemId: string;
let systems = 0;
const madeIds = createTestIds();
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.close());
// Each test has its own system, which isolates tests as well as separate databases would.
beforeEach(() => void (systemId = `s${++systems}`));

const sql = <Row>(text: string, ...values: unknown[]) =>
  database.db.query<Row>({ name: "", text }, [systemId, ...values]);
const context = (over: { source?: string; now?: number } = {}) => ({
  systemId,
  source: "gbfs",
  now: CITY_TIME + 1000,
  ids: madeIds,
  ...over,
});
const load = (documents: Documents, over = {}) => importSnapshot(database.db, context(over), sourceOf(documents));
const readRows = async (table: "stations" | "bikes") =>
  (await sql<{ json: string }>(`select json from ${table} where system_id = $1 order by id`)).map(
    ({ json }) => JSON.parse(json) as Record<string, unknown>,
  );
const states = async () => {
  const byId: Record<string, string> = {};
  for (const { id, status, offline_reason } of await readRows("stations")) {
    byId[String(id)] = [status, offline_reason].filter(Boolean).join(" ");
  }
  return byId;
};
const none = { created: 0, updated: 0, unchanged: 0, removed: 0, rejected: 0 };

/** A station_status of `ids` at `minute`, all in service unless `flags` says otherwise. */
const statusAt = (minute: number, ids: readonly string[], flags = {}): GbfsSnapshot => ({
  status: readStationStatus(
    {
      last_updated: CITY_TIME / 1000 + minute * 60,
      data: {
        stations: ids.map((station_id) => ({
          station_id,
          num_bikes_available: 1,
          is_installed: 1,
          is_renting: 1,
          is_returning: 1,
          ...flags,
        })),
      },
    },
    CITY_TIME + 3_600_000,
  ),
});
const informationAt = (minute: number, ids: readonly string[], over = {}): GbfsSnapshot => ({
  information: readStationInformation(
    {
      last_updated: CITY_TIME / 1000 + minute * 60,
      data: { stations: ids.map((station_id) => ({ station_id, name: station_id, lat: 1, lon: 2, ...over })) },
    },
    CITY_TIME + 3_600_000,
  ),
});
const apply = (snapshot: GbfsSnapshot, over = {}) => applySnapshot(database.db, context(over), snapshot);

test("a source that names other stations each time is refused at a bound, whole, and goes on with those that it has", async () => {
  const bound = { maxStations: 3 };
  await apply({ ...informationAt(0, ["a", "b"]), ...statusAt(0, ["a", "b"]) }, bound);
  // A station that waits for its status counts too.
  await apply(informationAt(1, ["a", "b", "c"]), bound);
  const before = await readRows("stations");
  const rejection =
    '"gbfs" has 3 stations, and this snapshot names 1 others; it may have 3 in all. Nothing was changed.';
  for (const snapshot of [informationAt(2, ["a", "d"], { name: "new" }), statusAt(2, ["e"])]) {
    await expect(apply(snapshot, bound)).rejects.toThrow(rejection);
  }
  expect(await readRows("stations")).toEqual(before);
  const { stations } = await apply({ ...informationAt(3, ["a", "b", "c"]), ...statusAt(3, ["a", "b", "c"]) }, bound);
  expect(stations).toMatchObject({ created: 1 });
});

test("a source's stations are loaded and written in pieces, however many it has", async () => {
  const ids = (from: number) => Array.from({ length: 2_500 }, (_, i) => `station-${from + i}`);
  const both = (minute: number, from: number) => ({
    ...informationAt(minute, ids(from)),
    ...statusAt(minute, ids(from)),
  });
  const rows: number[] = [];
  const given: number[] = [];
  const observed = watched((_, values, found) => {
    if (found.some((row) => Object.keys(row).length > 1)) rows.push(found.length);
    for (const value of values) if (typeof value === "string") given.push(value.length);
  });
  const changes: number[][] = [];
  for (const snapshot of [both(0, 0), both(1, 2_500), informationAt(2, ids(5_000)), both(3, 5_000)]) {
    const { stations } = await applySnapshot(observed, context(), snapshot);
    changes.push([stations.created, stations.removed, stations.waiting.withoutStatus]);
  }
  expect(changes).toEqual([
    [2_500, 0, 0],
    [2_500, 0, 0],
    [0, 0, 2_500],
    [2_500, 2_500, 0],
  ]);
  expect(Math.max(...rows)).toBeLessThanOrEqual(2_000);
  // 2,000 stations, the rows of one statement, have some 800 KB as text.
  expect(Math.max(...given)).toBeLessThan(1_500_000);
});

test("stations are locked in the order of their ids, those among them that others change meanwhile", async () => {
  await apply({ ...informationAt(0, ["a"]), ...statusAt(0, ["a"]) }, { source: "other" });
  await apply({ ...informationAt(0, ["m"]), ...statusAt(0, ["m"]) });
  const locked: unknown[] = [];
  const db = watched(async ({ name }, [, ids]) => {
    // The plan has read the stations, and has locked none.
    if (name === "stationSnapshot.withIds") {
      await sql("update stations set source = 'gbfs' where system_id = $1 and id = 'a'");
    }
    if (name === "stationSnapshot.lock") locked.push(ids);
  });
  const snapshot = { ...informationAt(1, ["a", "m"], { name: "new" }), ...statusAt(1, ["a", "m"]) };
  expect((await applySnapshot(db, context(), snapshot)).stations).toMatchObject({ updated: 2 });
  expect(locked.flat()).toEqual(["a", "m"]);
});

/** Returns the database. @param after is called after each statement, with its values and the rows of its result */
function watched(
  after: (text: Parameters<Queryable["query"]>[0], values: readonly unknown[], found: readonly object[]) => unknown,
): Queryable {
  const watch = <Runner extends Queryable>(runner: Runner): Runner =>
    Object.assign(Object.create(runner) as Runner, {
      query: async (...[text, values = []]: Parameters<Queryable["query"]>) => {
        const found = await runner.query<object>(text, values);
        await after(text, values, found);
        return found;
      },
      transaction: (work: (tx: Transaction) => unknown) => runner.transaction((tx) => work(watch(tx))),
    });
  return watch(database.db);
}

describe.each([
  ["1.0", city10()],
  ["2.3", city23()],
  ["3.0", city3("3.0")],
  ["3.1", city3("3.1")],
])("version %s", (_, documents) => {
  test("becomes stations and bikes that the contract accepts, and a second import changes nothing", async () => {
    const first = await load(documents);
    expect([first.stations, first.bikes, first.problems]).toEqual([
      { ...none, created: 2 },
      { ...none, created: 3 },
      [],
    ]);
    const before = [await readRows("stations"), await readRows("bikes")];
    for (const json of before[0] ?? []) station.parse(json);
    for (const json of before[1] ?? []) bike.parse(json);
    expect(before[0]?.[0]).toMatchObject({
      id: "harbour",
      name: "Harbour",
      status: "online",
      num_bikes_available: 3,
      num_bikes_reserved: 0,
      num_docks_available: 9,
      capacity: 12,
      last_reported: "2025-06-01T11:59:30.000Z",
      updated_at: "2025-06-01T12:00:01.000Z",
    });
    expect(before[0]?.[1]).toMatchObject({ id: "square", status: "offline", offline_reason: "flags" });
    expect(before[1]?.map(({ vehicle_state }) => vehicle_state)).toEqual(["available", "reserved", "non_operational"]);

    const second = await load(documents, { now: CITY_TIME + 60_000 });
    expect([second.stations, second.bikes]).toEqual([
      { ...none, unchanged: 2 },
      { ...none, unchanged: 3 },
    ]);
    expect([await readRows("stations"), await readRows("bikes")]).toEqual(before);
  });
});

test("a station that does not report itself is offline once that takes too long, if the operator wants it, and back with its next report", async () => {
  const wanted = { stationStaleAfterMs: 3_600_000 };
  const reported = (minute: number, last: number) =>
    statusAt(minute, ["a"], { last_reported: CITY_TIME / 1000 + last * 60 });
  await apply({ ...informationAt(0, ["a"]), ...reported(0, 0) }, wanted);
  const steps: [number, number, string, readonly string[]][] = [
    [60, 0, "online", []],
    [61, 0, "offline stale", ["station.offline"]],
    [62, 0, "offline stale", []],
    [63, 62, "online", ["station.online"]],
  ];
  for (const [minute, last, state, events] of steps) {
    const applied = await apply(reported(minute, last), wanted);
    expect([minute, applied.stations.events]).toEqual([minute, events]);
    expect(await states()).toEqual({ a: state });
  }
  // The operator's command does not make it report.
  await apply(reported(64, 0), wanted);
  const command = { db: database.db, clock: () => CITY_TIME, ids: madeIds };
  const { results } = await bringStationsOnline(command, systemId, [{ item: { id: "a" } }]);
  expect(results).toMatchObject([{ outcome: "unchanged" }]);
  expect(await states()).toEqual({ a: "offline stale" });
  // Without the setting, and for a station that never says when it reported, silence has no effect.
  await apply(reported(64.25, 0));
  expect(await states()).toEqual({ a: "online" });
  await apply(reported(64.5, 0), wanted);
  expect(await states()).toEqual({ a: "offline stale" });
  await apply(statusAt(64.75, ["a"]), wanted);
  expect(await states()).toEqual({ a: "online" });
});

test("unchanged rows are not written at all", async () => {
  const versions = () =>
    sql(
      "select id, xmin::text from stations where system_id = $1 union all select id, xmin::text from bikes where system_id = $1 order by 1",
    );
  await load(city23());
  const before = await versions();
  await load(city23(), { now: CITY_TIME + 60_000 });
  expect(await versions()).toEqual(before);
});

describe("the parts of a station", () => {
  const waiting = (withoutInformation: number, withoutStatus: number) => ({ withoutInformation, withoutStatus });

  test("wait for each other, whichever comes first, and make it only together", async () => {
    const { stations } = await apply(statusAt(0, ["a", "b"]));
    expect([stations.created, stations.waiting, await states()]).toEqual([0, waiting(2, 0), {}]);
    const joined = await apply(informationAt(0, ["b", "c"]));
    expect([joined.stations.created, joined.stations.waiting, await states()]).toEqual([
      1,
      waiting(1, 1),
      { b: "online" },
    ]);
    expect((await apply(statusAt(1, ["a", "b", "c"]))).stations).toMatchObject({
      created: 1,
      unchanged: 1,
      waiting: waiting(1, 0),
    });
    expect(await states()).toEqual({ b: "online", c: "online" });
    expect(await sql("select station_id, part from gbfs_pending_station_parts where system_id = $1")).toEqual([
      { station_id: "a", part: "status" },
    ]);
  });

  test("of an older snapshot do not replace those of a newer one", async () => {
    await apply({ ...informationAt(5, ["a"], { name: "New" }), ...statusAt(5, ["a"]) });
    const late = await apply({
      ...informationAt(4, ["a"], { name: "Old" }),
      ...statusAt(4, ["a"], { num_bikes_available: 9 }),
    });
    expect([late.late, late.stations.unchanged]).toEqual([["station_information", "station_status"], 1]);
    expect((await readRows("stations"))[0]).toMatchObject({ name: "New", num_bikes_available: 1 });
  });
});

describe("a station that the source leaves out", () => {
  test("goes offline at the second snapshot in a row, once, and returns with the first that names it", async () => {
    await apply({ ...informationAt(0, ["a", "b"]), ...statusAt(0, ["a", "b"]) });
    expect((await apply(statusAt(1, ["a"]))).stations).toMatchObject({ updated: 0, removed: 0, stateChanges: [] });
    const gone = await apply(statusAt(2, ["a"]));
    expect(gone.stations).toMatchObject({
      removed: 1,
      stateChanges: [{ stationId: "b", from: "online", to: "offline" }],
    });
    expect(await states()).toEqual({ a: "online", b: "offline removed_from_source" });
    expect((await apply(statusAt(3, ["a"]))).stations).toMatchObject({ removed: 0, stateChanges: [] });
    const back = await apply(statusAt(4, ["a", "b"]));
    expect(back.stations).toMatchObject({
      updated: 1,
      stateChanges: [{ stationId: "b", from: "offline", to: "online" }],
    });
  });

  test("is not counted twice by the same snapshot, nor after it came back between", async () => {
    await apply({ ...informationAt(0, ["a", "b"]), ...statusAt(0, ["a", "b"]) });
    for (let i = 0; i < 3; i++) await apply(statusAt(1, ["a"]));
    await apply(statusAt(2, ["a", "b"]));
    await apply(statusAt(3, ["a"]));
    expect(await states()).toEqual({ a: "online", b: "online" });
  });

  test("keeps its state while the feed fails, is empty or cannot be read", async () => {
    await load(city23());
    for (let minute = 1; minute < 4; minute++) {
      const { stations } = await load({
        ...city23(),
        station_status: { last_updated: CITY_TIME / 1000 + minute * 60, data: { stations: [] } },
      });
      expect(stations).toEqual({ ...none, unchanged: 2 });
    }
    expect((await states())["harbour"]).toBe("online");
  });
});

test("one edge per change of flags; `planned` until it was installed", async () => {
  await apply({ ...informationAt(0, ["a"]), ...statusAt(0, ["a"], { is_installed: 0 }) });
  expect(await states()).toEqual({ a: "planned" });
  const edges = [];
  const out = { is_renting: 0, is_returning: 0 };
  for (const [minute, flags] of [{}, {}, out, out, {}, { is_installed: 0 }].entries()) {
    edges.push(
      (await apply(statusAt(minute + 1, ["a"], flags))).stations.stateChanges
        .map(({ from, to }) => `${from} → ${to}`)
        .join(),
    );
  }
  expect(edges).toEqual(["planned → online", "", "online → offline", "", "offline → online", "online → offline"]);
});

describe("whose station it is", () => {
  const placeholder = (source: string) =>
    sql(
      `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, offline_reason, updated_at, source, counters)
         values ($1, 'harbour', 'Placeholder', 1, 1, false, false, false, 'offline', 'removed_from_source', now(), $2, 'mirrored')`,
      source,
    );

  test.each(["trips", "gbfs"])(
    "a placeholder made by an import of trips (source %s) is taken over, without an edge",
    async (source) => {
      await placeholder(source);
      const { stations, applied } = await load(city23());
      expect([stations, applied.stations.stateChanges]).toEqual([{ ...none, created: 1, updated: 1 }, []]);
      expect((await readRows("stations"))[0]).toMatchObject({ id: "harbour", name: "Harbour", status: "online" });
      expect(await sql("select source from stations where system_id = $1 and id = 'harbour'")).toEqual([
        { source: "gbfs" },
      ]);
    },
  );

  test("one of another source is left alone and reported, and so are its bikes", async () => {
    await load(city23(), { source: "first" });
    const before = [await readRows("stations"), await readRows("bikes")];
    const { stations, bikes, problems } = await load(city23(), { source: "second", now: CITY_TIME + 5000 });
    expect([stations, bikes]).toEqual([
      { ...none, created: 0, rejected: 2 },
      { ...none, rejected: 3 },
    ]);
    expect(problems).toHaveLength(5);
    expect([await readRows("stations"), await readRows("bikes")]).toEqual(before);
  });

  test("the operator's word stands against the feed's", async () => {
    await apply({ ...informationAt(0, ["a", "b"]), ...statusAt(0, ["a", "b"]) });
    await sql("update stations set status = 'removed' where system_id = $1 and id = 'a'");
    await sql("update stations set status = 'offline', offline_reason = 'operator' where system_id = $1 and id = 'b'");
    expect((await apply(statusAt(1, ["a", "b"], { num_bikes_available: 7 }))).stations).toMatchObject({
      updated: 1,
      unchanged: 1,
      stateChanges: [],
    });
    expect(await states()).toEqual({ a: "removed", b: "offline operator" });
  });

  test("also when the operator speaks while the snapshot is being applied", async () => {
    await apply({ ...informationAt(0, ["a"]), ...statusAt(0, ["a"]) });
    const applying = await database.db.transaction(async (tx) => {
      const takeOffline =
        "update stations set status = 'offline', offline_reason = 'operator' where system_id = $1 and id = 'a'";
      await tx.query({ name: "", text: takeOffline }, [systemId]);
      // Returns the promise in an object: otherwise the transaction would wait for the promise, which waits for its end.
      const started = { outcome: apply(statusAt(1, ["a"], { num_bikes_available: 7 })) };
      await untilSomeoneWaitsForALock();
      return started;
    });
    expect((await applying.outcome).stations).toMatchObject({ updated: 1, stateChanges: [] });
    expect(await states()).toEqual({ a: "offline operator" });
  });
});

async function untilSomeoneWaitsForALock(): Promise<void> {
  const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await database.db.query({ name: "", text })).length > 0);
}

describe("bikes", () => {
  const bikesAt = (minute: number, ...records: object[]): GbfsSnapshot => ({
    vehicles: readVehicles(
      "free_bike_status",
      { last_updated: CITY_TIME / 1000 + minute * 60, data: { bikes: records } },
      CITY_TIME + 3_600_000,
    ),
  });
  const free = (bike_id: string, over = {}) => ({ bike_id, lat: 1, lon: 2, is_reserved: 0, is_disabled: 0, ...over });
  const ids = async () => (await readRows("bikes")).map(({ id }) => id);

  test("that a snapshot does not name are deleted, an older snapshot says nothing and finds only what is stored unchanged", async () => {
    await apply(bikesAt(1, free("a"), free("b")));
    expect((await apply(bikesAt(2, free("b", { is_reserved: 1 }), free("c")))).bikes).toMatchObject({
      created: 1,
      updated: 1,
      removed: 1,
    });
    expect(await apply(bikesAt(1, free("a"), free("b")))).toMatchObject({
      late: ["free_bike_status"],
      bikes: { created: 0, unchanged: 1 },
    });
    expect(await ids()).toEqual(["b", "c"]);
  });

  test("whose record cannot be read stay as they are", async () => {
    await apply(bikesAt(1, free("a"), free("b")));
    expect((await apply(bikesAt(2, free("a", { lat: 999 }), free("b")))).bikes).toMatchObject({
      removed: 0,
      unchanged: 1,
    });
    expect(await ids()).toEqual(["a", "b"]);
  });

  test("on a trip of ours are neither changed nor deleted", async () => {
    await apply(bikesAt(1, free("a"), free("b"), free("c")));
    await sql(
      "update bikes set vehicle_state = 'on_trip', lat = null, lon = null where system_id = $1 and id in ('a', 'b')",
    );
    expect((await apply(bikesAt(2, free("a"), free("c")))).bikes).toMatchObject({ unchanged: 2, removed: 0 });
    expect((await readRows("bikes")).map(({ vehicle_state }) => vehicle_state)).toEqual([
      "on_trip",
      "on_trip",
      "available",
    ]);
  });

  test("at a station without a place of their own have the station's", async () => {
    await load(city23());
    expect((await readRows("bikes"))[1]).toMatchObject({ id: "b2", station_id: "harbour", lat: 59.9, lon: 10.7 });
  });
});

test("a feed that fails is reported and the others are applied; none that can be used changes nothing", async () => {
  const { stations, bikes, problems } = await load({ ...city23(), free_bike_status: { data: "oops" } });
  expect([stations.created, bikes, problems.map(({ feed, record, action }) => [feed, record, action])]).toEqual([
    2,
    none,
    [["free_bike_status", null, "rejected"]],
  ]);
  await expect(load({ station_status: [], system_information: {} })).rejects.toThrow(
    "nothing was changed:\n  system_information: it has no `data`\n  station_status: it has no `data`",
  );
  await expect(load({})).rejects.toThrow("nothing was changed");
});

test("the kept counts equal the real ones after every kind of change", async () => {
  const counts = async () => [
    await sql(
      "select (select coalesce(sum(n), 0)::int from list_counts where system_id = $1 and list = 'stations') as stations, (select coalesce(sum(n), 0)::int from list_counts where system_id = $1 and list = 'bikes') as bikes",
    ),
    await sql(
      "select (select count(*)::int from stations where system_id = $1) as stations, (select count(*)::int from bikes where system_id = $1) as bikes",
    ),
  ];
  for (const documents of [
    city23(),
    {
      ...city3("3.1"),
      vehicle_status: {
        last_updated: CITY_TIME / 1000 + 60,
        data: { vehicles: [{ vehicle_id: "b9", lat: 1, lon: 1 }] },
      },
    },
  ]) {
    await load(documents, { now: CITY_TIME + 120_000 });
    const [kept, real] = await counts();
    expect(kept).toEqual(real);
  }
  expect((await counts())[1]).toEqual([{ stations: 2, bikes: 1 }]);
});

test("listeners hear of the system when something changed, and only then", async () => {
  const client = new pg.Client(database.db.connectionString);
  const heard: string[] = [];
  client.on("notification", ({ channel, payload }) => heard.push(`${channel} ${payload}`));
  await client.connect();
  await client.query("listen stations; listen bikes");
  try {
    await load(city23());
    await load(city23());
    // Notifications follow the commit, and arrive in order.
    await database.db.transaction(async (tx) => tx.notify("stations", "last"));
    await until(() => heard.includes("stations last"));
    // PostgreSQL may also deliver notifications of an earlier test, if a transaction was open when the listener began.
    const ours = heard.filter((text) => text.endsWith(` ${systemId}`));
    expect(ours.sort()).toEqual([`bikes ${systemId}`, `stations ${systemId}`]);
  } finally {
    await client.end();
  }
});

test("two imports at once of the same feeds end like one", async () => {
  const outcomes = await Promise.all([load(city23()), load(city23()), load(city10(), { source: "other" })]);
  expect(outcomes.reduce((sum, { stations }) => sum + stations.created, 0)).toBe(2);
  expect(outcomes.reduce((sum, { bikes }) => sum + bikes.created, 0)).toBe(3);
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createTestIds } from "@bikeshare/test-kit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { CITY_TIME } from "../../../test/gbfs/city.ts";
import { createSystem } from "../../city/systems/service.ts";
import { type ReplayOptions, replaySnapshots } from "./replay.ts";

let database: TestDatabase;
let directory: string;
let systemId: string;
let systems = 0;
const ids = createTestIds();
beforeAll(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "gbfs-replay-"));
  const stations = ["a", "b"].map((station_id) => ({ station_id, name: station_id, lat: 1, lon: 2 }));
  await writeFile(
    join(directory, "information.json"),
    JSON.stringify({ last_updated: CITY_TIME / 1000, data: { stations } }),
  );
});
afterAll(async () => {
  await database.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  systemId = `s${++systems}`;
  await createSystem(database.db, systemId, "City", 0);
});

/** Returns a line of the file, with a station for each letter. A lower-case letter: the station is in service. */
const line = (minute: number, stations: string) =>
  JSON.stringify({
    last_updated: CITY_TIME / 1000 + minute * 60,
    data: {
      stations: stations.split("").map((name) => {
        const works = name === name.toLowerCase();
        return {
          station_id: name.toLowerCase(),
          num_bikes_available: 1,
          is_installed: true,
          is_renting: works,
          is_returning: works,
        };
      }),
    },
  });
const replay = async (lines: readonly string[], over: Partial<ReplayOptions> = {}) => {
  const file = join(directory, "series");
  await writeFile(file, lines.join("\n"));
  const information = join(directory, "information.json");
  return replaySnapshots({
    db: database.db,
    clock: () => CITY_TIME + 86_400_000,
    ids,
    systemId,
    source: "gbfs",
    file,
    information,
    ...over,
  });
};
const events = async () =>
  (
    await database.db.query<{ name: string; id: string; minute: number }>(
      {
        name: "",
        text: `select name, data::json->>'id' as id, (extract(epoch from occurred_at - $2::timestamptz) / 60)::int as minute
          from event_outbox where system_id = $1 order by event_outbox.id`,
      },
      [systemId, new Date(CITY_TIME)],
    )
  ).map(({ name, id, minute }) => `${minute} ${id} ${name}`);

const series = [
  line(0, "ab"),
  line(1, "aB"),
  line(2, "aB"),
  line(3, "ab"),
  line(4, "b"),
  line(5, "b"),
  line(6, "b"),
  line(7, "ab"),
];
const expected = ["1 b station.offline", "3 b station.online", "5 a station.offline", "7 a station.online"];

test("one event per edge, at the snapshot's own time, none for stations that are new; a station may vanish and return", async () => {
  const outcome = await replay(series);
  expect(outcome).toEqual({
    snapshots: 8,
    events: { "station.offline": 2, "station.online": 2 },
    failed: [],
    waiting: { withoutInformation: 0, withoutStatus: 0 },
    problems: [],
  });
  expect(await events()).toEqual(expected);
});

test("a second replay makes no event and changes nothing", async () => {
  await replay(series);
  const json = () =>
    database.db.query({ name: "", text: "select json from stations where system_id = $1 order by id" }, [systemId]);
  const before = await json();
  expect(await replay(series)).toMatchObject({ snapshots: 8, events: {} });
  expect([await json(), await events()]).toEqual([before, expected]);
});

test("a replay that was broken off is completed by the next, with the same events", async () => {
  const stop = new AbortController();
  const breakOff = ({ snapshots }: { snapshots: number }) =>
    void (snapshots === 4 && stop.abort(new Error("Stopped.")));
  await expect(replay(series, { signal: stop.signal, onProgress: breakOff })).rejects.toThrow("Stopped.");
  await replay(series);
  expect(await events()).toEqual(expected);
});

test("reads gzip as well as plain text, with or without a last line end", async () => {
  const file = join(directory, "packed");
  await writeFile(file, gzipSync(`${series.join("\r\n")}\r\n`));
  expect(await replay([], { file })).toMatchObject({ snapshots: 8, failed: [] });
});

test("skips and names lines that are not a snapshot or have no time; a line separator inside a string does not end a line", async () => {
  const odd = JSON.stringify({ ...(JSON.parse(line(1, "ab")) as object), note: "x\u2028y" });
  const timeless = JSON.stringify({ ...(JSON.parse(line(2, "AB")) as object), last_updated: undefined });
  const outcome = await replay([line(0, "ab"), "{oops", "", odd, "[]", line(2, ""), timeless, line(3, "Ab")]);
  expect(outcome).toMatchObject({ snapshots: 3, events: { "station.offline": 1 } });
  expect(outcome.failed).toEqual([
    { line: 2, reason: "it is not JSON" },
    { line: 5, reason: "it has no `data`" },
    { line: 6, reason: "it is empty" },
    { line: 7, reason: "it has no last_updated that can be used" },
  ]);
  expect(outcome.problems.map(({ reason }) => reason)).toContain("line 2: it is not JSON");
});

test("without information the stations wait, and join when it comes", async () => {
  expect(await replay(series.slice(0, 2), { information: undefined })).toMatchObject({
    snapshots: 2,
    waiting: { withoutInformation: 2, withoutStatus: 0 },
    events: {},
  });
  expect(await replay(series)).toMatchObject({ waiting: { withoutInformation: 0, withoutStatus: 0 } });
});

test("a file that is not there, or information that is none, is refused by name", async () => {
  await expect(replay([], { file: join(directory, "nowhere") })).rejects.toThrow("cannot be read");
  await expect(replay(series, { information: join(directory, "nowhere") })).rejects.toThrow("nowhere");
});

import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { Command } from "@commander-js/extra-typings";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { city23, CITY_TIME } from "../../test/gbfs/city.ts";
import { readConfig } from "../config.ts";
import { createIds } from "../ids.ts";
import type { CliContext } from "./context.ts";
import { registerImportGbfs } from "./gbfs.ts";
import { createOutput } from "./output.ts";

let database: TestDatabase;
let directory: string;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "gbfs-import-"));
  for (const [feed, document] of Object.entries(city23()))
    await writeFile(join(directory, `${feed}.json`), JSON.stringify(document));
});
afterEach(async () => {
  await database.close();
  await rm(directory, { recursive: true });
});

/** Runs the command and returns what it wrote. */
async function run(json: boolean, ...args: string[]) {
  const written = { stdout: "", stderr: "" };
  const into = (name: "stdout" | "stderr") =>
    new Writable({
      write(chunk, _, done) {
        written[name] += String(chunk);
        done();
      },
    });
  const clock = () => CITY_TIME + 1000;
  const program = new Command().exitOverride().option("--json").option("--system <id>");
  const context: Omit<CliContext, "system"> = {
    config: readConfig({ DATA_DIR: join(directory, "data") }, directory),
    clock,
    ids: createIds(clock),
    actor: "cli:test",
    output: createOutput(json, { stdout: into("stdout"), stderr: into("stderr") }),
    signals: { untilStopped: () => Promise.resolve() },
    openDatabaseAsIs: () => Promise.reject(new Error("imports migrate first")),
    withDatabase: (work) => work(database.db, []),
    resolveSystem: (_, named) => Promise.resolve(named ?? database.systemId),
  };
  registerImportGbfs(program, () => ({ ...context, system: program.opts().system }));
  await program.parseAsync(["gbfs", directory, ...args], { from: "user" });
  return written;
}

const none = { created: 0, updated: 0, unchanged: 0, removed: 0, rejected: 0 };

test("with --json says in one object what it did, and that there is nothing to report", async () => {
  const { stdout, stderr } = await run(true);
  expect(JSON.parse(stdout)).toEqual({
    ...{ described: [], not_taken: [] },
    id: expect.stringMatching(/^gbfs_/) as string,
    stations: { ...none, created: 2 },
    bikes: { ...none, created: 3 },
    older: [],
    failed: [],
    waiting: { without_information: 0, without_status: 0 },
    report: null,
  });
  expect(stderr).toBe("");
});

test("prints the id that takes it back; one that changed nothing has none", async () => {
  const [, id] = /^import +(gbfs_\S+)$/m.exec((await run(false)).stdout) ?? [];
  expect(await database.db.query({ name: "", text: "select id from imports" })).toEqual([{ id }]);
  expect(JSON.parse((await run(true)).stdout)).toMatchObject({ id: null, stations: { unchanged: 2 } });
  expect((await run(false)).stdout).toMatch(/^import +-$/m);
});

test("a feed cannot take what the operator's backend reports for its own, and remove what it lacks", async () => {
  await expect(run(true, "--source", "operator")).rejects.toThrow('--source is "operator": it is the source of what');
  expect(await database.db.query({ name: "", text: "select id from stations" })).toEqual([]);
});

test("writes what was wrong into a report, one line each, and still imports the rest", async () => {
  await writeFile(
    join(directory, "station_status.json"),
    JSON.stringify({
      last_updated: CITY_TIME / 1000,
      data: {
        stations: [
          { station_id: null },
          { station_id: "harbour", num_bikes_available: -3, is_installed: 1, is_renting: 1, is_returning: 1 },
        ],
      },
    }),
  );
  await writeFile(join(directory, "free_bike_status.json"), "{");
  const { stdout, stderr } = await run(true, "--source", "city");
  const { stations, bikes, report } = JSON.parse(stdout) as { stations: object; bikes: object; report: string };
  expect([stations, bikes]).toEqual([{ ...none, created: 1, rejected: 1 }, none]);
  const lines = (await readFile(report, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(lines).toEqual([
    { feed: "free_bike_status", record: null, field: null, value: null, reason: "it is not JSON", action: "rejected" },
    {
      feed: "station_status",
      record: null,
      field: "station_id",
      value: null,
      reason: "not_an_identifier",
      action: "rejected",
    },
    {
      feed: "station_status",
      record: "harbour",
      field: "num_bikes_available",
      value: -3,
      reason: "negative",
      action: "repaired",
    },
  ]);
  expect(stderr).toContain("free_bike_status was skipped: it is not JSON");
});

test("for people prints the same in lines, for the system that is named", async () => {
  const { stdout } = await run(false, "--system", "other");
  expect(stdout).toMatch(/^stations +2 created, 0 updated, 0 unchanged, 0 removed, 0 rejected\nbikes +3 created/m);
  expect(await database.db.query({ name: "", text: "select distinct system_id from stations" })).toEqual([
    { system_id: "other" },
  ]);
});

test("fails, and changes nothing, when no feed can be used", async () => {
  for (const feed of Object.keys(city23())) await writeFile(join(directory, `${feed}.json`), "[]");
  await expect(run(true)).rejects.toThrow("nothing was changed");
  expect(await database.db.query({ name: "", text: "select id from stations" })).toEqual([]);
});

/** Writes the city's feeds with a `last_updated` that is `seconds` later than at the start. */
async function cityAt(seconds: number, system_id?: string) {
  const last_updated = CITY_TIME / 1000 + seconds;
  const information = system_id === undefined ? {} : { system_information: { data: { system_id, name: "City" } } };
  for (const [feed, document] of Object.entries({ ...city23(), ...information }))
    await writeFile(join(directory, `${feed}.json`), JSON.stringify({ ...document, last_updated }));
}
const stationIds = () => database.db.query<{ id: string }>({ name: "", text: "select id from stations order by id" });

test("another system under the same source is rejected with both names, and imported with --force or as another source", async () => {
  await cityAt(0, "oslo");
  await run(true);
  const before = await stationIds();
  await cityAt(60, "divvy");
  await expect(run(true)).rejects.toThrow(/was the system "oslo" until now, and its feeds say "divvy" \(system_id\)/);
  expect(await stationIds()).toEqual(before);
  await run(true, "--source", "divvy").catch(() => undefined); // its stations are the first source's
  expect(JSON.parse((await run(true, "--force")).stdout)).toMatchObject({ stations: { unchanged: 2 } });
  await run(true);
});

test("a snapshot that is older as a whole says so, with --json too, and fails: nothing was imported", async () => {
  await cityAt(60);
  await run(true);
  await cityAt(0);
  const command = run(true);
  await expect(command).rejects.toThrow("Nothing was imported: a newer snapshot of this source was applied before.");
});

test("an older feed beside newer ones is named in `older`, and the rest is imported", async () => {
  await cityAt(60);
  await run(true);
  await cityAt(120);
  const old = { ...city23()["station_status"], last_updated: CITY_TIME / 1000 };
  await writeFile(join(directory, "station_status.json"), JSON.stringify(old));
  const { stdout, stderr } = await run(true);
  expect(JSON.parse(stdout)).toMatchObject({ older: ["station_status"], bikes: { unchanged: 3 } });
  expect(stderr).toContain("station_status is older than the snapshot applied before");
});

test("an import whose stations all belong to another source fails", async () => {
  await rm(join(directory, "free_bike_status.json"));
  await run(true);
  // Records that wait from this earlier import do not count as a success of the next one.
  const lone = { last_updated: 1, data: { stations: [{ station_id: "lone", name: "Lone", lat: 1, lon: 1 }] } };
  const information = await readFile(join(directory, "station_information.json"));
  await writeFile(join(directory, "station_information.json"), JSON.stringify(lone));
  await run(true, "--source", "other").catch(() => undefined);
  await writeFile(join(directory, "station_information.json"), information);
  await expect(run(true, "--source", "other")).rejects.toThrow("Nothing was imported: all 2 records were rejected");
});

test("reports are for their owner alone and do not pile up; an import without problems leaves none", async () => {
  const reports = join(directory, "data", "reports");
  await run(true, "--system", "other");
  await expect(readdir(reports)).rejects.toThrow("ENOENT");
  await writeFile(join(directory, "free_bike_status.json"), "{");
  const { report } = JSON.parse((await run(true)).stdout) as { report: string };
  expect([(await stat(report)).mode & 0o777, (await stat(reports)).mode & 0o777]).toEqual([0o600, 0o700]);
  for (let n = 0; n < 120; n++) {
    const old = join(reports, `gbfs_old${n}.ndjson`);
    await writeFile(old, "");
    await utimes(old, n, n);
  }
  await writeFile(join(reports, "import_1.ndjson"), "");
  await run(true);
  const kept = await readdir(reports);
  expect(kept).toHaveLength(101);
  expect(kept).toContain("import_1.ndjson");
  expect(kept).not.toContain("gbfs_old0.ndjson");
});

test("with --dry-run everything is read and nothing written, and what the service does not take is named", async () => {
  const city = city23() as unknown as Record<string, { data: { stations?: object[] } }>;
  const stations = city["station_information"]?.data.stations?.map((each) => ({ ...each, door_colour: "red" }));
  const information = { ...city["station_information"], data: { stations } };
  await writeFile(join(directory, "station_information.json"), JSON.stringify(information));
  await writeFile(join(directory, "station_colours.json"), "{}");
  const rows = () =>
    database.db.query({
      name: "",
      text: `select id from stations union all select id from bikes union all select source from gbfs_sources
             union all select id from imports`,
    });
  const trial = JSON.parse((await run(true, "--dry-run")).stdout) as Record<string, unknown>;
  expect(await rows()).toEqual([]);
  expect(trial).toMatchObject({
    dry_run: true,
    stations: { created: 2 },
    bikes: { created: 3 },
    not_taken: expect.arrayContaining(["station_colours", "station_information.door_colour"]) as unknown,
  });
  const { stations: created, bikes, not_taken } = JSON.parse((await run(true)).stdout) as Record<string, unknown>;
  expect({ stations: created, bikes, not_taken }).toEqual({
    ...{ stations: trial["stations"], bikes: trial["bikes"], not_taken: trial["not_taken"] },
  });
  expect((await run(false, "--dry-run")).stdout).toMatch(
    /0 created, 0 updated, 2 unchanged[^]*Nothing was written \(--dry-run\)\.$/m,
  );
});

test("feeds that describe a system alone are taken for a fleet that the operator reports", async () => {
  for (const file of await readdir(directory)) await rm(join(directory, file), { recursive: true });
  const plan = { plan_id: "ride", name: "Ride", currency: "EUR", price: 1, is_taxable: true, description: "1 euro" };
  const said = (data: object) => JSON.stringify({ last_updated: CITY_TIME / 1000, data });
  await writeFile(join(directory, "system_information.json"), said({ system_id: "c", language: "en", name: "C" }));
  await expect(run(true)).rejects.toThrow("nothing was changed");
  await writeFile(join(directory, "system_pricing_plans.json"), said({ plans: [plan] }));
  const { stdout } = await run(true);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ id: null, stations: none, bikes: none },
    described: ["system_information", "system_pricing_plans"],
  });
  await writeFile(join(directory, "station_status.json"), "{");
  await expect(run(true)).rejects.toThrow("nothing was changed");
});

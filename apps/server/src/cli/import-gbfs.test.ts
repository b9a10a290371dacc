import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { Command } from "commander";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { readConfig } from "../config.ts";
import { CITY_TIME, city23 } from "../feeds/gbfs/test/city.ts";
import { createIds } from "../ids.ts";
import type { CliContext } from "./context.ts";
import { registerImportGbfs } from "./import-gbfs.ts";
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

/** Runs the command; gives what it wrote. */
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
  const context: CliContext = {
    config: readConfig({ DATA_DIR: join(directory, "data") }, directory),
    clock,
    ids: createIds(clock),
    actor: "cli:test",
    output: createOutput(json, { stdout: into("stdout"), stderr: into("stderr") }),
    signals: { untilStopped: () => Promise.resolve() },
    withDatabase: (work) => work(database.db, []),
    resolveSystem: (_, named) => Promise.resolve(named ?? database.systemId),
  };
  const program = new Command().exitOverride().option("--json").option("--system <id>");
  registerImportGbfs(program, () => context);
  await program.parseAsync(["gbfs", directory, ...args], { from: "user" });
  return written;
}

const none = { created: 0, updated: 0, unchanged: 0, removed: 0, rejected: 0 };

test("with --json says in one object what it did, and that there is nothing to report", async () => {
  const { stdout, stderr } = await run(true);
  expect(JSON.parse(stdout)).toEqual({
    stations: { ...none, created: 2 },
    bikes: { ...none, created: 3 },
    older: [],
    failed: [],
    waiting: { without_information: 0, without_status: 0 },
    report: null,
  });
  expect(stderr).toBe("");
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
  expect(stderr).toContain("free_bike_status was left out: it is not JSON");
});

test("for people prints the same in lines, for the system that is named", async () => {
  const { stdout } = await run(false, "--system", "other");
  expect(stdout).toContain("Stations: 2 created, 0 updated, 0 unchanged, 0 removed, 0 rejected\nBikes:    3 created");
  expect(await database.db.query({ name: "", text: "select distinct system_id from stations" })).toEqual([
    { system_id: "other" },
  ]);
});

test("fails, and changes nothing, when no feed can be used", async () => {
  for (const feed of Object.keys(city23())) await writeFile(join(directory, `${feed}.json`), "[]");
  await expect(run(true)).rejects.toThrow("nothing was changed");
  expect(await database.db.query({ name: "", text: "select id from stations" })).toEqual([]);
});

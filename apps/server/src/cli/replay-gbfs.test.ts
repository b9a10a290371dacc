import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { city23, CITY_TIME } from "../../test/gbfs/city.ts";
import { registerReplayGbfs } from "./gbfs.ts";

let harness: CliHarness;
let series: string;
let information: string;
beforeEach(async () => {
  harness = await openCliHarness({ register: registerReplayGbfs, clock: () => CITY_TIME + 86_400_000 });
  series = join(harness.directory, "series.ndjson");
  information = join(harness.directory, "station_information.json");
  const { station_information, station_status } = city23();
  await writeFile(information, JSON.stringify(station_information));
  const without = {
    last_updated: CITY_TIME / 1000 + 60,
    data: {
      stations: [
        { station_id: "harbour", is_renting: false, is_returning: false, is_installed: true, num_bikes_available: 0 },
      ],
    },
  };
  await writeFile(series, `${JSON.stringify(station_status)}\n${JSON.stringify(without)}\nnothing\n`);
});
afterEach(() => harness.close());

test("with --json says in one object how many snapshots it applied, which events that made, and what it skipped", async () => {
  const { stdout, stderr } = await harness.run("gbfs", series, "--information", information, "--json");
  const { report, ...counts } = JSON.parse(stdout) as { report: string };
  expect(counts).toEqual({
    snapshots: 2,
    events: { "station.offline": 1 },
    failed: 1,
    waiting: { without_information: 0, without_status: 0 },
  });
  expect(stderr).toBe("Line 3 was skipped: it is not JSON\n");
  expect(await readFile(report, "utf8")).toContain("line 3: it is not JSON");
});

test("for people prints the same in lines; without information says how stations get theirs", async () => {
  const { stdout, stderr } = await harness.run("gbfs", series);
  expect(stdout).toMatch(/^snapshots applied +2\nlines skipped +1\nevents +-\nreport +\//);
  expect(stderr).toContain(
    "Stations that are not listed until both feeds have named them: 2 are not in station_information. Give --information",
  );
});

test("fails when the file has not one snapshot, or is not there", async () => {
  await writeFile(series, "nothing\n");
  await expect(harness.run("gbfs", series)).rejects.toThrow("no station_status snapshot");
  await expect(harness.run("gbfs", join(harness.directory, "nowhere"))).rejects.toThrow("cannot be read");
});

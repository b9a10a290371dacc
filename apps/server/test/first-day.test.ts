import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { serviceProgram } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { walkByCursor, walkByPage } from "./walk.ts";

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../shared/data");
const absent = !existsSync(join(shared, "trips"));
/** One file of each format. real-files.test.ts imports all four files. */
const months = ["202101", "202102"].map((month) => join(shared, "trips", `JC-${month}-citibike-tripdata.csv`));

describe.skipIf(absent)(
  `an operator's first day on real data${absent ? ` (skipped: there is no ${shared})` : ""}`,
  () => {
    let app: TestApp;
    let directory: string;
    beforeAll(async () => {
      app = await startTestApp();
      directory = await mkdtemp(join(tmpdir(), "bikeshare-day-"));
    });
    afterAll(async () => {
      await app.close();
      await rm(directory, { recursive: true, force: true });
    });

    /** Runs a command as an operator would, on the database of the running service. */
    async function bikeshare(...args: string[]): Promise<Record<string, unknown>> {
      const main = await serviceProgram();
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--conditions=@bikeshare/source", main, "--json", ...args],
        { env: { ...process.env, DATABASE_URL: app.db.connectionString, DATA_DIR: directory } },
      );
      return JSON.parse(stdout) as Record<string, unknown>;
    }
    const importGbfs = () => bikeshare("import", "gbfs", join(shared, "gbfs", "divvy-v2.3"));
    const importTrips = () => bikeshare("import", "trips", ...months, "--time-zone", "America/New_York");

    it("every imported ride is walked exactly once by cursor and by page, and the total is what the import reported", async () => {
      expect(await importGbfs()).toMatchObject({
        stations: { created: 1811, rejected: 0 },
        bikes: { created: 1244, rejected: 0 },
      });
      const { rows, created, rejected } = await importTrips();
      expect({ rows, rejected }).toEqual({ rows: 16_505, rejected: 4 });
      const byCursor = await walkByCursor(app, "/v1/rides", 200);
      const byPage = await walkByPage(app, "/v1/rides", 200);
      expect(byCursor).toHaveLength(Number(created));
      expect(new Set(byCursor.map((ride) => ride.id)).size).toBe(created);
      expect(byPage.map((ride) => ride.id)).toEqual(byCursor.map((ride) => ride.id));
    });

    it("a second import of the same files changes nothing", async () => {
      const before = await walkByCursor(app, "/v1/stations", 200);
      expect(await importGbfs()).toMatchObject({
        stations: { created: 0, updated: 0, unchanged: 1811, removed: 0 },
        bikes: { created: 0, updated: 0, unchanged: 1244, removed: 0 },
      });
      expect(await importTrips()).toMatchObject({ created: 0, unchanged: 16_501, stations_created: 0 });
      expect(await walkByCursor(app, "/v1/stations", 200)).toEqual(before);
    });
  },
);

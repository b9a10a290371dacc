import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { findFreePort, installPacked, nodeBinaries, serviceProgram } from "@bikeshare/test-kit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createSequencer } from "../../src/events/sequencer.ts";
import { createPartner } from "../../src/partners/service.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { keyContext } from "../built-app.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "../rows.ts";
import { until } from "../until.ts";

const run = promisify(execFile);
const packages = join(import.meta.dirname, "../../../../packages");
const isBuilt = ["contract", "webhooks", "sdk"].every((name) => existsSync(join(packages, name, "dist/index.js")));
const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../shared/data");
const hasData = existsSync(join(shared, "trips"));
const data = hasData ? "real stations, bikes and rides" : `made-up stations, bikes and rides: there is no ${shared}`;

const children = new Set<ChildProcess>();
let app: TestApp;
let directory: string;
let city: { readonly stations: number; readonly rides: number };

/** Versions of Node.js that run TypeScript directly. */
const modern = (await nodeBinaries()).filter(({ version, isInstalled }) => isInstalled && Number(version) >= 22);

describe.skipIf(!isBuilt)(
  `a new project made from the packed tarballs${isBuilt ? "" : " (skipped: not built)"}`,
  () => {
    beforeAll(async () => {
      app = await startTestApp();
      directory = await mkdtemp(join(tmpdir(), "bikeshare-project-"));
      for (const name of ["contract", "webhooks", "sdk"]) await installPacked(join(packages, name), directory);
      await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
      city = await (hasData ? importRealCity() : makeCity());
    });
    afterEach(async () => {
      for (const child of children) {
        child.kill("SIGKILL");
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      }
      children.clear();
    });
    afterAll(async () => {
      await app.close();
      await rm(directory, { recursive: true, force: true });
    });

    it.each(modern)(
      `lists stations, walks all rides, makes and cancels a reservation and verifies its webhook by the README's program alone, on Node $version (${data})`,
      async ({ path }) => {
        const [, program = ""] =
          /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(packages, "sdk/README.md"), "utf8")) ?? [];
        expect(program.trimEnd().split("\n").length).toBeLessThan(40);
        await writeFile(join(directory, "program.ts"), program);
        // Each project has a separate partner, so that it does not see the reservations of others.
        const { id: partnerId } = await createPartner(keyContext(app), app.systemId, `Project on ${path} with ${data}`);
        const env = {
          BIKESHARE_BASE_URL: app.url,
          BIKESHARE_API_KEY: (await app.issue({ partnerId })).key,
          WEBHOOK_SECRET: "whsec_of_the_project",
          BIKESHARE_WEBHOOK_SECRET: "whsec_of_the_project",
          PORT: String(await findFreePort()),
        };
        const said = start(path, ["program.ts"], env);
        await until(() => said.includes("listening"));
        const hold = said.findIndex((line) => line.endsWith("completed rides"));
        expect(said.slice(0, hold).filter((line) => line.endsWith(" bikes"))).toHaveLength(city.stations);
        expect(said[hold]).toBe(`${city.rides} completed rides`);
        expect(said[hold + 1]).toMatch(/^held bike \S+, then cancelled$/);

        // The SDK's command line, from the same tarball, forwards the events of this reservation to the project's receiver.
        const sequencer = createSequencer({ ...app, pollIntervalMs: 0, onError: rethrow });
        await sequencer.runOnce(app.systemId);
        await sequencer.close();
        const cli = join(directory, "node_modules/@bikeshare/sdk/dist/cli/main.js");
        const events = "reservation.created,reservation.cancelled";
        const to = ["--forward-to", `http://127.0.0.1:${env.PORT}/`];
        const delivered = start(path, [cli, "listen", ...to, "--since", "oldest", "--events", events, "--json"], env);
        // The receiver answers a delivery before what it says about it arrives here.
        await until(() => delivered.length === 3 && said.includes("webhook reservation.cancelled"));
        expect(said.slice(-2)).toEqual(["webhook reservation.created", "webhook reservation.cancelled"]);
        const statuses = delivered.map((line) => (JSON.parse(line) as { status?: number }).status);
        expect(statuses).toEqual([undefined, 200, 200]);
      },
    );
  },
);

/** Starts a program in the project. @returns an array that grows with each line of its stdout */
function start(node: string, args: readonly string[], env: Readonly<Record<string, string>>): string[] {
  const child = spawn(node, args, { cwd: directory, env, stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return lines;
}

async function importRealCity() {
  const main = await serviceProgram();
  const bikeshare = async (...args: string[]) => {
    const command = ["--conditions=@bikeshare/source", main, "--json", ...args];
    const env = { ...process.env, DATABASE_URL: app.db.connectionString, DATA_DIR: directory };
    return JSON.parse((await run(process.execPath, command, { env })).stdout) as Record<string, unknown>;
  };
  const { stations } = await bikeshare("import", "gbfs", join(shared, "gbfs/divvy-v2.3"));
  const month = join(shared, "trips/JC-201901-citibike-tripdata.csv");
  const { created, stations_created } = await bikeshare("import", "trips", month, "--time-zone", "America/New_York");
  const total = (stations as { created: number }).created + Number(stations_created);
  return { stations: total, rides: Number(created) };
}

async function makeCity() {
  const ids = Array.from({ length: 450 }, (_, n) => String(n));
  const write = rowWriter(app);
  await write.stations(ids.map((id) => stationRow({ id: `station-${id}` })));
  await write.bikes(ids.map((id) => bikeRow({ id: `bike-${id}`, station_id: `station-${id}` })));
  const started_at = "2026-05-01T08:00:00.000Z";
  await write.rides(ids.map((id) => rideRow({ id: `ride-${id}`, started_at })));
  return { stations: ids.length, rides: ids.length };
}

function rethrow(error: unknown): never {
  throw error;
}

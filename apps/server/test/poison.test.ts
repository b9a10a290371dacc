import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serviceProgram } from "@bikeshare/test-kit";
import { expect, test } from "vitest";
import { statement } from "../src/storage/db/statement.ts";
import { setAsideUnits } from "../src/storage/set-aside/service.ts";
import { openFleetHarness, stationItem } from "./fleet/fleet.harness.ts";
import { noticesIn, subscribe } from "./notices.ts";
import { until } from "./until.ts";

/** Needs half a minute of processor time, so only `pnpm poison` runs this test. */
const isWanted = process.env["TEST_POISON"] === "1";
const main = await serviceProgram();
/** A heap in which a worker can run, but which is too small for a name of 200 MB. */
const NODE_OPTIONS = "--max-old-space-size=120";

test.runIf(isWanted)(
  "a row that ends every worker that reads it is set aside after three, while a hundred others are published; mended and released, it is too",
  { timeout: 600_000 },
  async () => {
    const harness = await openFleetHarness();
    const { db, systemId } = harness;
    const directory = await mkdtemp(join(tmpdir(), "bikeshare-poison-"));
    const rows = <Row>(sql: string) => db.query<Row>(statement("", sql), [systemId]);
    const children: ChildProcess[] = [];
    const begin = () => {
      const env = { ...process.env, DATABASE_URL: db.connectionString, DATA_DIR: directory, NODE_OPTIONS };
      const args = ["--conditions=@bikeshare/source", main, "serve", "--role", "worker"];
      const child = spawn(process.execPath, args, { env, stdio: "ignore" });
      children.push(child);
      return child;
    };
    const ended = async (child: ChildProcess) => {
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    };
    try {
      await harness.stations(...Array.from({ length: 101 }, (_, n) => stationItem(`s${n}`)));
      await subscribe(harness, "p", ["station.updated"]);
      await rows("update stations set name = repeat('x', 200000000) where system_id = $1 and id = 's50'");
      for (let death = 1; death <= 3; death++) {
        const child = begin();
        await ended(child);
        expect(child.signalCode ?? child.exitCode).not.toBe(0);
        expect((await rows<{ n: number }>("select count(*) as n from work_runs where system_id = $1"))[0]?.n).toBe(1);
        // Ends the minute within which a run must end, after which its process counts as dead.
        await rows("update work_runs set ends_by = now() where system_id = $1");
      }
      const last = begin();
      await until(async () => (await setAsideUnits(db, systemId)).some((unit) => unit.next_try_at === null), 120_000);
      await until(async () => (await noticesIn(harness)).length === 100, 120_000);
      expect(await setAsideUnits(db, systemId)).toMatchObject([{ unit: "s50", crashes: 3, work: "notify-of-station" }]);
      expect(last.exitCode ?? last.signalCode).toBeNull();

      await rows("update stations set name = 'mended' where system_id = $1 and id = 's50'");
      await rows("update work_failures set due_at = now(), crashes = 0 where system_id = $1");
      await until(async () => (await noticesIn(harness)).length === 101, 120_000);
      expect(await setAsideUnits(db, systemId)).toEqual([]);
      last.kill("SIGTERM");
      await ended(last);
    } finally {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map(ended));
      await harness.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
);

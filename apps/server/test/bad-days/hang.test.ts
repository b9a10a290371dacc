import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createTestDatabase } from "../database.ts";
import { until } from "../until.ts";
import { superviseService } from "./service-process.ts";

/** A statement that blocks its thread for ever. Unlike an endless loop it takes no processor time from other tests. */
const BLOCK = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)";
/** A module that blocks the process on SIGUSR2, so that nothing else in it runs. */
const BLOCK_ON_SIGNAL = `--import=data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2",()=>${BLOCK})`)}`;

it("a process of which nothing runs any more ends itself with a line in the log, and its supervisor starts another one", async () => {
  const { db, close } = await createTestDatabase();
  onTestFinished(close);
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-hang-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const log = join(directory, "log");
  const env = {
    DATABASE_URL: db.connectionString,
    DATA_DIR: directory,
    HANG_TIMEOUT: "5s",
    NODE_OPTIONS: BLOCK_ON_SIGNAL,
  };
  const worker = superviseService("worker", env, log);
  onTestFinished(() => worker.stop());
  await worker.untilUp();
  const pid = worker.pid();
  process.kill(pid ?? 0, "SIGUSR2");
  await until(() => worker.endedCount() > 0);
  await worker.untilUp();
  expect(worker.pid()).not.toBe(pid);
  const lines = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes("process_hangs"));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({
      level: 60,
      condition: "process_hangs",
      msg: expect.stringContaining("nothing of this process has run") as string,
    }),
  ]);
});

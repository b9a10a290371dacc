import { execFile } from "node:child_process";
import { appendFile, chmod, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type BadDay, expectBack, type Stage } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): the file system of PostgreSQL is full. At first tables cannot grow; then
 * the write-ahead log cannot, which stops PostgreSQL and makes each restart fail until space is free. Needs root, to create
 * a file system.
 */

/** The size of the file system: enough for the cluster and some write-ahead log. */
const FILE_SYSTEM_MIB = 400;
/** Free bytes at the beginning, so that tables fail before the log does. */
const LEFT_BYTES = 256 * 1024;
const FULL_MS = 25_000;
const REPETITIONS = 2;

const run = promisify(execFile);

export const fullDisk: BadDay = {
  async prepare() {
    const directory = await mkdtemp(join(tmpdir(), "bikeshare-full-"));
    await run("mount", ["-t", "tmpfs", "-o", `size=${FILE_SYSTEM_MIB}m`, "tmpfs", directory]);
    // PostgreSQL runs as another account, which must be able to enter the directory.
    await chmod(directory, 0o711);
    return {
      world: { directory },
      async happen(stage) {
        for (let n = 0; n < REPETITIONS; n++) await beFull(stage, join(directory, "ballast"), directory);
      },
      async close() {
        await run("umount", ["-l", directory]);
        await rm(directory, { recursive: true });
      },
    };
  },
};

/** Keeps the file system full for a while. */
async function beFull(stage: Stage, ballast: string, directory: string): Promise<void> {
  const { world, note, errors } = stage;
  // Discards the errors so far, so that the next report is about what follows.
  errors();
  const before = await world.postmaster();
  await fill(ballast, directory);
  const until = performance.now() + FULL_MS;
  while (performance.now() < until) {
    await sleep(1_000);
    // Fills the space that PostgreSQL has freed in the meantime.
    await fill(ballast, directory);
  }
  note(`full for ${FULL_MS / 1_000} s: ${errors()}`);
  const ready = await Promise.all(world.apis.map(async (api) => (await fetch(`${api.url()}/readyz`)).text()));
  note(`readyz: ${ready[0]}`);
  await rm(ballast);
  await expectBack(stage, "there was room again");
  const isSame = (await world.postmaster()) === before;
  note(isSame ? "PostgreSQL went on all the time" : "PostgreSQL had ended, and was started again");
}

/** Fills the file system with a file (`ballast`), except for `LEFT_BYTES`. */
async function fill(ballast: string, directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const bytes = bavail * bsize - LEFT_BYTES;
  // Ignores a failure: PostgreSQL may have used the space first.
  if (bytes > 0) await appendFile(ballast, Buffer.alloc(bytes)).catch(() => undefined);
}

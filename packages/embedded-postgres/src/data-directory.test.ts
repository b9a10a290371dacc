import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureLockFile, tryExclusiveLock, trySharedLock, waitForLock } from "./data-directory.ts";

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kernel-lock-"));
  file = join(directory, "lock");
  await ensureLockFile(file);
});
afterEach(() => rm(directory, { recursive: true, force: true }));

it("lets one hold it exclusively and none beside, in one process too", () => {
  const holder = tryExclusiveLock(file);
  expect(holder).toBeDefined();
  expect(tryExclusiveLock(file)).toBeUndefined();
  expect(trySharedLock(file)).toBeUndefined();
  holder?.release();
  const next = tryExclusiveLock(file);
  expect(next).toBeDefined();
  next?.release();
});

it("writes nothing, so that a full disk keeps nobody from it", async () => {
  const holder = tryExclusiveLock(file);
  expect(await readdir(directory)).toEqual(["lock"]);
  holder?.release();
  expect((await stat(file)).size).toBe(0);
});

it("lets many share it, and nobody have it exclusively until the last has left", () => {
  const [one, other] = [trySharedLock(file), trySharedLock(file)];
  expect(tryExclusiveLock(file)).toBeUndefined();
  one?.release();
  expect(tryExclusiveLock(file)).toBeUndefined();
  other?.release();
  const alone = tryExclusiveLock(file);
  expect(alone).toBeDefined();
  alone?.release();
});

it("is free again when its holder is killed", async () => {
  const hold = `const { DatabaseSync } = require('node:sqlite'); const d = new DatabaseSync(process.argv[1]); d.exec('begin exclusive'); console.log('held'); setInterval(() => {}, 1000)`;
  const holder = spawn(process.execPath, ["-e", hold, file]);
  await once(holder.stdout, "data");
  expect(tryExclusiveLock(file)).toBeUndefined();
  holder.kill("SIGKILL");
  const lock = await waitForLock(() => tryExclusiveLock(file));
  lock.release();
});

it("stops waiting when it is aborted", async () => {
  const holder = tryExclusiveLock(file);
  await expect(waitForLock(() => tryExclusiveLock(file), AbortSignal.abort(new Error("closing")))).rejects.toThrow(
    "closing",
  );
  holder?.release();
});

it("keeps its file empty, for its owner alone, and does not drop a held lock when the file is ensured again", async () => {
  const holder = tryExclusiveLock(file);
  await ensureLockFile(file);
  const other = spawn(process.execPath, [
    "-e",
    `const { DatabaseSync } = require('node:sqlite'); new DatabaseSync(process.argv[1]).exec('begin exclusive')`,
    file,
  ]);
  await once(other, "exit");
  expect(other.exitCode).not.toBe(0);
  holder?.release();
  const { size, mode } = await stat(file);
  expect({ size, mode: mode & 0o777 }).toEqual({ size: 0, mode: 0o600 });
});

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findFullDisk } from "./postmaster.ts";

it("finds in the log that a full disk has ended all connections, among the lines of the recovery after it", async () => {
  const data = await mkdtemp(join(tmpdir(), "embedded-log-"));
  onTestFinished(() => rm(data, { recursive: true }));
  expect(await findFullDisk(data)).toBeUndefined();
  await mkdir(join(data, "log"));
  const log = (...lines: string[]) => writeFile(join(data, "log", "postgresql-Fri.log"), `${lines.join("\n")}\n`);
  // Only one statement failed here, and its client got the error.
  const failed = '2026-11-27 06:47:17.064 UTC [31728] ERROR:  could not extend file "base/1": No space left on device';
  await log(failed);
  expect(await findFullDisk(data)).toBeUndefined();
  const ended =
    '2026-11-27 06:47:18.064 UTC [31728] PANIC:  could not write to file "pg_wal/xlogtemp.31728": No space left on device';
  await log(failed, ended, "2026-11-27 06:47:18.126 UTC [31663] LOG:  all server processes terminated; reinitializing");
  expect(await findFullDisk(data)).toBe(ended);
});

it("finds no full disk in a log that cannot be read, and does not fail", async () => {
  const data = await mkdtemp(join(tmpdir(), "embedded-log-"));
  onTestFinished(() => rm(data, { recursive: true }));
  await mkdir(join(data, "log", "postgresql-Fri.log"), { recursive: true });
  expect(await findFullDisk(data)).toBeUndefined();
});

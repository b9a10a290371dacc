import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDirectory } from "./operating-system.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "make-directory-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("makes all that is missing on the way, with the mode, and takes what is there as it is", async () => {
  makeDirectory(join(directory, "a/b/c"), 0o700);
  makeDirectory(join(directory, "a/b/c"), 0o711);
  for (const made of ["a", "a/b", "a/b/c"]) expect((await stat(join(directory, made))).mode & 0o777).toBe(0o700);
  await symlink(join(directory, "a"), join(directory, "link"));
  makeDirectory(join(directory, "link"));
  makeDirectory("/");
});

test("says what is in the way, and never loops", async () => {
  await writeFile(join(directory, "file"), "");
  await symlink(join(directory, "nowhere"), join(directory, "dangling"));
  expect(() => makeDirectory(join(directory, "file"))).toThrow("EEXIST");
  expect(() => makeDirectory(join(directory, "file/deeper/still"))).toThrow("ENOTDIR");
  expect(() => makeDirectory(join(directory, "dangling"))).toThrow("EEXIST");
  expect(() => makeDirectory(join(directory, "dangling/deeper"))).toThrow(/E\w+/);
});

test.runIf(process.platform === "linux")("fails where the system lets nobody make anything", () => {
  expect(() => makeDirectory("/proc/nowhere")).toThrow("ENOENT");
  expect(() => makeDirectory("/proc/nowhere/deeper")).toThrow("ENOENT");
});

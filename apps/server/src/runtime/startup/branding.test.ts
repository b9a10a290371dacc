import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readBranding } from "./dashboard-pages.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-logo-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const read = (logoFile: string | undefined) => readBranding({ name: "Velo", color: "#0a7c4a", logoFile });

async function fileWith(bytes: string | Buffer): Promise<string> {
  const file = join(directory, "logo");
  await writeFile(file, bytes);
  return file;
}

it.each([
  ['<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
  ['<?xml version="1.0"?>\n<!-- made by hand -->\n<svg viewBox="0 0 1 1"></svg>', "image/svg+xml"],
  [Buffer.from("89504e470d0a1a0a0000", "hex"), "image/png"],
])("a logo's kind is told by its content, not by its name", async (bytes, type) => {
  expect((await read(await fileWith(bytes))).logo).toEqual({ bytes: Buffer.from(bytes), type });
});

it("without a logo there is none", async () => {
  expect(await read(undefined)).toEqual({ name: "Velo", color: "#0a7c4a", logo: undefined });
});

it.each([
  ["<html><svg></svg></html>", "is neither an SVG nor a PNG picture"],
  [Buffer.alloc(100_001), "is larger than 100 kB"],
])("a file that cannot be a logo stops the start by name", async (bytes, why) => {
  await expect(read(await fileWith(bytes))).rejects.toThrow(`DASHBOARD_LOGO_FILE=${join(directory, "logo")}: ${why}`);
});

it("a file that is not there stops the start by name", async () => {
  await expect(read(join(directory, "none"))).rejects.toThrow("cannot be read");
});

import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Manifest } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";

/** What a browser loads before it shows the first page, gzip. */
const MAX_FIRST_PAGE_BYTES = 60_000;
/** All pages together, gzip. */
const MAX_ALL_PAGES_BYTES = 120_000;

/** Names of XML's vocabularies, and addresses in the texts of errors that only developers see. */
const NEVER_ASKED = new Set(["http://www.w3.org", "https://tanstack.com", "https://simplewebauthn.dev"]);

let directory: string;
let files: readonly string[];
let manifest: Manifest;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-pages-"));
  await build({
    root: join(import.meta.dirname, ".."),
    mode: "production",
    logLevel: "silent",
    build: { outDir: directory, manifest: "manifest.json" },
  });
  manifest = JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8")) as Manifest;
  await rm(join(directory, "manifest.json"));
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const gzipBytes = (file: string) => gzipSync(readFileSync(file), { level: 9 }).length;
const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);

/** The files that a module of the manifest needs before it runs. */
function filesOf(key: string, seen = new Set<string>()): Set<string> {
  const chunk = manifest[key];
  if (chunk === undefined || seen.has(chunk.file)) return seen;
  for (const file of [chunk.file, ...(chunk.css ?? [])]) seen.add(file);
  for (const imported of chunk.imports ?? []) filesOf(imported, seen);
  return seen;
}

it(`every page is there after at most ${MAX_FIRST_PAGE_BYTES / 1000} kB`, () => {
  const start = filesOf("index.html");
  const pages = Object.entries(manifest).filter(([, chunk]) => chunk.isDynamicEntry === true);
  const sizes = pages.map(([key]) => {
    const needed = ["index.html", ...filesOf(key, new Set()).union(start)];
    return [key, sum(needed.map((file) => gzipBytes(join(directory, file))))] as const;
  });
  sizes.push(["index.html", sum(["index.html", ...start].map((file) => gzipBytes(join(directory, file))))]);
  expect(sizes.filter(([, size]) => size > MAX_FIRST_PAGE_BYTES)).toEqual([]);
});

it(`all pages together are at most ${MAX_ALL_PAGES_BYTES / 1000} kB`, () => {
  expect(sum(files.map(gzipBytes))).toBeLessThanOrEqual(MAX_ALL_PAGES_BYTES);
});

it("nothing that is shipped names another origin", async () => {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const origins = texts.flatMap((text) => [...text.matchAll(/\bhttps?:\/\/[\w.-]+/g)].map(([origin]) => origin));
  expect([...new Set(origins)].filter((origin) => !NEVER_ASKED.has(origin))).toEqual([]);
});

it("what is for development only is not shipped", async () => {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  expect(texts.filter((text) => text.includes("_components"))).toEqual([]);
  expect(files.filter((file) => file.endsWith(".map"))).toEqual([]);
});

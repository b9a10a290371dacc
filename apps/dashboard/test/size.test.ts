import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";

/** Most gzipped bytes that a browser loads before it shows the first page. */
const MAX_FIRST_PAGE_BYTES = 60_000;
/** Most gzipped bytes of all pages together. */
const MAX_ALL_PAGES_BYTES = 190_000;

/** The module of the page of examples, which is not shipped. */
const NOT_SHIPPED = "/src/pages/examples/components-page.tsx";
/** Addresses in the code that are never requested: XML namespaces, and links in error texts for developers. */
const NEVER_ASKED = new Set(["http://www.w3.org", "https://tanstack.com", "https://simplewebauthn.dev"]);

const root = join(import.meta.dirname, "..");
let directory: string;
let files: readonly string[];
let chunks: readonly Rolldown.OutputChunk[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-pages-"));
  // Vitest sets another value, with which the build would contain the libraries' checks for developers.
  vi.stubEnv("NODE_ENV", "production");
  const built = await build({ root, mode: "production", logLevel: "silent", build: { outDir: directory } });
  chunks = (built as Rolldown.RolldownOutput).output.filter((file) => file.type === "chunk");
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

const gzipBytes = (file: string) => gzipSync(readFileSync(file), { level: 9 }).length;
const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);

/** Returns the chunk that contains a module such as "/src/main.tsx". */
const chunkOf = (module: string) => chunks.find(({ moduleIds }) => moduleIds.some((id) => id.endsWith(module)));

/** Returns the files that a chunk needs before it runs. */
function filesOf(chunk: Rolldown.OutputChunk | undefined, seen = new Set<string>()): Set<string> {
  if (chunk === undefined || seen.has(chunk.fileName)) return seen;
  for (const file of [chunk.fileName, ...(chunk.viteMetadata?.importedCss ?? [])]) seen.add(file);
  for (const imported of chunk.imports) {
    filesOf(
      chunks.find(({ fileName }) => fileName === imported),
      seen,
    );
  }
  return seen;
}

it(`every page is there after at most ${MAX_FIRST_PAGE_BYTES / 1000} kB`, () => {
  const tables = ["pages.ts", "partner-pages.ts", "operator-pages.ts"];
  const table = tables.map((file) => readFileSync(join(root, "src", file), "utf8")).join("");
  const modules = [...table.matchAll(/import\("\.(\/pages\/[\w/-]+\.tsx)"\)/g)].map(([, module]) => `/src${module}`);
  const pages = modules.map((module) => ({ module, chunk: chunkOf(module) }));
  expect(pages.filter(({ chunk }) => chunk === undefined).map(({ module }) => module)).toEqual([NOT_SHIPPED]);
  const start = filesOf(chunkOf("/src/main.tsx"));
  const sizes = pages.map(({ module, chunk }) => {
    const needed = ["index.html", ...filesOf(chunk).union(start)];
    return { module, bytes: sum(needed.map((file) => gzipBytes(join(directory, file)))) };
  });
  expect(sizes.filter(({ bytes }) => bytes > MAX_FIRST_PAGE_BYTES)).toEqual([]);
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
  // Development builds contain the source path of each element, and so the directories of whoever built them.
  expect(texts.filter((text) => text.includes(join(import.meta.dirname, "..")))).toEqual([]);
  expect(files.filter((file) => file.endsWith(".map"))).toEqual([]);
});

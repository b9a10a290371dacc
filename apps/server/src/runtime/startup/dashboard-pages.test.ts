import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDashboardPages } from "./dashboard-pages.ts";

/** A stand-in for the builder: copies the source's text into the directory given by `--outDir`. */
const BUILDER = `
const { readFileSync, writeFileSync } = require("node:fs");
const source = readFileSync("src/main.tsx", "utf8");
if (source === "wrong") { console.error("main.tsx: wrong"); process.exit(1); }
writeFileSync(process.argv[process.argv.indexOf("--outDir") + 1] + "/index.html", source);
`;

let root: string;
let notes: string[];

beforeEach(async () => {
  notes = [];
  root = await mkdtemp(join(tmpdir(), "bikeshare-pages-"));
  await mkdir(join(root, "apps/dashboard/src"), { recursive: true });
  await mkdir(join(root, "apps/dashboard/node_modules/vite/bin"), { recursive: true });
  await writeFile(join(root, "apps/dashboard/node_modules/vite/bin/vite.js"), BUILDER);
  await edit("first");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const edit = (text: string) => writeFile(join(root, "apps/dashboard/src/main.tsx"), text);
const built = () => readFile(join(root, "apps/dashboard/dist/index.html"), "utf8");

async function open(): Promise<void> {
  const sourceDirectory = join(root, "apps/dashboard");
  const pages = openDashboardPages({ note: (text) => notes.push(text), sourceDirectory });
  await pages.ready();
  await pages.close();
}

it("builds the pages where they are missing, says so in a line, and does not build them again", async () => {
  await open();
  expect(await built()).toBe("first");
  expect(notes).toEqual([expect.stringMatching(/^The dashboard's pages were missing or old: built in [\d.]+ s[.]$/)]);
  await open();
  expect(notes).toHaveLength(1);
});

it("builds them again when a source is newer, and leaves nothing else behind", async () => {
  await open();
  await edit("second");
  const soon = new Date(Date.now() + 60_000);
  await utimes(join(root, "apps/dashboard/src/main.tsx"), soon, soon);
  await open();
  expect(await built()).toBe("second");
  expect(await readdir(join(root, "apps/dashboard/node_modules"))).toEqual(["vite"]);
});

it("keeps the pages that there are when a build fails, and says why", async () => {
  await open();
  await edit("wrong");
  const soon = new Date(Date.now() + 60_000);
  await utimes(join(root, "apps/dashboard/src/main.tsx"), soon, soon);
  await open();
  expect(await built()).toBe("first");
  expect(notes.at(-1)).toContain("main.tsx: wrong");
});

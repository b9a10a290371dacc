import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));
const read = (file: string) => readFileSync(join(root, file), "utf8");
const pages = files.filter((file) => file.endsWith(".md"));
const GLOSSARY = "docs/glossary.md";

interface Link {
  readonly from: string;
  /** The linked file, as a path from the root of the repository. */
  readonly to: string;
  readonly anchor: string | undefined;
}

/** The links in documents to files of the repository. */
const links: readonly Link[] = pages.flatMap((from) =>
  [...withoutCode(read(from)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
    // A path that begins with a slash is an address of the service.
    if (/^([a-z]+:|\/)/.test(target)) return [];
    const [path = "", anchor] = target.split("#");
    return [{ from, to: path === "" ? from : normalize(join(dirname(from), path)), anchor }];
  }),
);

/** References in comments to entries of the glossary: `docs/glossary.md#lane`. */
const references: readonly Link[] = files
  .filter((file) => /\.(ts|mjs|sql)$/.test(file) && !file.startsWith("tools/documents"))
  .flatMap((from) =>
    [...read(from).matchAll(/docs\/glossary\.md#([a-z-]+)/g)].map(([, anchor]) => ({ from, to: GLOSSARY, anchor })),
  );

function withoutCode(text: string): string {
  return withoutBlocks(text).replace(/`[^`\n]*`/g, "`");
}

function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, "");
}

/** Returns the anchors that GitHub creates for the headings of a file. */
function anchorsOf(file: string): string[] {
  return [...withoutBlocks(read(file)).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

it("every link of a document leads to a file that exists", () => {
  const broken = links.filter(({ to }) => !existsSync(join(root, to))).map(({ from, to }) => `${from}: ${to}`);
  expect(broken).toEqual([]);
});

it("every link to a heading leads to one that exists", () => {
  const broken = [...links, ...references]
    .filter(({ to, anchor }) => anchor !== undefined && to.endsWith(".md") && existsSync(join(root, to)))
    .filter(({ to, anchor }) => !anchorsOf(to).includes(anchor ?? ""))
    .map(({ from, to, anchor }) => `${from}: ${to}#${anchor}`);
  expect(broken).toEqual([]);
});

it("every entry of the glossary is linked from a document or a comment that uses it", () => {
  const linked = new Set(
    [...links, ...references]
      .filter(({ from, to }) => to === GLOSSARY && from !== GLOSSARY)
      .map(({ anchor }) => anchor),
  );
  const entries = [...read(GLOSSARY).matchAll(/^### (.+)$/gm)].map(([, entry = ""]) => entry.replaceAll(" ", "-"));
  expect(entries.length).toBeGreaterThan(40);
  expect(entries.filter((entry) => !linked.has(entry))).toEqual([]);
});

it("every source that the architecture page names exists, and the walks are as short as they are meant to be", () => {
  const page = read("docs/architecture.md");
  const named = [...page.matchAll(/`([\w./-]+\.(?:ts|md))`/g)].map(([, path = ""]) => path);
  const pathOf = (name: string) => (/^(apps|packages)\//.test(name) ? name : `apps/server/src/${name}`);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !existsSync(join(root, pathOf(name))))).toEqual([]);
  const walks = page.split("\n### ").slice(1);
  const lengths = walks.map((walk) => [...walk.matchAll(/^\d+\. `/gm)].length);
  // The most steps of the walks: a cursor, a key, a delivery, a reservation, a trip row.
  const bounds = [8, 6, 20, 9, 13];
  expect(lengths.length).toBe(bounds.length);
  expect(lengths.filter((length, index) => length > (bounds[index] ?? 0))).toEqual([]);
});

it("the pages of docs/ and all READMEs together have at most 50,000 words, so that they can be read", () => {
  const counted = pages.filter((file) => file.startsWith("docs/") || file.endsWith("README.md"));
  const words = counted.map((file) => read(file).split(/\s+/).filter(Boolean).length);
  expect(words.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(50_000);
});

it("every threat of the threat model names code and a test that pushes against it", () => {
  const rows = read("docs/threat-model.md")
    .split("\n## ")
    .filter((section) => section.includes("| threat |"))
    .flatMap((section) =>
      section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| threat |")),
    );
  expect(rows.length).toBeGreaterThan(30);
  for (const row of rows) {
    const [threat, defence, code = "", tests = ""] = row.split(" | ").map((cell) => cell.trim());
    const names = (cell: string) => [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path);
    expect([threat, names(code).filter((path) => !path.includes(".test."))], defence).not.toEqual([threat, []]);
    expect([threat, names(tests).filter((path) => path.includes(".test."))], defence).not.toEqual([threat, []]);
  }
});

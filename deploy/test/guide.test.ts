import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { checks, preparations } from "../guide/checks.ts";
import { blocksOf, NOT_RUN, readOperationsPage } from "../guide/page.ts";

const deploy = join(import.meta.dirname, "..");
const root = join(deploy, "..");
const blocks = readOperationsPage();
const run = blocks.filter(({ machines }) => machines.length > 0);

/** Other pages with commands, and why neither `test:guide` nor `test:containers` runs them. */
const OTHER_PAGES: Readonly<Record<string, string>> = {
  "docs/commands.md": "an import needs the operator's own files of trips",
  "docs/configuration.md": "`distribute` needs Citus, which Debian does not have",
  "docs/gbfs.md": "a journey planner's requests; the server's tests make them",
  "docs/metrics.md": "a Request-Id of one's own log stands in it",
  "docs/operators-guide.md": "requests of the operator's backend; the server's tests make them",
  "docs/performance.md": "benchmarks of the repository, not of an installation",
  "docs/receiving-webhooks.md": "a partner's programs; the tests of packages/webhooks run them",
  "docs/reservations.md": "a partner's requests; the server's tests make them",
  "docs/runbook.md": "each mends what has failed; the walk causes one failure, ProcessDown",
};

it("every command of the operator's guide is run by `test:guide`, or stands below a heading that says why not", () => {
  expect(run.length).toBeGreaterThan(20);
  const others = blocks.filter(({ machines }) => machines.length === 0).map(({ heading }) => heading);
  expect([...new Set(others)].toSorted()).toEqual(Object.keys(NOT_RUN).toSorted());
  const followed = ["docs/operations.md", "docs/containers.md"];
  const pages = globSync("docs/**/*.md", { cwd: root }).filter((page) => !followed.includes(page));
  const withCommands = pages.filter((page) => blocksOf(readFileSync(join(root, page), "utf8")).length > 0);
  expect(withCommands.toSorted()).toEqual(Object.keys(OTHER_PAGES).toSorted());
});

it("what is checked after the commands of a heading belongs to a heading that has some", () => {
  const headings = new Set(run.map(({ heading }) => heading));
  expect(new Set(Object.keys(checks)).difference(headings)).toEqual(new Set());
  expect(new Set(Object.keys(preparations)).difference(headings)).toEqual(new Set());
});

it("the commands of the operator's guide are a shell's, and name files and units that there are", () => {
  for (const { commands } of blocks) execFileSync("bash", ["-n"], { input: commands, stdio: ["pipe", "pipe", "pipe"] });
  const commands = blocks.map((block) => block.commands).join("\n");
  const examples = commands.matchAll(/(?<= )(?:systemd|nginx|haproxy|prometheus)\/[\w.-]+\.\w+/g);
  for (const [path] of examples) expect(existsSync(join(deploy, path)), path).toBe(true);
  for (const [, unit = ""] of commands.matchAll(/\b(bikeshare-\w+@)\d/g)) {
    expect(existsSync(join(deploy, "systemd", `${unit}.service`)), unit).toBe(true);
  }
});

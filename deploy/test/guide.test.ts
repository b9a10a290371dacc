import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { checks, preparations } from "../guide/checks.ts";
import { databaseChecks, databasePreparations } from "../guide/database-checks.ts";
import { oneMachineChecks, oneMachinePreparations } from "../guide/one-machine-checks.ts";
import { blocksOf, OPTIONAL, PAGES, readOperationsPages } from "../guide/page.ts";
import { hasEnded, waitForChild } from "../guide/processes.ts";

const deploy = join(import.meta.dirname, "..");
const root = join(deploy, "..");
const blocks = readOperationsPages();
const run = blocks.filter(({ machines }) => machines.length > 0);

/** Other pages with commands, with the reason why `test:guide` and `test:containers` do not run them. */
const OTHER_PAGES: Readonly<Record<string, string>> = {
  "docs/agents.md": "apps/server/test/mcp connects with the official client",
  "docs/commands.md": "an import needs the operator's own files of trips",
  "docs/following-changes.md": "a partner's requests; the server's tests make them",
  "docs/gbfs.md": "a journey planner's requests; the server's tests make them",
  "docs/history.md": "a partner's requests; the server's tests make them",
  "docs/local-testing.md": "a partner's requests to the fake service; the SDK's tests make them",
  "docs/metrics.md": "a Request-Id of one's own log stands in it",
  "docs/cities.md": "an agency; the server's tests make one and read as one",
  "docs/open-data.md": "files of rides; the server's tests make them and download them",
  "docs/operators-guide.md": "requests of the operator's backend; the server's tests make them",
  "docs/partners.md": "a partner's requests; the server's tests make them",
  "docs/performance.md": "benchmarks of the repository, not of an installation",
  "docs/receiving-webhooks.md": "a partner's programs; the tests of packages/webhooks run them",
  "docs/reservations.md": "a partner's requests; the server's tests make them",
  "docs/sandbox.md": "a partner's commands; apps/server/test/sandbox/guide.test.ts pastes them",
  "docs/runbook.md": "each mends what has failed; the walk causes one failure, ProcessDown",
};

it("every command of the operator's guide is run by `test:guide`: all but those of Citus whenever it is run", () => {
  expect(run.length).toBeGreaterThan(50);
  expect(blocks.filter(({ machines }) => machines.length === 0)).toEqual([]);
  expect(Object.keys(OPTIONAL)).toEqual(["Several machines, with Citus"]);
  const headings = new Set(run.map(({ heading }) => heading));
  for (const heading of Object.keys(OPTIONAL)) expect(headings).toContain(heading);
});

it("a page with commands is followed by `test:guide` or `test:containers`, or is known with the reason why not", () => {
  const followed: readonly string[] = [...PAGES, "docs/containers.md"];
  const pages = globSync("docs/**/*.md", { cwd: root }).filter((page) => !followed.includes(page));
  const withCommands = pages.filter((page) => blocksOf(readFileSync(join(root, page), "utf8")).length > 0);
  expect(withCommands.toSorted()).toEqual(Object.keys(OTHER_PAGES).toSorted());
});

it("a command in the sentences of the operator's guide is one of those that `test:guide` runs", () => {
  const pages = PAGES.map((page) => readFileSync(join(root, page), "utf8")).join("\n");
  const sentences = pages.replaceAll(/^```[\s\S]*?^```/gm, "");
  const typed = sentences.matchAll(/`((?:system|haproxy|nginx|certbot|patroni|psql|pg_|bikeshare )[\w-]* [^`]*)`/g);
  const commands = run.map((block) => block.commands).join("\n");
  for (const [, command = ""] of typed) expect(commands).toContain(command);
});

it("what is checked after the commands of a heading belongs to a heading that has some", () => {
  const headings = new Set(run.map(({ heading }) => heading));
  for (const known of [
    checks,
    preparations,
    databaseChecks,
    databasePreparations,
    oneMachineChecks,
    oneMachinePreparations,
  ])
    expect(new Set(Object.keys(known)).difference(headings)).toEqual(new Set());
});

it("the commands of the operator's guide are a shell's, and name files and units that there are", () => {
  for (const { commands } of blocks) execFileSync("bash", ["-n"], { input: commands, stdio: ["pipe", "pipe", "pipe"] });
  const commands = blocks.map((block) => block.commands).join("\n");
  const examples = commands.matchAll(/(?<= )(?:systemd|nginx|patroni|prometheus)\/[\w.-]+\.\w+/g);
  for (const [path] of examples) expect(existsSync(join(deploy, path)), path).toBe(true);
  for (const [, unit = ""] of commands.matchAll(/\b(bikeshare-\w+@)\d/g)) {
    expect(existsSync(join(deploy, "systemd", `${unit}.service`)), unit).toBe(true);
  }
});

/** Starts a process, which ends with the test. */
function start(commands: string): ChildProcess {
  const child = spawn("sh", ["-c", commands], { stdio: ["pipe", "ignore", "ignore"] });
  onTestFinished(async () => {
    child.stdin?.end();
    if (!hasEnded(child)) await once(child, "exit");
  });
  return child;
}

it.skipIf(!existsSync("/proc/self"))(
  "the first child of a process is waited for, until the process ends by itself or by a signal",
  async () => {
    const parent = start("cat; true");
    expect(await waitForChild(parent)).toBeDefined();
    for (const end of ["exit 1", "kill -KILL $$"]) {
      const ending = start(end);
      expect(await waitForChild(ending), end).toBeUndefined();
      expect(hasEnded(ending), end).toBe(true);
    }
  },
);

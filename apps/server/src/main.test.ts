import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly engines: { readonly node: string };
};
const [, major = Number.NaN, minor = Number.NaN] = (/^>=(\d+)\.(\d+)$/.exec(engines.node) ?? []).map(Number);
const oldest = `${major}.${minor}`;

/** Runs the program as if Node had a certain version. */
function runOn(version: string) {
  const asVersion = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const options = ["--conditions=@bikeshare/source", "--import", `data:text/javascript,${asVersion}`];
  const main = new URL("main.ts", import.meta.url).pathname;
  return spawnSync(process.execPath, [...options, main, "--version"], { encoding: "utf8" });
}

it.each([`${major}.${minor - 1}.9`, `${major - 1}.99.0`])(
  "a Node %s is older than package.json allows: the program says which one it needs, and ends",
  (version) => {
    const { status, stderr } = runOn(version);
    expect([status, stderr]).toEqual([2, expect.stringContaining(`Node.js ${oldest} or newer is needed`)]);
  },
);

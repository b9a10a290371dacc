import { expect, it } from "vitest";
import { pinIssues, releaseAgeIssues } from "./pin-rules.ts";

const commit = "11d5960a326750d5838078e36cf38b85af677262";

it("an action is named by its commit with the version behind it, and nothing else", () => {
  const workflow = (used: string) => pinIssues({ "ci.yml": `steps:\n  - uses: ${used}\n    with:\n      a: b\n` });
  expect(workflow(`actions/checkout@${commit} # v4.4.0`)).toEqual([]);
  for (const used of ["actions/checkout@v4", "actions/checkout@main", `actions/checkout@${commit}`, "./local"])
    expect(workflow(used)).toEqual([`ci.yml: ${used} is not a commit with its version behind it`]);
});

it("pnpm is one exact version everywhere", () => {
  expect(pinIssues({ run: "npx -y pnpm@12.21.0 test", Dockerfile: "RUN npx pnpm@12.21.0 fetch" })).toEqual([]);
  expect(pinIssues({ run: "npx -y pnpm@12 test" })).toEqual(["run: pnpm@12 is not an exact version"]);
  expect(pinIssues({ run: "pnpm@12.21.0", Dockerfile: "pnpm@12.20.0" })).toEqual([
    "several versions of pnpm: 12.21.0, 12.20.0",
  ]);
});

it("an image begins with an exact version, with a digest or without", () => {
  const image = (name: string) => pinIssues({ Dockerfile: `FROM ${name} AS build\n` });
  expect(image("node:24.21.0-bookworm-slim")).toEqual([]);
  expect(image(`node:24.21.0-bookworm-slim@sha256:${"0".repeat(64)}`)).toEqual([]);
  for (const name of ["node", "node:24", "node:latest", "node:24-bookworm-slim"])
    expect(image(name)).toEqual([`Dockerfile: ${name} is not an exact version`]);
});

it("no version is taken before it is three days old, without exception", () => {
  expect(releaseAgeIssues("minimumReleaseAge: 4320\n")).toEqual([]);
  for (const text of ["", "minimumReleaseAge: 60\n", "# minimumReleaseAge: 4320\n"])
    expect(releaseAgeIssues(text)).toHaveLength(1);
  expect(releaseAgeIssues("minimumReleaseAge: 4320\nminimumReleaseAgeExclude:\n  - left-pad\n")).toEqual([
    "minimumReleaseAgeExclude: is an exception",
  ]);
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { createProgram } from "./command-line.ts";

let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness({
    register: async (program, cli) => {
      const { commands } = await createProgram("1", cli, "run");
      for (const command of commands) program.addCommand(command);
    },
    clock: () => Date.parse("2026-06-01T12:00:00Z"),
  });
});
afterAll(() => harness.close());

async function runFile(lines: readonly string[], ...args: string[]) {
  const file = join(harness.directory, "commands.ndjson");
  await writeFile(file, lines.join("\n"));
  return harness.run("run", file, ...args);
}

it("runs each line of a file as a command, and prints one result a line", async () => {
  const { stdout } = await runFile(['["partners","create","A, B & C"]', "", '["partners","create","D"]'], "--json");
  const made = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { name: string });
  expect(made.map(({ name }) => name)).toEqual(["A, B & C", "D"]);
});

it("stops at the first line that fails, and names it", async () => {
  const lines = ['["partners","create","E"]', '["partners","create","E"]', '["partners","create","F"]'];
  await expect(runFile(lines)).rejects.toThrow(/^Line 2 of .*commands\.ndjson failed; later lines were not run\.$/);
  const { partners } = JSON.parse((await runFile(['["partners","list"]'], "--json")).stdout) as {
    partners: { name: string }[];
  };
  expect(partners.map(({ name }) => name)).toContain("E");
  expect(partners.map(({ name }) => name)).not.toContain("F");
});

it("a file that is not there, or that is a directory, ends with the reason, and runs nothing", async () => {
  await expect(harness.run("run", join(harness.directory, "nothing"))).rejects.toThrow(/ENOENT.*nothing/);
  await expect(harness.run("run", harness.directory)).rejects.toMatchObject({ code: "EISDIR" });
});

it.each([
  ["partners create E", "partners create E is not a JSON array of strings"],
  ["[]", "[] is not a JSON array of strings"],
  ['["serve"]', "serve cannot be one of several commands"],
  ['["partners","create","G","--system","b"]', "cannot have --system of its own: give it to `run` itself"],
  ['["--system=b","partners","create","G"]', "cannot have --system of its own: give it to `run` itself"],
  ['["partners","list","--json"]', "cannot have --json of its own: give it to `run` itself"],
])("a line that is not such a command is refused: %s", async (line, reason) => {
  const failure: unknown = await runFile([line]).catch((error: unknown) => error);
  expect(((failure as Error).cause as Error).message).toContain(reason);
});

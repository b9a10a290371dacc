import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { findPython } from "./python.ts";

const run = promisify(execFile);
const directory = join(import.meta.dirname, "..");

/** Returns the output of a program with any exit status: a type checker that finds errors exits with another than 0. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(program, args, { cwd: directory }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return stdout + stderr;
}

describe("the types in Python", () => {
  const withHttpx = findPython(["httpx"]);
  const withMypy = findPython(["httpx", "mypy"]);
  const unless = ({ missing }: { readonly missing?: string }) =>
    missing === undefined ? "" : ` (skipped: ${missing})`;

  it.skipIf(withHttpx.missing !== undefined)(
    `have no issue for pyright in strict mode${unless(withHttpx)}`,
    async () => {
      const args = ["--pythonpath", String(withHttpx.path)];
      expect(await outputOf(join(directory, "node_modules/.bin/pyright"), args)).toMatch(/^0 errors, 0 warnings/m);
    },
  );

  it.skipIf(withMypy.missing !== undefined)(`have no issue for mypy in strict mode${unless(withMypy)}`, async () => {
    const args = ["-m", "mypy", "--cache-dir", "/dev/null"];
    expect(await outputOf(String(withMypy.path), args)).toMatch(/^Success: no issues/m);
  });
});

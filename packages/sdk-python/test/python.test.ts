import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findPython } from "./python.ts";

/** The result of one test of pytest, as tests/conftest.py writes it. */
interface Result {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly when: "setup" | "call" | "teardown";
  readonly reason: string;
}

interface Run {
  readonly results: readonly Result[];
  readonly output: string;
  /** The exit status of pytest. 0: all tests passed. 1: some failed. Others: it could not run the tests. */
  readonly status: number;
}

const directory = join(import.meta.dirname, "..");
const python = findPython();

/** Runs all Python tests. Each result becomes a test here, so that it is counted and shown like other tests. */
async function runTests(path: string): Promise<Run> {
  const scratch = mkdtempSync(join(tmpdir(), "bikeshare-pytest-"));
  const file = join(scratch, "results.jsonl");
  try {
    const env = {
      ...process.env,
      BIKESHARE_NODE: process.execPath,
      BIKESHARE_PYTEST_RESULTS: file,
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const run = spawn(path, ["-m", "pytest", "-q", "--tb=short"], { cwd: directory, env });
    let output = "";
    for (const stream of [run.stdout, run.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => void (output += text));
    }
    const [status] = (await once(run, "close")) as [number];
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
    return { results: lines.map((line) => JSON.parse(line) as Result), output, status };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

describe.skipIf(python.missing !== undefined)(
  `the client in Python${python.missing === undefined ? "" : ` (skipped: ${python.missing})`}`,
  async () => {
    const notRun = { results: [], output: "", status: 0 };
    const { results, output, status } = python.path === undefined ? notRun : await runTests(python.path);
    const byName = Object.groupBy(results, ({ name }) => name);

    it("has tests, all of which were run", () => {
      expect([0, 1], output).toContain(status);
      expect(results.length, output).toBeGreaterThan(400);
    });

    for (const [name, parts = []] of Object.entries(byName)) {
      it.skipIf(parts.every(({ outcome }) => outcome === "skipped"))(titleOf(name, parts), () => {
        expect(parts.filter(({ outcome }) => outcome === "failed").map(({ reason }) => reason)).toEqual([]);
      });
    }
  },
);

/** Returns the title of a test. For a skipped test it contains the reason. */
function titleOf(name: string, parts: readonly Result[]): string {
  const skipped = parts.find(({ outcome }) => outcome === "skipped");
  return name.replace(/^tests\//, "") + (skipped === undefined ? "" : ` (${skipped.reason})`);
}

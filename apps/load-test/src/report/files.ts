import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunResult } from "../result.ts";

/** Writes the reports of a run. @returns their paths */
export async function writeReports(result: RunResult, directory: string, _baseline?: string): Promise<string[]> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, "result.json");
  await writeFile(file, `${JSON.stringify(result)}\n`);
  return [file];
}

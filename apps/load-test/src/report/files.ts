import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunResult } from "@bikeshare/load";
import { reportPage } from "./page.ts";

/** Writes `result.json` and `report.html`. @returns their paths */
export async function writeReports(
  result: RunResult,
  directory: string,
  baseline: RunResult | undefined,
): Promise<string[]> {
  await mkdir(directory, { recursive: true });
  const files = [
    { path: join(directory, "result.json"), text: `${JSON.stringify(result)}\n` },
    { path: join(directory, "report.html"), text: reportPage(result, baseline) },
  ];
  for (const { path, text } of files) await writeFile(path, text);
  return files.map(({ path }) => path);
}

/** Reads the `result.json` of an earlier run. @throws if the file is no such result */
export async function readBaseline(path: string): Promise<RunResult> {
  const value: unknown = JSON.parse(await readFile(path, "utf8"));
  const version: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "version") : undefined;
  if (version !== 1) throw new Error(`--baseline ${path} is not a result.json of the load test.`);
  // Trusted to have the form that `writeReports` writes. The report uses its parts only as numbers and escaped text.
  return value as RunResult;
}

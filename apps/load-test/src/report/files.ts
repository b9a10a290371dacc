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

/** Reads the `result.json` of an earlier run. @throws when it is none */
export async function readBaseline(path: string): Promise<RunResult> {
  const value: unknown = JSON.parse(await readFile(path, "utf8"));
  const version: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "version") : undefined;
  if (version !== 1) throw new Error(`--baseline ${path} is not a result.json of the load test.`);
  // Written by `writeReports`; its parts are read as numbers and escaped text only.
  return value as RunResult;
}

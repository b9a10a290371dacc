import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";

/** Reports that are kept. A report is read soon or never, and one of a ruined file has a line for each of its rows. */
const KEPT = 100;
const REPORT = /^import_\w+\.ndjson$/;

/** Where the reports of imports are written. */
export function reportsDirectory({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "reports");
}

/** Removes all but the newest reports. Other files in the directory stay. */
export async function pruneReports(directory: string): Promise<void> {
  // Without a directory there is no report.
  const names = await readdir(directory).catch(() => []);
  const reports = await Promise.all(
    names
      .filter((name) => REPORT.test(name))
      .map(async (name) => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
  );
  const old = reports.toSorted((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1)).slice(KEPT);
  await Promise.all(old.map(({ name }) => rm(join(directory, name), { force: true })));
}

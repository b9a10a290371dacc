import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Maximum reports of one kind that are kept. A feed's report has a few MB at most; a trip import's may have more. */
const MAX_REPORTS = 100;
/**
 * Limits the characters of a wrong value in a report. Too low: the value is not recognisable. Too high: one record fills
 * the disk.
 */
const MAX_VALUE_LENGTH = 200;

/** File names of the reports of trip imports. */
export const TRIP_REPORT_NAME = /^import_\w+\.ndjson$/;

/** Returns the directory of imports' reports. */
export function reportsDirectory({ dataDir }: { readonly dataDir: string }): string {
  return join(dataDir, "reports");
}

/** Returns the directory in which unpacked files and rides wait during an import. */
export function spoolDirectory({ dataDir }: { readonly dataDir: string }): string {
  return join(dataDir, "spool");
}

/** Shortens a text for reports and messages. @param most maximum number of characters, without the "…" */
export function shorten(text: string, most = MAX_VALUE_LENGTH): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Removes all but the newest reports of one kind. Other files stay. @param pattern matches the names of the reports */
export async function removeOldReports(directory: string, pattern: RegExp): Promise<void> {
  // Without a directory there are no reports.
  const names = (await readdir(directory).catch(() => [])).filter((name) => pattern.test(name));
  if (names.length <= MAX_REPORTS) return;
  // A file may be missing by now, because another process removes old reports too.
  const dated = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  const old = dated.toSorted((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1)).slice(MAX_REPORTS);
  await Promise.all(old.map(({ name }) => rm(join(directory, name), { force: true })));
}

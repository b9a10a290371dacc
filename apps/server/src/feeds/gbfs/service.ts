import type { Queryable } from "../../db/database.ts";
import type { ApplyContext } from "./apply.ts";
import { importSnapshot, type ImportOutcome } from "./import.ts";
import { writeReport } from "./report.ts";
import { openSource } from "./source.ts";

/** What to import, and where the report goes. */
export interface GbfsImport extends ApplyContext {
  /** A directory of saved feeds, or the address of gbfs.json. */
  readonly location: string;
  /** Where the report is written when there is something to report; made when it is not there. */
  readonly reports: { readonly directory: string; readonly name: string };
}

/**
 * Imports one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1, and writes what was wrong with it into
 * a report.
 * @returns what it did, and the report's path (null without one)
 * @throws FeedFailure when not one feed of stations or vehicles can be used; nothing was changed then
 */
export async function importGbfs(
  db: Queryable,
  { location, reports, ...context }: GbfsImport,
): Promise<ImportOutcome & { readonly report: string | null }> {
  const source = await openSource(location);
  const outcome = await importSnapshot(db, context, source);
  return { ...outcome, report: await writeReport(reports.directory, reports.name, outcome.problems) };
}

import type { Database } from "../../db/database.ts";
import { recordImport } from "../../imports/service.ts";
import { shownAddress } from "../address.ts";
import type { ApplyContext } from "./apply.ts";
import { importSnapshot, type ImportOutcome } from "./import.ts";
import { writeReport } from "./report.ts";
import { openSource } from "./source.ts";

/** What to import, who does it, and where the report goes. */
export interface GbfsImport extends Omit<ApplyContext, "now"> {
  /** A directory of saved feeds, or the address of gbfs.json. */
  readonly location: string;
  /** The import's id, and the name of its report. */
  readonly importId: string;
  /** Where the report is written when there is something to report; made when it is not there. */
  readonly reportDirectory: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** For the audit log. */
  readonly actor: string;
}

/**
 * Imports one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1, writes what was wrong with it into a report,
 * and keeps a record of the import where it changed something.
 * @returns what it did, its id (null where nothing was changed, so that there is nothing to take back), and the report's
 *   path (null without one)
 * @throws FeedFailure when not one feed of stations or vehicles can be used; nothing was changed then
 * @throws OtherSystemError when the source has become another system; nothing was changed then
 */
export async function importGbfs(
  db: Database,
  { location, importId, reportDirectory, clock, actor, ...context }: GbfsImport,
): Promise<ImportOutcome & { readonly id: string | null; readonly report: string | null }> {
  const now = clock();
  const source = await openSource(location, now);
  try {
    const outcome = await importSnapshot(db, { ...context, now }, source);
    const report = await writeReport(reportDirectory, importId, outcome.problems);
    const { stations, bikes } = outcome;
    const sum = (count: "created" | "updated" | "removed" | "unchanged" | "rejected") => stations[count] + bikes[count];
    const updated = sum("updated") + sum("removed");
    const isRecorded = sum("created") + updated > 0;
    if (isRecorded) {
      const { systemId, ids } = context;
      const start = {
        systemId,
        id: importId,
        kind: "gbfs" as const,
        source: context.source,
        at: new Date(now),
        // A key in its query is nobody's who reads the record.
        detail: { location: shownAddress(location) },
      };
      const counts = { created: sum("created"), updated, unchanged: sum("unchanged"), rejected: sum("rejected") };
      await recordImport(db, { clock, ids, actor }, start, { ...counts, stationsCreated: stations.created }, report);
    }
    return { ...outcome, id: isRecorded ? importId : null, report };
  } finally {
    await source.close();
  }
}

import { systemsOf } from "../../city/systems/service.ts";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { startPeriodic } from "../../storage/background/periodic.ts";
import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import type { TimePosition } from "../../storage/lists/page.ts";
import {
  deleteRunningImport,
  type ImportProgress,
  type ImportRow,
  insertImport,
  insertImportOverlaps,
  insertImportReport,
  listImportPage,
  listRunningImports,
  lockStandingImports,
  type ProgressRow,
  type RunningImportsRow,
  updateImportFinished,
  updateImportProgress,
  updateRunningImport,
} from "./queries.ts";
import type { ReportSummary } from "./report.rules.ts";

/*
 * What imports of trip files and of feeds have in common: their progress while they run, the record by which they can be
 * listed and undone, and the report of rejected and repaired records.
 */

/** The progress of a running import; an omitted number is 0 or unknown. */
export type Progress = Partial<ProgressRow>;

/** The imports of one kind that run now in a system, as one row. */
export interface RunningImports extends RunningImportsRow {
  readonly systemId: string;
}

/** Milliseconds between two writes of an import's progress. Too low: costs writes. Too high: monitors see large steps. */
const WRITE_INTERVAL_MS = 5_000;
/** How long an import whose process was killed counts as running. Four intervals, so that a slow import still counts. */
const ALIVE_MS = 20_000;

/**
 * The import whose progress is written. A `replay` (`replay gbfs`, recorded snapshots in their order) has no row in `imports`.
 * A feed's import gets one when it is done.
 */
export interface ReportedImport {
  readonly db: Queryable;
  readonly systemId: string;
  readonly importId: string;
  readonly kind: "trips" | "gbfs" | "replay";
}

/**
 * Runs `work`, an import, and meanwhile writes its progress to the database, where other processes can read it.
 * @param progress called every few seconds
 */
export async function whileReporting<Result>(
  { db, systemId, importId: id, kind }: ReportedImport,
  progress: () => Progress,
  work: () => Promise<Result>,
): Promise<Result> {
  const none = { share: null, rows_read: 0, created: 0, unchanged: 0, rejected: 0 };
  const reporting = startPeriodic({
    intervalMs: WRITE_INTERVAL_MS,
    work: () => updateRunningImport(db, { systemId, id, kind }, ALIVE_MS, { ...none, ...progress() }),
    // The import itself reports database errors.
    onError: () => undefined,
    immediately: true,
  });
  try {
    return await work();
  } finally {
    await reporting.close();
    await deleteRunningImport(db, systemId, id).catch(() => undefined);
  }
}

/** Returns the imports that run now in all systems, in this process or another, summarised by system and kind. */
export async function runningImports(db: Database): Promise<RunningImports[]> {
  const running: RunningImports[] = [];
  for (const { system_id: systemId } of await systemsOf(db))
    running.push(...(await runningImportsOf(db, systemId)).map((row) => ({ systemId, ...row })));
  return running;
}

/** Returns the running imports of one system, summarised by kind. */
export function runningImportsOf(db: Queryable, systemId: string): Promise<RunningImportsRow[]> {
  return listRunningImports(db, systemId);
}

export { findImport, type ImportRow, listImports } from "./queries.ts";
export { findImportReport as importReport, listReportEntries as reportEntries } from "./queries.ts";

/** The facts about an import that are known when it begins. */
export interface ImportStart {
  readonly systemId: string;
  /** The import's id, which is also the name of its report. */
  readonly id: string;
  readonly kind: ImportRow["kind"];
  readonly source: string;
  /** The time that the import writes as `updated_at` of every row. */
  readonly at: Date;
  /** The import's arguments: files or address, time zone. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** An import's report: the summary, which the database stores, and the file with all entries. */
export interface ImportReport extends ReportSummary {
  /** The file's path. Null: there was nothing to report, no file was asked for, or it could not be written. */
  readonly path: string | null;
}

/** The numbers of an import's record. Those of a feed's import are sums over its stations and bikes. */
export interface ImportCounts {
  /** Rides, or stations and bikes. */
  readonly created: number;
  /** Changed or removed. */
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
  /** The number of stations among the rows that a feed's import created. */
  readonly stationsCreated: number;
}

/** The import cannot go on, because it, or an earlier import that has some of the same rides, is being undone or was undone. */
export class ImportUndone extends Error {
  override readonly name = "ImportUndone";
}

/** Records an import that is done, and who ran it. To be called only if the import wrote something. */
export function recordImport(
  db: Queryable,
  by: Omit<ActorContext, "db">,
  start: ImportStart,
  counts: ImportCounts,
  report: ImportReport,
): Promise<void> {
  return db.transaction(async (tx) => {
    await insertRecord(tx, by, start, "done", counts, report.path);
    await keepReport(tx, start.systemId, start.id, report);
  });
}

/** Marks an import as done, and stores its report. */
export function finishImport(db: Queryable, systemId: string, id: string, report: ImportReport): Promise<void> {
  return db.transaction(async (tx) => {
    await updateImportFinished(tx, systemId, id, report.path);
    await keepReport(tx, systemId, id, report);
  });
}

/** Stores the summary of a report that has entries. */
async function keepReport(tx: Queryable, systemId: string, id: string, report: ImportReport): Promise<void> {
  if (report.first.length > 0) await insertImportReport(tx, systemId, id, report);
}

/** The numbers of an import that has only begun. */
const NOTHING: ImportCounts = { created: 0, updated: 0, unchanged: 0, rejected: 0, stationsCreated: 0 };

/** Records an import that begins. Each transaction of the import then adds to the record with `addToImport`. */
export function beginImport(db: Queryable, by: Omit<ActorContext, "db">, start: ImportStart): Promise<void> {
  return insertRecord(db, by, start, "running", NOTHING, null);
}

/** Inserts the record of an import, and an entry of the audit log. */
function insertRecord(
  db: Queryable,
  by: Omit<ActorContext, "db">,
  { systemId, id, kind, source, at, detail }: ImportStart,
  status: ImportRow["status"],
  { created, updated, unchanged, rejected, stationsCreated }: ImportCounts,
  report: string | null,
): Promise<void> {
  return db.transaction(async (tx) => {
    const counts = { created, updated, unchanged, rejected, stations_created: stationsCreated };
    await insertImport(tx, systemId, { id, kind, source, at, status, ...counts, report, detail });
    const act = { systemId, action: `import.${kind}`, subject: id, detail: { source, ...detail } };
    await insertActOf(by, tx, act);
  });
}

/**
 * Adds the rows of a transaction to the import's record, in that transaction. To be called late, because the record stays
 * locked until the transaction ends.
 * @throws ImportUndone when another process undid the import meanwhile; the transaction must roll back
 */
export async function addToImport(
  tx: Transaction,
  systemId: string,
  id: string,
  progress: Partial<ImportProgress>,
): Promise<void> {
  const all = { created: 0, unchanged: 0, rejected: 0, stationsCreated: 0, starts: null, ...progress };
  if (await updateImportProgress(tx, systemId, id, all)) return;
  throw new ImportUndone("This import was undone while it ran. The rows that it had not written yet were not written.");
}

/**
 * Records that an import found some of its rides already created by earlier imports, so that the earlier imports cannot be
 * undone before it.
 * @throws ImportUndone when an earlier import is being undone now, or was undone meanwhile
 */
export async function noteOverlaps(
  tx: Transaction,
  systemId: string,
  id: string,
  earlierIds: readonly string[],
): Promise<void> {
  const standing = await lockStandingImports(tx, systemId, earlierIds);
  const gone = earlierIds.find((earlier) => !standing.includes(earlier));
  if (gone !== undefined) {
    throw new ImportUndone(
      `Import ${gone}, which has some of the same rides, is being undone. Run this import again when that is done.`,
    );
  }
  await insertImportOverlaps(tx, systemId, id, earlierIds);
}

/** Returns a page of a system's imports, the newest first, and the position of the next page; undefined on the last page. */
export async function importPage(
  db: Queryable,
  systemId: string,
  after: TimePosition | undefined,
  limit: number,
): Promise<{ readonly imports: readonly ImportRow[]; readonly next: TimePosition | undefined }> {
  const rows = await listImportPage(db, systemId, after, limit + 1);
  const imports = rows.slice(0, limit);
  const last = rows.length > limit ? imports.at(-1) : undefined;
  return { imports, next: last && { at: last.at.toISOString(), id: last.id } };
}

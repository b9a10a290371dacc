import { recordActOf } from "../audit/audit-log.ts";
import type { ActorContext } from "../command-context.ts";
import type { Database, Queryable, Transaction } from "../db/database.ts";
import {
  addImportProgress,
  findImport,
  finishImportRow,
  type ImportProgress,
  type ImportRow,
  insertImport,
  insertImportOverlaps,
  listImports,
  lockStandingImports,
} from "./queries.ts";

export type { ImportRow } from "./queries.ts";

/** What an import is called, what it was given, and when it began. */
export interface ImportStart {
  readonly systemId: string;
  /** Its id, and the name of its report. */
  readonly id: string;
  readonly kind: ImportRow["kind"];
  readonly source: string;
  /** `updated_at` of every row that it writes. */
  readonly at: Date;
  /** What it was given: files or address, time zone. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What an import that is over did. */
export interface ImportCounts {
  /** Rides, or stations and bikes. */
  readonly created: number;
  /** What was there before, and was changed or removed. */
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
  /** How many stations are among what was created by an import of a feed. */
  readonly stationsCreated: number;
}

/** The import that a process is working on was taken back by another. */
export class ImportTakenBack extends Error {
  override readonly name = "ImportTakenBack";
}

/** Writes down an import that is over, and who ran it. To be called where the import wrote something. */
export function recordImport(
  db: Queryable,
  by: Omit<ActorContext, "db">,
  start: ImportStart,
  counts: ImportCounts,
  report: string | null,
): Promise<void> {
  return write(db, by, start, "done", counts, report);
}

const NOTHING: ImportCounts = { created: 0, updated: 0, unchanged: 0, rejected: 0, stationsCreated: 0 };

/** Writes down an import that begins. Each of its transactions adds to it with `addToImport`. */
export function beginImport(db: Queryable, by: Omit<ActorContext, "db">, start: ImportStart): Promise<void> {
  return write(db, by, start, "running", NOTHING, null);
}

function write(
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
    await recordActOf(by, tx, act);
  });
}

/**
 * Adds what a transaction of an import does to the import's record, in that transaction. The record's row stays
 * locked until it ends: to be called late.
 * @throws ImportTakenBack when another process took the import back meanwhile: nothing of the transaction may stay
 */
export async function addToImport(
  tx: Transaction,
  systemId: string,
  id: string,
  progress: Partial<ImportProgress>,
): Promise<void> {
  const all = { created: 0, unchanged: 0, rejected: 0, stationsCreated: 0, starts: null, ...progress };
  if (await addImportProgress(tx, systemId, id, all)) return;
  throw new ImportTakenBack("This import was taken back while it ran. What it had not written yet was not written.");
}

/**
 * Notes that an import found rides of other imports, the same as its own: those must not be taken back before it.
 * @throws ImportTakenBack when one of them is being taken back at this moment
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
    throw new ImportTakenBack(
      `Import ${gone}, which has some of the same rides, is being taken back at this moment. Run this import again once it has been.`,
    );
  }
  await insertImportOverlaps(tx, systemId, id, earlierIds);
}

/** Notes that an import is over. */
export function finishImport(db: Queryable, systemId: string, id: string, report: string | null): Promise<void> {
  return finishImportRow(db, systemId, id, report);
}

/** A system's imports, the newest first. */
export function importsOf(db: Database, systemId: string): Promise<ImportRow[]> {
  return listImports(db, systemId);
}

/** An import; undefined when there is none with this id. */
export function importWithId(db: Queryable, systemId: string, id: string): Promise<ImportRow | undefined> {
  return findImport(db, systemId, id);
}

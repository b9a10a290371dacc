import { Readable } from "node:stream";
import { parentPort, workerData } from "node:worker_threads";
import { MAX_UPLOAD_TEXT_BYTES, type UploadResult } from "@bikeshare/contract/console";
import { createIds } from "../../ids.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { isDiskFull, isUnavailable } from "../../storage/db/errors.ts";
import type { ReportEntry, ReportSummary } from "../imports/report.rules.ts";
import { ImportUndone } from "../imports/service.ts";
import { columnKey, type Layout } from "../trips/formats.ts";
import { importTrips } from "../trips/import.ts";
import type { TripImportResult } from "../trips/options.ts";
import { openTimeZone } from "../trips/trip-times.rules.ts";
import { findUploadPart, type StoredUpload } from "./queries.ts";

/** The options of the worker thread that runs one step of an upload: the trial or the import of a trip file. */
export interface UploadThreadOptions {
  readonly connectionString: string;
  readonly systemId: string;
  readonly upload: Pick<StoredUpload, "id" | "file_name" | "time_zone" | "asked_by" | "bytes">;
  /** Null: the step is the trial, which stores no ride. */
  readonly importId: string | null;
  readonly reportPath: string | null;
  readonly spoolDirectory: string;
  /** Milliseconds since 1970, when the thread was started. */
  readonly now: number;
}

/**
 * A message of the thread: progress, result or error. An error is sent as plain data, because a message between threads
 * does not keep the class of an error.
 */
export type UploadThreadReport =
  | { readonly share: number; readonly rows: number }
  /** `isRecorded` is true when the import has a record. A trial has none, nor has an import that could use no file. */
  | { readonly result: UploadResult; readonly isRecorded: boolean }
  /** `isAway` is true when the database is unavailable. */
  | { readonly problem: string; readonly isAway: boolean };

/** Database connections: two write rides, one reads the file's parts, one writes the progress. */
const CONNECTIONS = 4;
/** The source of the imported rides: the default of `import trips --source`. */
const SOURCE = "trips";
/** Milliseconds between two reports of the progress. */
const REPORT_INTERVAL_MS = 500;
/** Most problems that people are shown. The import's report has all of them. */
const SHOWN_ENTRIES = 50;
/** Most kinds of files, and most refused files, that people are shown. */
const SHOWN_FILES = 20;

/** `performance.now()` at the start of the thread. It counts from the start of the process. */
const STARTED = performance.now();

/** The options that the thread was started with. */
const options = workerData as UploadThreadOptions;
const report = (message: UploadThreadReport) => parentPort?.postMessage(message);

/** Yields the bytes of the upload, which the database has in parts. @throws UploadGone */
async function* readParts(db: Database): AsyncGenerator<Buffer, void, undefined> {
  const { systemId, upload } = options;
  for (let start = 0; start < upload.bytes;) {
    const part = await findUploadPart(db, systemId, upload.id, start);
    if (part === undefined) throw new UploadGone(`The bytes of ${upload.file_name} are gone. Send it again.`);
    yield part;
    start += part.length;
  }
}

/** The bytes of the upload are gone: somebody discarded it, or a backup was restored, which does not contain uploads. */
class UploadGone extends Error {}

/** Runs the step: the import of the file, or its trial. */
async function run(db: Database): Promise<UploadThreadReport> {
  const { systemId, upload, importId, now } = options;
  const clock = () => now + (performance.now() - STARTED);
  const ids = createIds(() => Math.round(clock()));
  const formats = new Map<string, Layout>();
  let summary: ReportSummary = { reasons: {}, first: [] };
  let reportedAt = Number.NEGATIVE_INFINITY;
  const result = await importTrips({
    db,
    systemId,
    ids,
    actor: upload.asked_by,
    source: SOURCE,
    zone: openTimeZone(upload.time_zone),
    clock: () => Math.round(clock()),
    // `-` is the standard input, which the next line replaces.
    files: ["-"],
    standardInput: Readable.from(readParts(db), { objectMode: false }),
    standardInputName: upload.file_name,
    maxTextBytes: MAX_UPLOAD_TEXT_BYTES,
    importId: importId ?? ids.next("import"),
    isTrial: importId === null,
    reportPath: options.reportPath,
    spoolDirectory: options.spoolDirectory,
    onProgress: ({ share, rows, doing }) => {
      if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return;
      reportedAt = performance.now();
      // While the file is fetched, `rows` counts bytes.
      report({ share, rows: doing === "fetching" ? 0 : rows });
    },
    onLayout: (layout) => formats.set(layout.format.name, layout),
    onReport: (made) => {
      summary = made;
    },
    // Never aborted: the parent ends the whole thread instead.
    signal: new AbortController().signal,
  });
  return { result: shown(result, [...formats.values()], summary), isRecorded: result.id !== null };
}

/** Returns the result as people see it in the dashboard. */
function shown(result: TripImportResult, layouts: readonly Layout[], { first }: ReportSummary): UploadResult {
  const { rows, created, unchanged, rejected, reasons, warnings, refused, time_shift } = result;
  return {
    rows,
    created,
    unchanged,
    rejected,
    reasons,
    warnings,
    stations_created: result.stations_created,
    first_at: result.first,
    last_at: result.last,
    formats: layouts.slice(0, SHOWN_FILES).map(({ format, names }) => {
      const isDropped = (name: string) => format.dropped.includes(columnKey(name));
      return {
        name: format.name,
        columns: names.filter((name) => !isDropped(name)),
        dropped: names.filter(isDropped),
      };
    }),
    refused: refused.slice(0, SHOWN_FILES).map(({ file, row, message }) => ({
      file,
      message: row === null ? message : `line ${row}: ${message}`,
    })),
    refused_count: refused.length,
    skipped: result.skipped.length,
    // Shows entries of rejected records first, because these matter most. The number of warnings is shown in any case.
    // Refused files have no entries here, because `refused` lists them.
    entries: first
      .filter(({ outcome }) => outcome !== "refused")
      .toSorted((a, b) => rank(a) - rank(b))
      .slice(0, SHOWN_ENTRIES)
      .map(({ part, record, field, value, reason, outcome }) => ({
        file: part,
        line: record,
        column: field,
        value,
        reason,
        outcome,
      })),
    time_shift,
  };
}

const rank = ({ outcome }: ReportEntry) => (outcome === "rejected" ? 0 : 1);

const db = openDatabase({
  connectionString: options.connectionString,
  maxConnections: CONNECTIONS,
  // No timeout, because a trial is one long transaction.
  statementTimeoutMs: 0,
});
try {
  report(await run(db));
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  const isForPeople = error instanceof ImportUndone || error instanceof UploadGone;
  // Checks for a full disk first: it ends the upload, although `isUnavailable` is true for a full disk as well.
  // An unavailable database lets the step be repeated later.
  if (isDiskFull(error))
    report({ problem: `A disk is full: ${text}. Free space, then send the file again.`, isAway: false });
  else if (isUnavailable(error)) report({ problem: text, isAway: true });
  else if (isForPeople) report({ problem: text, isAway: false });
  else throw error;
} finally {
  await db.close();
}

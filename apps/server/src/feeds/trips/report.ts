import { closeSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import type { PastRidesWritten } from "../../city/fleet/ride-import.ts";
import { createReportSummary } from "../imports/report.rules.ts";
import type { ImportReport } from "../imports/service.ts";
import { shorten } from "../report-files.ts";
import type { RefusedFile, TripImportResult } from "./options.ts";
import type { ImportFileErrorReason, RejectReason, WarningReason } from "./problems.ts";
import type { StagedFile } from "./stage.ts";
import { createShiftCounter } from "./time-shift.rules.ts";

/** One line of a report. */
export interface ReportEntry {
  /** `rejected`: the row was not imported; `warning`: it was; `refused`: nothing of the file was. */
  readonly kind: "rejected" | "warning" | "refused";
  readonly file: string;
  /** The line in the file, as an editor counts; null: the file as a whole. */
  readonly row: number | null;
  readonly column: string | null;
  readonly value: string | null;
  readonly reason: RejectReason | WarningReason | ImportFileErrorReason;
}

/** Characters kept before they are written. */
const BUFFER_LENGTH = 64 * 1024;

export type Report = ReturnType<typeof createReport>;

/** A file of problems, one JSON object a line, created with the first problem. @param path null: no file is written */
export function createReport(path: string | null) {
  let file: number | undefined;
  let waiting = "";
  // Entries come from within a parser, which cannot wait; they are few, so synchronous writes do no harm.
  const summary = createReportSummary();
  const flush = () => {
    if (waiting === "" || path === null) return;
    if (file === undefined) {
      makeDirectory(dirname(path));
      file = openSync(path, "w", 0o600);
    }
    writeSync(file, waiting);
    waiting = "";
  };
  return {
    add(entry: ReportEntry): void {
      if (path === null) return;
      const shown = { ...entry, value: entry.value === null ? null : shorten(entry.value) };
      const { kind: outcome, file: part, row, column: field, value, reason } = shown;
      summary.add({ part, record: row === null ? null : String(row), field, value, reason, outcome });
      waiting += `${JSON.stringify(shown)}\n`;
      if (waiting.length > BUFFER_LENGTH) flush();
    },
    /** Writes the rest. @returns the file's path, null when there was nothing to report, and what is kept beside it */
    close(): ImportReport {
      flush();
      if (file !== undefined) closeSync(file);
      return { path: file === undefined ? null : path, ...summary.result() };
    },
  };
}

export type Tally = ReturnType<typeof createTally>;

/** Adds up the result of an import. */
export function createTally() {
  const reasons = new Map<RejectReason, number>();
  const warnings = new Map<WarningReason, number>();
  const refused: RefusedFile[] = [];
  const skipped: string[] = [];
  const shifts = createShiftCounter();
  let rows = 0;
  let created = 0;
  let unchanged = 0;
  let stations = 0;
  let first: number | undefined;
  let last: number | undefined;
  /** Rows so far. */
  const counts = () => ({ created, unchanged, rejected: [...reasons.values()].reduce((sum, n) => sum + n, 0) });
  return {
    skipFile: (name: string) => void skipped.push(name),
    rejectFile: (file: RefusedFile) => void refused.push(file),
    warn: (reason: WarningReason, n = 1) => addUp(warnings, reason, n),
    /** A file that was read and whose rides will be written. */
    addFile(file: StagedFile): void {
      rows += file.rows;
      for (const [reason, n] of file.rejected) addUp(reasons, reason, n);
      if (file.starts === null) return;
      first = Math.min(first ?? Infinity, file.starts.first);
      last = Math.max(last ?? -Infinity, file.starts.last);
    },
    addStations: (made: number) => void (stations += made),
    addBatch(written: PastRidesWritten): void {
      created += written.created;
      unchanged += written.unchanged;
      addUp(reasons, "duplicate_id", written.differing.length);
      for (const ride of written.differing) shifts.add(ride);
    },
    counts,
    /** When the first and the last ride of the files started; undefined: no row could be read. */
    starts: () =>
      first === undefined || last === undefined ? undefined : { first: new Date(first), last: new Date(last) },
    /** @param id of the import's record */
    result: (id: string | null, report: string | null): TripImportResult => ({
      id,
      rows,
      ...counts(),
      reasons: Object.fromEntries(reasons),
      warnings: Object.fromEntries(warnings),
      stations_created: stations,
      refused,
      skipped,
      report,
      first: instantOf(first),
      last: instantOf(last),
      time_shift: shifts.result() ?? null,
    }),
  };
}

function instantOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

function addUp<Key>(sums: Map<Key, number>, key: Key, n: number): void {
  if (n > 0) sums.set(key, (sums.get(key) ?? 0) + n);
}

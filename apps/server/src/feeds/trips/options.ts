import type { Readable } from "node:stream";
import type { Ids } from "../../ids.ts";
import type { Database } from "../../storage/db/database.ts";
import type { ReportSummary } from "../imports/report.rules.ts";
import type { Layout } from "./formats.ts";
import type { TripInput } from "./inputs.ts";
import type { ImportFileErrorReason } from "./problems.ts";
import type { TimeShift, TimeZone } from "./trip-times.rules.ts";

/** The options and dependencies of an import. */
export interface TripImportOptions {
  readonly db: Database;
  readonly systemId: string;
  /** Files, zip archives, folders of such, addresses, or `-` for standard input. */
  readonly files: readonly string[];
  readonly standardInput: Readable;
  /** The name of standard input in messages and in the import's record. Default: "standard input". */
  readonly standardInputName?: string;
  /** Bytes of text that all files may have together. Default: no limit. */
  readonly maxTextBytes?: number;
  readonly zone: TimeZone;
  /** The name of the rides' source. It is part of the ids that the import makes when a file has none. */
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** Who runs the import, for the audit log. */
  readonly actor: string;
  /** The id of the import. No other import has it. */
  readonly importId: string;
  /** True: reports the effect that the import would have, and writes nothing. */
  readonly isTrial: boolean;
  /** The path of the report, which is written if there is something to report; null: no report is written. */
  readonly reportPath: string | null;
  /**
   * The directory for temporary files. They hold the rides of two files, the one that is read and the one that is written,
   * and take as much space as these files unpacked. There are also copies of downloads, of standard input, and of archives
   * in archives.
   */
  readonly spoolDirectory: string;
  readonly onProgress: (progress: TripProgress) => void;
  /** Called with the kind and the columns of each file that is imported. */
  readonly onLayout?: (layout: Layout) => void;
  /** Called with the summary of the report at the end of an import or a trial. */
  readonly onReport?: (report: ReportSummary) => void;
  /** When it is aborted, the import finishes its current transactions and then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** How far an import is. */
export interface TripProgress {
  readonly file: string;
  readonly doing: "fetching" | "reading" | "writing";
  /** The number of rows of this file that are done. While `doing` is `fetching`: the number of bytes. */
  readonly rows: number;
  /** The completed share of the whole import, 0 to 1. */
  readonly share: number;
}

/** A file of which nothing was imported, and why. */
export interface RefusedFile {
  readonly file: string;
  /** The number of the line that shows why; null: the reason is not one line. */
  readonly row: number | null;
  readonly reason: ImportFileErrorReason;
  readonly message: string;
}

/**
 * The effect of an import, or of a trial. `rows` = `created` + `unchanged` + `rejected`. The rows of refused files are not
 * counted.
 */
export interface TripImportResult {
  /** The id of the import's record; null: nothing was recorded. */
  readonly id: string | null;
  readonly rows: number;
  readonly created: number;
  readonly unchanged: number;
  readonly rejected: number;
  /** The number of rejected rows for each reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** The number of warnings for each reason. */
  readonly warnings: Readonly<Record<string, number>>;
  readonly stations_created: number;
  /** The files that were rejected as a whole. */
  readonly refused: readonly RefusedFile[];
  /** Names of text files in folders and archives that are not trip files, such as a README. */
  readonly skipped: readonly string[];
  /** The path of the report; null: no report was written. */
  readonly report: string | null;
  /** When the first and the last ride of the files started, RFC 3339 in UTC; null: no row could be read. */
  readonly first: string | null;
  readonly last: string | null;
  /** Set when many rows were probably imported before with another time zone; null otherwise. */
  readonly time_shift: TimeShift | null;
}

/** The share of a file's import time that reading takes. Measured with 2.5 million rows. */
const READING_SHARE = 0.2;

export type ProgressMeter = ReturnType<typeof createProgressMeter>;

/** Computes the completed share of an import from the reading and the writing of all its files, weighted by their size. */
export function createProgressMeter(inputs: readonly TripInput[], onProgress: (progress: TripProgress) => void) {
  const allBytes = inputs.reduce((sum, { size }) => sum + size, 0);
  /** The completed share of each file, 0 to 1. */
  const fileShares = new Map<TripInput, number>();
  const rowsRead = new Map<TripInput, number>();
  let share = 0;
  // Sets a file's share, which never decreases.
  const advance = (input: TripInput, fileShare: number) => {
    const before = fileShares.get(input) ?? 0;
    const now = Math.min(1, Math.max(before, fileShare));
    fileShares.set(input, now);
    if (allBytes > 0) share = Math.min(1, share + ((now - before) * input.size) / allBytes);
  };
  return {
    read(input: TripInput, bytes: number, rows: number): void {
      advance(input, input.size === 0 ? 0 : READING_SHARE * (bytes / input.size));
      rowsRead.set(input, rows);
      onProgress({ file: input.name, doing: "reading", rows, share });
    },
    wrote(input: TripInput, rows: number, allRows: number): void {
      advance(input, allRows === 0 ? 1 : READING_SHARE + (1 - READING_SHARE) * (rows / allRows));
      onProgress({ file: input.name, doing: "writing", rows, share });
    },
    share: () => share,
    /** Returns how many rows of all files have been read so far. */
    rowsRead: () => [...rowsRead.values()].reduce((sum, rows) => sum + rows, 0),
    /** Counts a file that will not be written as done. */
    skip: (input: TripInput) => advance(input, 1),
  };
}

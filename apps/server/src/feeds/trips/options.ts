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
  /** What messages and the import's record call standard input; "standard input" by default. */
  readonly standardInputName?: string;
  /** Bytes of text that all files may have together. Default: as many as there are. */
  readonly maxTextBytes?: number;
  readonly zone: TimeZone;
  /** Names where the rides come from; part of the ids that files do not give. */
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** The person who runs it, for the audit log. */
  readonly actor: string;
  /** Unique among imports. */
  readonly importId: string;
  /** Report the effect of the import, and write nothing. */
  readonly isTrial: boolean;
  /** The path of the report if there is something to report; null: none is written. */
  readonly reportPath: string | null;
  /** A directory with room for the largest file, unpacked, and for all that comes from elsewhere. */
  readonly spoolDirectory: string;
  readonly onProgress: (progress: TripProgress) => void;
  /** Told the kind and the columns of each file that is read. */
  readonly onLayout?: (layout: Layout) => void;
  /** Given the first entries of the report, of a trial too. */
  readonly onReport?: (report: ReportSummary) => void;
  /** Aborted, the import ends with the signal's reason after the transactions that are under way. */
  readonly signal: AbortSignal;
}

export interface TripProgress {
  readonly file: string;
  readonly doing: "fetching" | "reading" | "writing";
  /** Rows done of this file; bytes while it is fetched. */
  readonly rows: number;
  /** The completed share of the whole import, 0 to 1. */
  readonly share: number;
}

export interface RefusedFile {
  readonly file: string;
  readonly row: number | null;
  readonly reason: ImportFileErrorReason;
  readonly message: string;
}

/**
 * The effect of an import, or of a trial. The rows of rejected files are not among its rows; `rows` = created + unchanged +
 * rejected.
 */
export interface TripImportResult {
  /** The id of the import's record; null: nothing was recorded. */
  readonly id: string | null;
  readonly rows: number;
  readonly created: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly warnings: Readonly<Record<string, number>>;
  readonly stations_created: number;
  readonly refused: readonly RefusedFile[];
  /** Texts in an archive that are no trip files, such as a README. */
  readonly skipped: readonly string[];
  readonly report: string | null;
  /** When the first and the last ride of the files started, RFC 3339 in UTC; null: no row could be read. */
  readonly first: string | null;
  readonly last: string | null;
  /** The rows that have ids of stored rides with other times, all moved alike; null: there are no such. */
  readonly time_shift: TimeShift | null;
}

/** The share of reading in the work on a file: measured at 2.5 million rows. */
const READING_SHARE = 0.2;

export type ProgressMeter = ReturnType<typeof createProgressMeter>;

/** Measures how far an import is, over the reading and the writing of all its files. */
export function createProgressMeter(inputs: readonly TripInput[], onProgress: (progress: TripProgress) => void) {
  const all = inputs.reduce((sum, { size }) => sum + size, 0);
  const done = new Map<TripInput, number>();
  const rowsRead = new Map<TripInput, number>();
  let share = 0;
  const advance = (input: TripInput, part: number) => {
    const before = done.get(input) ?? 0;
    const now = Math.min(1, Math.max(before, part));
    done.set(input, now);
    if (all > 0) share = Math.min(1, share + ((now - before) * input.size) / all);
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
    /** Returns the rows of all files so far. */
    rowsRead: () => [...rowsRead.values()].reduce((sum, rows) => sum + rows, 0),
    /** A file that will not be written. */
    skip: (input: TripInput) => advance(input, 1),
  };
}

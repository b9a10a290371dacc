import type { Database } from "../../db/database.ts";
import type { RefusalReason } from "./problems.ts";
import type { TimeZone } from "./time-zone.ts";

/** What an import is to do, and with what. */
export interface TripImport {
  readonly db: Database;
  readonly systemId: string;
  readonly files: readonly string[];
  readonly zone: TimeZone;
  /** Names where the rides come from; part of the ids that files do not give. */
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Unique among imports that run at once. */
  readonly importId: string;
  /** Where the report goes if there is something to report. */
  readonly reportPath: string;
  /** A directory with room for the largest file, unpacked. */
  readonly spoolDirectory: string;
  readonly onProgress: (progress: TripProgress) => void;
  /** Aborted, the import ends with the signal's reason after the transactions that are under way. */
  readonly signal: AbortSignal;
}

export interface TripProgress {
  readonly file: string;
  readonly doing: "reading" | "writing";
  /** Rows done, of this file. */
  readonly rows: number;
}

export interface RefusedFile {
  readonly file: string;
  readonly row: number | null;
  readonly reason: RefusalReason;
  readonly message: string;
}

/** What an import did. The rows of refused files are not among its rows; `rows` = created + unchanged + rejected. */
export interface TripImportResult {
  readonly rows: number;
  readonly created: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly warnings: Readonly<Record<string, number>>;
  readonly stations_created: number;
  readonly refused: readonly RefusedFile[];
  readonly report: string | null;
}

import { MAX_NAME_LENGTH } from "@bikeshare/contract";
import { LongLineError, OpenQuoteError, readRecords } from "@bikeshare/csv";
import type { StationSighting } from "../../city/fleet/placeholder-stations.ts";
import { columnName, type Layout, recogniseHeader } from "./formats.ts";
import type { TripInput } from "./inputs.ts";
import {
  countRowIssues,
  ImportFileError,
  type RejectReason,
  type RowProblem,
  SPREADSHEET,
  type WarningReason,
} from "./problems.ts";
import { createTripReader, type Trip, type TripEnd } from "./read-trip.rules.ts";
import type { Spool } from "./spool.ts";
import { readTripText } from "./trip-file.ts";
import { isSpreadsheetTime, type TimeZone } from "./trip-times.rules.ts";

/** A file that was read to its end without an error. */
export interface StagedFile {
  readonly rows: number;
  /** The number of rejected rows for each reason. */
  readonly rejected: ReadonlyMap<RejectReason, number>;
  /** The stations that the valid rows name. */
  readonly sightings: Sightings;
  /** The name of the column with the rides' ids; null: the file has none, and the import makes the ids. */
  readonly idColumn: string | null;
  readonly layout: Layout;
  /** When the first and the last of its rides started, milliseconds since 1970; null: no row was valid. */
  readonly starts: { readonly first: number; readonly last: number } | null;
}

/** What staging one file needs: the file, how to read it, and functions that receive its problems. */
export interface Staging {
  readonly input: TripInput;
  readonly source: string;
  readonly zone: TimeZone;
  /** Milliseconds since 1970; rides that end later are rejected. */
  readonly now: number;
  reject(row: number, problem: RowProblem): void;
  warn(reason: WarningReason, row: number, column: string, value: string): void;
  /** Called now and then with the number of bytes and rows read so far. */
  progress(bytes: number, rows: number): void;
}

/** The number of rows that are checked for damage by a spreadsheet program, when the header is unknown. */
const ROWS_TO_CHECK = 20;

/**
 * Reads a trip file to its end, and adds the rides of its valid rows to the spool.
 * @throws ImportFileError when nothing of the file may be imported
 */
export async function stageTripFile(staging: Staging, spool: Spool): Promise<StagedFile> {
  const sightings = collectSightings();
  const issues = countRowIssues();
  const damage = createDamageSearch();
  let layout: Layout | undefined;
  let first = Infinity;
  let last = -Infinity;
  let bytes = 0;
  let read: ((fields: readonly string[], row: number) => Trip | RowProblem) | undefined;
  const reject = (row: number, problem: RowProblem) => {
    issues.reject(row, problem);
    staging.reject(row, problem);
  };

  const onRead = (bytesSoFar: number) => {
    bytes = bytesSoFar;
  };
  await readRecords(readTripText(staging.input, onRead), {
    record(fields, line) {
      if (layout === undefined || read === undefined) {
        // No header was recognised yet: this is the header, or a row after a header that was rejected.
        if (damage.takesRow(fields, line)) return;
        layout = damage.readHeader(() => recogniseHeader(fields, line));
        read = layout && createTripReader({ ...staging, layout });
        return;
      }
      issues.countRow();
      const result = read(fields, line);
      if ("reason" in result) return reject(line, result);
      spool.add(result.ride);
      first = Math.min(first, result.ride.startedAt);
      last = Math.max(last, result.ride.startedAt);
      sightings.add(result.start, line, columnName(layout, "startStationId"));
      sightings.add(result.end, line, columnName(layout, "endStationId"));
    },
    // `readRecords` calls it between chunks of the text, and reads no record meanwhile.
    async pause() {
      staging.progress(bytes, issues.rows);
      await spool.writeFull();
    },
  }).catch((error: unknown) => {
    if (!(error instanceof OpenQuoteError || error instanceof LongLineError)) throw error;
    throw new ImportFileError("unparsable", error.line, error.message, { cause: error });
  });
  damage.finish();
  if (layout === undefined) throw new ImportFileError("empty", null, "the file has no header");
  issues.finish();
  await spool.finish();
  const idColumn = layout.columnIndexes.rideId === undefined ? null : columnName(layout, "rideId");
  // Without a valid row, `first` and `last` are still `Infinity` and `-Infinity`.
  const starts = first > last ? null : { first, last };
  return { rows: issues.rows, rejected: issues.rejected, sightings, idColumn, layout, starts };
}

/**
 * Searches a file with an unknown header for damage by a spreadsheet program, which adds columns and shortens times. If the
 * rows after the header show such damage, the file is rejected for it, rather than for its unknown header.
 */
function createDamageSearch() {
  let rejection: ImportFileError | undefined;
  let checked = 0;
  return {
    /** Runs `recognise`, which reads the header. Returns undefined when `recognise` rejects the header. */
    readHeader(recognise: () => Layout): Layout | undefined {
      try {
        return recognise();
      } catch (error) {
        if (!(error instanceof ImportFileError)) throw error;
        rejection = error;
        return undefined;
      }
    },
    /**
     * Checks a row after a header that was rejected.
     * @returns true for such a row; false when no header was rejected, so that the row itself may be the header
     * @throws ImportFileError when the row shows damage, or enough rows show none
     */
    takesRow(fields: readonly string[], line: number): boolean {
      if (rejection === undefined) return false;
      const ruined = fields.find((field) => isSpreadsheetTime(field.trim()));
      if (ruined !== undefined) {
        throw new ImportFileError("ruined_times", line, `"${ruined}" was a time, and ${SPREADSHEET}`, {
          cause: rejection,
        });
      }
      if (++checked === ROWS_TO_CHECK) throw rejection;
      return true;
    },
    /** Call it at the end of the file. @throws ImportFileError why the header was rejected, if it was */
    finish() {
      if (rejection !== undefined) throw rejection;
    },
  };
}

/** Copies a field. V8 may store a field as a part of a longer string, which the field would keep in memory. */
function copyOf(field: string): string {
  return Buffer.from(field).toString();
}

/** Returns a name within the rules for names that the operator writes: on one line, and of limited length. */
function nameOf(text: string): string {
  return text
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, MAX_NAME_LENGTH)
    .toWellFormed();
}

type Sightings = ReturnType<typeof collectSightings>;

/** Collects the stations that trips name, each with the name and location of the first row that has a location. */
function collectSightings() {
  const stations = new Map<string, StationSighting & { readonly row: number; readonly column: string }>();
  return {
    add({ stationId, stationName, location }: TripEnd, row: number, column: string): void {
      if (stationId === null) return;
      const before = stations.get(stationId);
      if (before !== undefined && (before.location !== null || location === null)) return;
      const id = before?.id ?? copyOf(stationId);
      const name = stationName === null ? (before?.name ?? null) : copyOf(nameOf(stationName));
      stations.set(id, { id, name, location, row: before?.row ?? row, column: before?.column ?? column });
    },
    all: (): readonly StationSighting[] => [...stations.values()],
    /** Returns the first row and column that name a station. */
    firstMention: (stationId: string) => stations.get(stationId),
  };
}

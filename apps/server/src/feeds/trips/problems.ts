import { isSpreadsheetTime } from "./trip-times.rules.ts";

/** The reason why a row was not imported. */
export type RejectReason =
  | "missing_value"
  | "bad_identifier"
  | "bad_time"
  | "bad_duration"
  | "bad_coordinate"
  | "end_before_start"
  | "ends_in_future"
  | "wrong_column_count"
  | "duplicate_id";

/** The reason for a warning about an imported row. */
export type WarningReason =
  | "unknown_station"
  | "station_without_location"
  | "duration_differs"
  | "unknown_rider_category"
  | "unknown_vehicle_type"
  | "overlapping_ride"
  | "time_never_shown"
  | "time_shown_twice";

/** The reason why a whole file was rejected. */
export type ImportFileErrorReason =
  | "unreadable"
  | "empty"
  | "not_text"
  | "broken_gzip"
  | "broken_zip"
  | "too_large"
  | "unknown_header"
  | "missing_column"
  | "extra_column"
  | "unparsable"
  | "ruined_times"
  | "day_first"
  | "wrong_column_count";

/** Why a row is not imported: the reason, the column and the value. */
export interface RowProblem {
  readonly reason: RejectReason;
  /** The column as the file names it; null: the row as a whole. */
  readonly column: string | null;
  readonly value: string | null;
}

/** A whole file is rejected, and nothing of it is imported. */
export class ImportFileError extends Error {
  override readonly name = "ImportFileError";
  readonly reason: ImportFileErrorReason;
  /** The number of the line that shows the issue, as an editor counts lines; null: the whole file has the issue. */
  readonly row: number | null;

  constructor(reason: ImportFileErrorReason, row: number | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.row = row;
  }
}

/**
 * The number of rows after which a file may be rejected as damaged. Too low: a few bad rows at the start reject a good file.
 * Too high: much of a damaged file is read in vain.
 */
const ROWS_TO_JUDGE = 1000;
/** Issues that show that the whole file is damaged if more than half of its rows have them; with the error to report. */
const FILE_ERRORS: Readonly<Partial<Record<RejectReason, ImportFileErrorReason>>> = {
  bad_time: "ruined_times",
  wrong_column_count: "wrong_column_count",
};

/** The part of an error message that explains damaged times and says what to do. */
export const SPREADSHEET =
  "a spreadsheet program removed the date and hour when it saved the file: download the file again and import it without opening it in a spreadsheet program";

/** Counts the rows of a file and their issues. */
export function countRowIssues() {
  const rejected = new Map<RejectReason, number>();
  const firstOf = new Map<RejectReason, { row: number; problem: RowProblem }>();
  let rows = 0;
  /** Throws when more than half of the rows so far have an issue that shows that the file is damaged. */
  const rejectIfDamaged = () => {
    for (const [reason, { row, problem }] of firstOf) {
      const fileError = FILE_ERRORS[reason];
      const count = rejected.get(reason) ?? 0;
      if (fileError !== undefined && count * 2 > rows)
        throw new ImportFileError(fileError, row, describeRuin(problem, count, rows));
    }
  };
  return {
    get rows() {
      return rows;
    },
    rejected: rejected as ReadonlyMap<RejectReason, number>,
    /** Call it for each row, before `reject`. @throws ImportFileError when enough rows show that the file is damaged */
    countRow(): void {
      if (rows === ROWS_TO_JUDGE) rejectIfDamaged();
      rows++;
    },
    reject(row: number, problem: RowProblem): void {
      rejected.set(problem.reason, (rejected.get(problem.reason) ?? 0) + 1);
      if (!firstOf.has(problem.reason)) firstOf.set(problem.reason, { row, problem });
    },
    /** Call it at the end of the file. @throws ImportFileError when the file is damaged */
    finish: rejectIfDamaged,
  };
}

function describeRuin({ reason, column, value }: RowProblem, count: number, rows: number): string {
  const share = `${count} of ${rows} rows`;
  if (reason === "wrong_column_count") return `${share} do not have the header's columns; the first has ${value}`;
  const cause = isSpreadsheetTime(value ?? "") ? `: ${SPREADSHEET}` : "";
  return `${share} have no readable time; the first has "${value}" in ${column}${cause}`;
}

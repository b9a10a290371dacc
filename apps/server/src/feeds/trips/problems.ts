import { isSpreadsheetTime } from "./trip-times.rules.ts";

/** Why a row was not imported. */
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

/** What was odd about a row that was imported all the same. */
export type WarningReason =
  | "unknown_station"
  | "station_without_place"
  | "duration_differs"
  | "unknown_rider_category"
  | "unknown_vehicle_type";

/** Why a whole file was refused. */
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
  | "wrong_column_count";

/** An issue of one row: where, which value, why. */
export interface RowProblem {
  readonly reason: RejectReason;
  /** The column as the file names it; null: the row as a whole. */
  readonly column: string | null;
  readonly value: string | null;
}

/** Nothing of a file can be imported. */
export class ImportFileError extends Error {
  override readonly name = "FileRefused";
  readonly reason: ImportFileErrorReason;
  /** The line, as an editor counts, that shows the issue; null: the file as a whole. */
  readonly row: number | null;

  constructor(reason: ImportFileErrorReason, row: number | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.row = row;
  }
}

/** Counts the rows of a file and their issues, and tells when it is the file that is ruined. */
export interface RowIssues {
  readonly rows: number;
  readonly rejected: ReadonlyMap<RejectReason, number>;
  /**
   * To be called for each row, before `reject`.
   * @throws FileRefused when enough rows show that the file is ruined
   */
  countRow(): void;
  reject(row: number, problem: RowProblem): void;
  /**
   * To be called at the end of the file.
   * @throws FileRefused when the file is ruined
   */
  finish(): void;
}

/**
 * Rows after which a file may be given up. A ruined file is ruined from its first row, so more would only be more
 * to read; with fewer, some bad rows at the head would cost the whole file.
 */
const ENOUGH_TO_TELL = 1000;
/** Faults that, in more than half of the rows, mean that the file is ruined and not its rows. */
const RUINOUS: Readonly<Partial<Record<RejectReason, ImportFileErrorReason>>> = {
  bad_time: "ruined_times",
  wrong_column_count: "wrong_column_count",
};

/** What happened to a file with spreadsheet times, and what to do. */
export const SPREADSHEET =
  "a spreadsheet program has cut date and hour off when it saved the file: get the file anew from where it is published and import it without opening it in a spreadsheet program";

export function countRowIssues(): RowIssues {
  const rejected = new Map<RejectReason, number>();
  const firstOf = new Map<RejectReason, { row: number; problem: RowProblem }>();
  let rows = 0;
  const finish = () => {
    for (const [reason, { row, problem }] of firstOf) {
      const refusal = RUINOUS[reason];
      const count = rejected.get(reason) ?? 0;
      if (refusal !== undefined && count * 2 > rows)
        throw new ImportFileError(refusal, row, ruin(problem, count, rows));
    }
  };
  return {
    get rows() {
      return rows;
    },
    rejected,
    countRow() {
      if (rows === ENOUGH_TO_TELL) finish();
      rows++;
    },
    reject(row, problem) {
      rejected.set(problem.reason, (rejected.get(problem.reason) ?? 0) + 1);
      if (!firstOf.has(problem.reason)) firstOf.set(problem.reason, { row, problem });
    },
    finish,
  };
}

function ruin({ reason, column, value }: RowProblem, count: number, rows: number): string {
  const share = `${count} of ${rows} rows`;
  if (reason === "wrong_column_count") return `${share} do not have the header's columns; the first has ${value}`;
  const cause = isSpreadsheetTime(value ?? "") ? `: ${SPREADSHEET}` : "";
  return `${share} have no readable time; the first has "${value}" in ${column}${cause}`;
}

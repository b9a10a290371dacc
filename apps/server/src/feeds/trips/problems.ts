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

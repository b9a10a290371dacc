import type { Spool } from "./spool.ts";
import { readRecords } from "./csv-records.ts";
import { type Layout, recogniseHeader } from "./header.ts";
import { FileRefused, type RefusalReason, type RejectReason, type RowProblem, type WarningReason } from "./problems.ts";
import { type Trip, tripReader } from "./read-trip.ts";
import { collectSightings, type Sightings } from "./sightings.ts";
import type { TimeZone } from "./time-zone.ts";
import { readTripFile } from "./trip-file.ts";
import { isSpreadsheetTime } from "./wall-clock.ts";

/** What is known of a file once it was read to its end and found sound. */
export interface StagedFile {
  readonly rows: number;
  readonly rejected: ReadonlyMap<RejectReason, number>;
  readonly sightings: Sightings;
  /** The name of the column that holds rides' ids; null where ids are made up. */
  readonly idColumn: string | null;
}

export interface Staging {
  readonly path: string;
  readonly source: string;
  readonly zone: TimeZone;
  /** Milliseconds since 1970; what ends later has not happened. */
  readonly now: number;
  reject(row: number, problem: RowProblem): void;
  warn(reason: WarningReason, row: number, column: string, value: string): void;
  /** Told now and then how many rows were read. */
  progress(rows: number): void;
}

/**
 * Rows after which a file may be given up. A ruined file is ruined from its first row, so more would only be more
 * to read; with fewer, some bad rows at the head would cost the whole file.
 */
const ENOUGH_TO_TELL = 1000;
/** Faults that, in more than half of the rows, mean that the file is ruined and not its rows. */
const RUINOUS: Readonly<Partial<Record<RejectReason, RefusalReason>>> = {
  bad_time: "ruined_times",
  wrong_column_count: "wrong_column_count",
  unparsable_row: "unparsable",
};

/**
 * Reads a trip file to its end, its good rows into the spool.
 * @throws FileRefused when nothing of the file may be imported
 */
export async function stageTripFile(staging: Staging, spool: Spool): Promise<StagedFile> {
  const sightings = collectSightings();
  const rejected = new Map<RejectReason, number>();
  const firstOf = new Map<RejectReason, { row: number; problem: RowProblem }>();
  let rows = 0;
  let layout: Layout | undefined;
  let read: ((fields: readonly string[], row: number) => Trip | RowProblem) | undefined;

  const reject = (row: number, problem: RowProblem) => {
    rejected.set(problem.reason, (rejected.get(problem.reason) ?? 0) + 1);
    if (!firstOf.has(problem.reason)) firstOf.set(problem.reason, { row, problem });
    staging.reject(row, problem);
  };
  const refuseRuined = () => {
    for (const [reason, count] of rejected) {
      const refusal = RUINOUS[reason];
      const first = firstOf.get(reason);
      if (refusal === undefined || first === undefined || count * 2 <= rows) continue;
      throw new FileRefused(refusal, first.row, ruin(first.problem, count, rows));
    }
  };
  const count = () => {
    rows++;
    if (rows === ENOUGH_TO_TELL + 1) refuseRuined();
  };

  await readRecords(readTripFile(staging.path), {
    record(fields, line) {
      if (layout === undefined || read === undefined) {
        layout = recogniseHeader(fields, line);
        read = tripReader({ ...staging, layout });
        return;
      }
      count();
      const result = read(fields, line);
      if ("reason" in result) return reject(line, result);
      spool.add(result.ride);
      sightings.add(result.start, line, columnOf(layout, "startStationId"));
      sightings.add(result.end, line, columnOf(layout, "endStationId"));
    },
    broken(line) {
      if (layout === undefined) throw new FileRefused("unparsable", line, "the header's quotes are broken");
      count();
      reject(line, { reason: "unparsable_row", column: null, value: null });
    },
    async pause() {
      staging.progress(rows);
      await spool.writeFull();
    },
  });
  if (layout === undefined) throw new FileRefused("empty", null, "the file has no header");
  refuseRuined();
  await spool.finish();
  return { rows, rejected, sightings, idColumn: layout.places.rideId === undefined ? null : columnOf(layout, "rideId") };
}

function columnOf(layout: Layout, field: "rideId" | "startStationId" | "endStationId"): string {
  return layout.names[layout.places[field] ?? -1] ?? field;
}

function ruin({ reason, column, value }: RowProblem, count: number, rows: number): string {
  const share = `${count} of ${rows} rows`;
  if (reason === "unparsable_row") return `${share} have broken quotes`;
  if (reason === "wrong_column_count") return `${share} do not have the header's columns; the first has ${value}`;
  const cause = isSpreadsheetTime(value ?? "") ? "; a spreadsheet program has cut date and hour off" : "";
  return `${share} have no readable time; the first has "${value}" in ${column}${cause}`;
}

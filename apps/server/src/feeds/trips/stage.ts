import { readRecords } from "./csv-records.ts";
import { type Layout, recogniseHeader } from "./header.ts";
import { FileRefused, type RejectReason, type RowProblem, type WarningReason } from "./problems.ts";
import { type Trip, tripReader } from "./read-trip.ts";
import { countRowFaults } from "./row-faults.ts";
import { collectSightings, type Sightings } from "./sightings.ts";
import type { Spool } from "./spool.ts";
import type { TimeZone } from "./time-zone.ts";
import { readTripFile } from "./trip-file.ts";

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
 * Reads a trip file to its end, its good rows into the spool.
 * @throws FileRefused when nothing of the file may be imported
 */
export async function stageTripFile(staging: Staging, spool: Spool): Promise<StagedFile> {
  const sightings = collectSightings();
  const faults = countRowFaults();
  let layout: Layout | undefined;
  let read: ((fields: readonly string[], row: number) => Trip | RowProblem) | undefined;
  const reject = (row: number, problem: RowProblem) => {
    faults.reject(row, problem);
    staging.reject(row, problem);
  };

  await readRecords(readTripFile(staging.path), {
    record(fields, line) {
      if (layout === undefined || read === undefined) {
        layout = recogniseHeader(fields, line);
        read = tripReader({ ...staging, layout });
        return;
      }
      faults.countRow();
      const result = read(fields, line);
      if ("reason" in result) return reject(line, result);
      spool.add(result.ride);
      sightings.add(result.start, line, columnOf(layout, "startStationId"));
      sightings.add(result.end, line, columnOf(layout, "endStationId"));
    },
    async pause() {
      staging.progress(faults.rows);
      await spool.writeFull();
    },
  });
  if (layout === undefined) throw new FileRefused("empty", null, "the file has no header");
  faults.finish();
  await spool.finish();
  const idColumn = layout.places.rideId === undefined ? null : columnOf(layout, "rideId");
  return { rows: faults.rows, rejected: faults.rejected, sightings, idColumn };
}

function columnOf(layout: Layout, field: "rideId" | "startStationId" | "endStationId"): string {
  return layout.names[layout.places[field] ?? -1] ?? field;
}

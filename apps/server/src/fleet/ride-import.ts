import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { COUNTABLE_FROM_SECONDS } from "@bikeshare/contract";
import { changeRideCounts } from "../counts/service.ts";
import type { Database, Queryable } from "../db/database.ts";
import { addToImport, noteOverlaps } from "../imports/service.ts";
import {
  truncatePastRides,
  type DifferingRide,
  findHeldOrTriedRides,
  findHeldRides,
  type HourOfRides,
  insertRides,
  insertTriedRides,
  copyIntoPastRides,
  type PastRideColumn,
  PAST_RIDE_COLUMNS,
  createPastRidesTable,
  createTrialRidesTable,
  countUntouchedRides,
  deleteUntouchedRides,
  type ImportedRides,
  listChangedRides,
  listUntouchedRides,
  type RideMark,
} from "./ride-import-queries.ts";

export type { DifferingRide, ImportedRides } from "./ride-import-queries.ts";

/** A ride that was over before we heard of it. */
export interface PastRide {
  /** Its line in the file it comes from. */
  readonly row: number;
  readonly id: string;
  readonly bikeId: string;
  readonly startStationId: string | null;
  readonly endStationId: string | null;
  /** Milliseconds since 1970; the end is not before the start. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly durationSeconds: number;
  readonly vehicleTypeId: string | null;
  readonly riderCategory: "member" | "casual" | null;
  readonly endReason: "returned" | "free_floating" | null;
}

/** What became of a batch of past rides. */
export interface PastRidesWritten {
  readonly created: number;
  /** Rides that were there already, the same in every field that a trip file has. */
  readonly unchanged: number;
  /** Rows whose id belongs to another ride, which was left as it is. */
  readonly differing: readonly DifferingRide[];
}

export interface PastRidesOrder {
  readonly systemId: string;
  /** The import that is under way; null: the rides come from none. */
  readonly importId: string | null;
  readonly source: string;
  /** RFC 3339. */
  readonly updatedAt: string;
  /** Which slot of the counts to use. */
  readonly slot: number;
}

const HOUR_MS = 3_600_000;

/**
 * Writes past rides, with the counts and the import's record, in one transaction. Makes no events. Of several rows with
 * one id, the first wins. Two calls at the same time must not have an id in common, or which row wins is left to chance.
 * @param lines opens the rides as `pastRideLine` writes them; opened again when the transaction has to be repeated
 * @param rows how many lines there are
 * @throws ImportUndone
 */
export function writePastRides(
  db: Database,
  { systemId, importId, source, updatedAt, slot }: PastRidesOrder,
  lines: () => Readable,
  rows: number,
): Promise<PastRidesWritten> {
  return db.transaction(async (tx) => {
    await createPastRidesTable(tx);
    await pipeline(lines(), await copyIntoPastRides(tx));
    const hours = await insertRides(tx, systemId, {
      source,
      updatedAt,
      countableFrom: COUNTABLE_FROM_SECONDS,
      importId,
    });
    const created = hours.reduce((sum, { n }) => sum + n, 0);
    const { differing, sameImports } =
      created === rows ? { differing: [], sameImports: [] } : await findHeldRides(tx, systemId, importId);
    const unchanged = rows - created - differing.length;
    if (importId !== null) {
      if (sameImports.length > 0) await noteOverlaps(tx, systemId, importId, sameImports);
      const progress = { created, unchanged, rejected: differing.length, starts: startsOf(hours) };
      await addToImport(tx, systemId, importId, progress);
    }
    changeRideCounts(tx, systemId, slot, new Map(hours.map(({ hour, n }) => [hour * HOUR_MS, n])));
    return { created, unchanged, differing };
  });
}

/** When the first and the last ride started. */
function startsOf(hours: readonly HourOfRides[]): { first: Date; last: Date } | null {
  if (hours.length === 0) return null;
  const instants = hours.flatMap(({ first, last }) => [first.getTime(), last.getTime()]);
  return { first: new Date(Math.min(...instants)), last: new Date(Math.max(...instants)) };
}

/** The fields of a line, one for each column. */
const fields: Readonly<Record<PastRideColumn, (ride: PastRide) => string>> = {
  row: ({ row }) => String(row),
  id: ({ id }) => text(id),
  bike_id: ({ bikeId }) => text(bikeId),
  start_station_id: ({ startStationId }) => text(startStationId),
  end_station_id: ({ endStationId }) => text(endStationId),
  started_at: ({ startedAt }) => new Date(startedAt).toISOString(),
  ended_at: ({ endedAt }) => new Date(endedAt).toISOString(),
  duration_seconds: ({ durationSeconds }) => String(durationSeconds),
  vehicle_type_id: ({ vehicleTypeId }) => text(vehicleTypeId),
  rider_category: ({ riderCategory }) => text(riderCategory),
  end_reason: ({ endReason }) => text(endReason),
};
const fieldsInOrder = PAST_RIDE_COLUMNS.map((name) => fields[name]);

/** One past ride as a line of `copy`'s text format. */
export function pastRideLine(ride: PastRide): string {
  let line = "";
  for (const field of fieldsInOrder) line += `${line === "" ? "" : "\t"}${field(ride)}`;
  return `${line}\n`;
}

/** A value as `copy` takes it. Identifiers have no control characters, so only the backslash needs care. */
function text(value: string | null): string {
  if (value === null) return "\\N";
  return value.includes("\\") ? value.replaceAll("\\", "\\\\") : value;
}

/** Says what writing past rides would do. One call after the other. */
export type TryPastRides = (lines: () => Readable, rows: number) => Promise<PastRidesWritten>;

/**
 * Tries past rides without writing any: what was tried before counts as if it had been written. It is set aside in a
 * temporary table, so the database needs room for it until `work` is done.
 */
export function tryPastRides<Result>(
  db: Database,
  systemId: string,
  work: (tryBatch: TryPastRides) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await createPastRidesTable(tx);
    await createTrialRidesTable(tx);
    return work(async (lines, rows) => {
      await truncatePastRides(tx);
      await pipeline(lines(), await copyIntoPastRides(tx));
      const hours = await insertTriedRides(tx, systemId);
      const created = hours.reduce((sum, { n }) => sum + n, 0);
      const { differing } = created === rows ? { differing: [] } : await findHeldOrTriedRides(tx, systemId);
      return { created, unchanged: rows - created - differing.length, differing };
    });
  });
}

/** Rides deleted in one transaction: more keep others from the counts for longer, fewer commit more often. */
const BATCH_ROWS = 20_000;
/** Ids that are shown of rides that were changed. */
const SHOWN = 3;

/** How many of an import's rides are not any more as it wrote them (`made` were), and some of their ids. */
export async function changedSince(
  db: Queryable,
  rides: ImportedRides,
  made: number,
): Promise<{ readonly n: number; readonly examples: readonly string[] }> {
  const n = made - (await countUntouchedRides(db, rides));
  return { n, examples: n === 0 ? [] : await listChangedRides(db, rides, SHOWN) };
}

/**
 * Deletes an import's rides that are as it wrote them, with their counts, in transactions of a bounded size. Makes no
 * events. Cut off, it is completed by calling it again.
 * @param slot gives a slot of the counts for each transaction
 * @param onProgress called with how many it has deleted; what it throws ends the deletion between two transactions
 * @param batchRows rides in one transaction
 * @returns how many it deleted
 */
export async function deletePastRides(
  db: Database,
  rides: ImportedRides,
  slot: () => number,
  onProgress: (deleted: number) => void,
  batchRows = BATCH_ROWS,
): Promise<number> {
  let deleted = 0;
  let after: RideMark | undefined;
  for (;;) {
    const batch = await listUntouchedRides(db, rides, after, batchRows);
    after = batch.at(-1);
    if (after === undefined) return deleted;
    const ids = batch.map(({ id }) => id);
    deleted += await db.transaction(async (tx) => {
      const hours = await deleteUntouchedRides(tx, rides, ids);
      changeRideCounts(tx, rides.systemId, slot(), new Map(hours.map(({ hour, n }) => [hour * HOUR_MS, -n])));
      return hours.reduce((sum, { n }) => sum + n, 0);
    });
    onProgress(deleted);
  }
}

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { COUNTABLE_FROM_SECONDS } from "@bikeshare/contract";
import { addToImport, noteOverlaps } from "../../feeds/imports/service.ts";
import { isoInstant } from "../../iso-instant.ts";
import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import { codeOf, sqlState } from "../../storage/db/errors.ts";
import { recordDeletedRows } from "../changes/service.ts";
import { countRides } from "../counts/service.ts";
import { markHoursOfRides } from "../history/sum-marks.ts";
import {
  copyIntoPastRides,
  copyIntoRides,
  countUntouchedRides,
  createPastRidesTable,
  createTriedRidesTable,
  deleteUntouchedRides,
  findHeldOrTriedRides,
  findHeldRides,
  findImportOverlaps,
  type HeldRides,
  type ImportedRides,
  type ImportOverlaps,
  insertMissingRides,
  insertTriedRides,
  listChangedRides,
  listUntouchedRides,
  type RidePosition,
  truncatePastRides,
} from "./ride-queries.ts";

/*
 * Writes past rides of imports in bulk, tries what an import would write, and deletes the rides of an import that is undone.
 * Each also updates the stored counts of rides, in one slot (city/counts).
 */

/** A ride that had ended before the service learned of it, as it is written in bulk. */
export interface PastRide {
  /** The number of its line in its file. */
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

/** The properties that the rides of one import have in common. */
export interface RideOrigin {
  readonly systemId: string;
  /** The import that is under way; null: the rides come from no import. */
  readonly importId: string | null;
  readonly source: string;
  /** RFC 3339. */
  readonly updatedAt: string;
}

/** Past rides that are written in one transaction. */
export interface PastRideBatch {
  /** How many rides. */
  readonly rows: number;
  /** Opens a stream of the rides as lines of `pastRideLines`. Called again when a transaction has to be repeated. */
  readonly lines: () => Readable;
  /** Reads the `row` and the `startedAt` of each line. */
  readonly marks: () => Promise<RideMarks>;
}

/** The `row` and the `startedAt` (milliseconds since 1970) of each ride of a batch, in the order of its lines. */
export interface RideMarks {
  readonly rowNumbers: ArrayLike<number>;
  readonly starts: Iterable<number>;
}

/** The outcome of writing a batch of past rides. */
export interface PastRidesWritten {
  readonly created: number;
  /** The number of rides that were stored already, equal in every field that a trip file has. */
  readonly unchanged: number;
  /** Rows whose id belongs to a different stored ride. The stored ride does not change. */
  readonly differing: readonly DifferingRide[];
}

/** A past ride whose id belongs to a ride that is not the same. */
export type DifferingRide = Omit<HeldRides["differing"][number], "number"> & { readonly row: number };

/**
 * Writes past rides, with the counts and the import's record, in one transaction. Records no events. Of several rows with
 * one id, the first wins. Concurrent calls must not have an id in common, because either call's row could win.
 * @param slot the slot of the stored counts to add to (`pickSlot`)
 * @param areNew whether all ids are expected to be free. Then the rides are copied straight into the table, at two thirds of
 *   the cost. If an id is taken after all, the rides are compared with the stored rides instead
 * @throws ImportUndone
 */
export async function writePastRides(
  db: Database,
  origin: RideOrigin,
  batch: PastRideBatch,
  slot: number,
  areNew: boolean,
): Promise<PastRidesWritten> {
  if (areNew) {
    try {
      return await db.transaction((tx) => insertNew(tx, origin, batch, slot));
    } catch (error) {
      if (codeOf(error) !== sqlState.uniqueViolation) throw error;
    }
  }
  return db.transaction((tx) => insertMissing(tx, origin, batch, slot));
}

/** Copies rides straight into the table. @throws the database's error `uniqueViolation` when an id is taken */
async function insertNew(
  tx: Transaction,
  origin: RideOrigin,
  batch: PastRideBatch,
  slot: number,
): Promise<PastRidesWritten> {
  await tx.liftStatementTimeout();
  await pipeline(batch.lines(), await copyIntoRides(tx));
  const { starts } = await batch.marks();
  const written = { created: batch.rows, unchanged: 0, differing: [] };
  await recordWritten(tx, origin, written, starts, slot);
  return written;
}

/** Inserts the rides whose ids are free, and compares the others with the stored rides. */
async function insertMissing(
  tx: Transaction,
  origin: RideOrigin,
  batch: PastRideBatch,
  slot: number,
): Promise<PastRidesWritten> {
  const { systemId, importId } = origin;
  await tx.liftStatementTimeout();
  await createPastRidesTable(tx);
  await pipeline(batch.lines(), await copyIntoPastRides(tx));
  const starts = await insertMissingRides(tx);
  const held = starts.length === batch.rows ? NOTHING_HELD : await findHeldRides(tx, systemId, importId);
  const written = await describeWritten(batch, starts.length, held);
  if (importId !== null && held.sameImports.length > 0) await noteOverlaps(tx, systemId, importId, held.sameImports);
  await recordWritten(tx, origin, written, starts, slot);
  return written;
}

const NOTHING_HELD: HeldRides = { differing: [], sameImports: [] };

/** Returns the outcome of writing or trying a batch. Finds the rows of differing rides by their lines' numbers, from 1. */
async function describeWritten(batch: PastRideBatch, created: number, held: HeldRides): Promise<PastRidesWritten> {
  const unchanged = batch.rows - created - held.differing.length;
  if (held.differing.length === 0) return { created, unchanged, differing: [] };
  const { rowNumbers } = await batch.marks();
  return {
    created,
    unchanged,
    differing: held.differing.map((ride) => ({ ...ride, row: rowNumbers[ride.number - 1] ?? 0 })),
  };
}

/** Records what was written. Runs last in the transaction, because others wait for its locks of the import and counts. */
async function recordWritten(
  tx: Transaction,
  { systemId, importId }: RideOrigin,
  { created, unchanged, differing }: PastRidesWritten,
  starts: Iterable<number>,
  slot: number,
): Promise<void> {
  if (importId !== null) {
    const progress = { created, unchanged, rejected: differing.length, starts: firstAndLast(starts) };
    await addToImport(tx, systemId, importId, progress);
  }
  countRides(tx, systemId, slot, { inserted: starts });
}

/** Returns the earliest and the latest start; null: there are none. */
function firstAndLast(starts: Iterable<number>): { first: Date; last: Date } | null {
  let first = Infinity;
  let last = -Infinity;
  for (const start of starts) {
    first = Math.min(first, start);
    last = Math.max(last, start);
  }
  return first > last ? null : { first: new Date(first), last: new Date(last) };
}

/** Makes the function that writes a past ride as a line of `copy`'s text format. */
export function pastRideLines({ systemId, importId, source, updatedAt }: RideOrigin): (ride: PastRide) => string {
  const shared = [systemId, "completed", source, importId, updatedAt].map(text).join("\t");
  // In the order of `lineColumns` in `ride-queries.ts`.
  return (ride) =>
    `${shared}\t${text(ride.id)}\t${text(ride.bikeId)}\t${text(ride.startStationId)}\t${text(ride.endStationId)}` +
    `\t${isoInstant(ride.startedAt)}\t${isoInstant(ride.endedAt)}\t${ride.durationSeconds}\t${text(ride.vehicleTypeId)}` +
    `\t${text(ride.riderCategory)}\t${text(ride.endReason)}\t${ride.durationSeconds >= COUNTABLE_FROM_SECONDS}\n`;
}

/** Returns a value as `copy` takes it. Identifiers have no control characters, so only the backslash needs care. */
function text(value: string | null): string {
  if (value === null) return "\\N";
  return value.includes("\\") ? value.replaceAll("\\", "\\\\") : value;
}

/** Returns a batch of rides that are in memory. */
export function batchOf(origin: RideOrigin, rides: readonly PastRide[]): PastRideBatch {
  const lines = Buffer.from(rides.map(pastRideLines(origin)).join(""));
  const marks = { rowNumbers: rides.map(({ row }) => row), starts: rides.map(({ startedAt }) => startedAt) };
  return { rows: rides.length, lines: () => Readable.from([lines]), marks: () => Promise.resolve(marks) };
}

/** Returns the effect that writing past rides would have. Calls must not overlap. */
export type TryPastRides = (batch: PastRideBatch) => Promise<PastRidesWritten>;

/**
 * Finds out what writing past rides would do, without writing any. Rides of earlier batches count as written. They are kept
 * in a temporary table, which needs disk space until `work` ends.
 */
export function tryPastRides<Result>(
  db: Database,
  systemId: string,
  work: (tryBatch: TryPastRides) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.liftStatementTimeout();
    await createPastRidesTable(tx);
    await createTriedRidesTable(tx);
    return work(async (batch) => {
      await truncatePastRides(tx);
      await pipeline(batch.lines(), await copyIntoPastRides(tx));
      const created = await insertTriedRides(tx, systemId);
      const held = created === batch.rows ? NOTHING_HELD : await findHeldOrTriedRides(tx, systemId);
      return describeWritten(batch, created, held);
    });
  });
}

/**
 * Finds the rides of an import that overlap with other rides of their bikes.
 * @param times when the import's first and last rides start
 */
export function listImportOverlaps(
  db: Database,
  systemId: string,
  importId: string,
  times: { readonly first: Date; readonly last: Date },
): Promise<ImportOverlaps> {
  return db.transaction(async (tx) => {
    await tx.liftStatementTimeout();
    return findImportOverlaps(tx, systemId, importId, times);
  });
}

export type { ImportedRides } from "./ride-queries.ts";

/** Rides deleted in one transaction. Too low: commits often. Too high: keeps others waiting for the counts' locks. */
const BATCH_ROWS = 20_000;
/** Maximum number of ids that `changedSince` returns. */
const SHOWN = 3;

/** Returns how many of an import's `made` rides were changed or deleted since it wrote them, and the ids of some changed. */
export async function changedSince(
  db: Queryable,
  rides: ImportedRides,
  made: number,
): Promise<{ readonly n: number; readonly examples: readonly string[] }> {
  const n = made - (await countUntouchedRides(db, rides));
  return { n, examples: n === 0 ? [] : await listChangedRides(db, rides, SHOWN) };
}

/** Options of deleting an import's rides. */
interface RideDeletion {
  /** Called once in each transaction, to choose a slot of the stored counts (`pickSlot`). */
  readonly slot: () => number;
  /** Called in each transaction with how many rides it deletes. */
  readonly record: (tx: Transaction, rides: number) => Promise<void>;
  /** Called after each transaction with the number of rides deleted so far; an error from it ends the deletion. */
  readonly onProgress: (deleted: number) => void;
  /** Maximum number of rides in one transaction. Default: `BATCH_ROWS`. */
  readonly batchRows?: number | undefined;
}

/**
 * Deletes the rides that have not changed since the import wrote them, and updates the counts, in transactions of a bounded
 * size. Records no events. After an interruption, call it again to delete the rest.
 * @returns how many rides it deleted
 */
export async function deletePastRides(
  db: Database,
  rides: ImportedRides,
  { slot, record, onProgress, batchRows = BATCH_ROWS }: RideDeletion,
): Promise<number> {
  let deleted = 0;
  let after: RidePosition | undefined;
  for (;;) {
    const batch = await listUntouchedRides(db, rides, after, batchRows);
    after = batch.at(-1);
    if (after === undefined) return deleted;
    const ids = batch.map(({ id }) => id);
    deleted += await db.transaction(async (tx) => {
      const gone = await deleteUntouchedRides(tx, rides, ids);
      if (gone.length > 0) await recordDeletedRows(tx, rides.systemId, "rides");
      await record(tx, gone.length);
      markHoursOfRides(tx, rides.systemId, gone);
      countRides(tx, rides.systemId, slot(), { deleted: gone.map((ride) => ride.started_at) });
      return gone.length;
    });
    onProgress(deleted);
  }
}

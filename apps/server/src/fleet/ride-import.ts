import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { COUNTABLE_FROM_SECONDS } from "@bikeshare/contract";
import { changeRideCounts } from "../counts/service.ts";
import type { Database } from "../db/database.ts";
import { addToImport, noteOverlaps } from "../imports/service.ts";
import {
  type DifferingRide,
  findHeldRides,
  type HourOfRides,
  insertRides,
  openPastRides,
  preparePastRides,
} from "./ride-import-queries.ts";

export type { DifferingRide } from "./ride-import-queries.ts";

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

const HOUR = 3_600_000;

/**
 * Writes past rides, with the counts and the import's record, in one transaction. Makes no events. Of several rows with
 * one id, the first wins. Two calls at the same time must not have an id in common, or which row wins is left to chance.
 * @param lines opens the rides as `pastRideLine` writes them; opened again when the transaction has to be repeated
 * @param rows how many lines there are
 * @throws ImportTakenBack
 */
export function writePastRides(
  db: Database,
  { systemId, importId, source, updatedAt, slot }: PastRidesOrder,
  lines: () => Readable,
  rows: number,
): Promise<PastRidesWritten> {
  return db.transaction(async (tx) => {
    await preparePastRides(tx);
    await pipeline(lines(), openPastRides(tx));
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
    await changeRideCounts(tx, systemId, slot, new Map(hours.map(({ hour, n }) => [hour * HOUR, n])));
    return { created, unchanged, differing };
  });
}

/** When the first and the last ride started. */
function startsOf(hours: readonly HourOfRides[]): { first: Date; last: Date } | null {
  if (hours.length === 0) return null;
  const instants = hours.flatMap(({ first, last }) => [first.getTime(), last.getTime()]);
  return { first: new Date(Math.min(...instants)), last: new Date(Math.max(...instants)) };
}

/** One past ride as a line of `copy`'s text format. */
export function pastRideLine(ride: PastRide): string {
  return `${ride.row}\t${text(ride.id)}\t${text(ride.bikeId)}\t${text(ride.startStationId)}\t${text(ride.endStationId)}\t${new Date(ride.startedAt).toISOString()}\t${new Date(ride.endedAt).toISOString()}\t${ride.durationSeconds}\t${text(ride.vehicleTypeId)}\t${text(ride.riderCategory)}\t${text(ride.endReason)}\n`;
}

/** A value as `copy` takes it. Identifiers have no control characters, so only the backslash needs care. */
function text(value: string | null): string {
  if (value === null) return "\\N";
  return value.includes("\\") ? value.replaceAll("\\", "\\\\") : value;
}

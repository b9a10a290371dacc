import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { countRides } from "../counts/service.ts";
import type { Database } from "../db/database.ts";
import { findDifferingRides, insertRides, openPastRides, preparePastRides } from "./import-queries.ts";

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
  readonly differing: readonly { readonly row: number; readonly id: string }[];
}

export interface PastRidesOrder {
  readonly systemId: string;
  readonly source: string;
  /** RFC 3339. */
  readonly updatedAt: string;
  /** Which slot of the counts to use. */
  readonly slot: number;
}

/** Seconds from which a ride counts: MDS takes shorter ones for a bike that was tried and put back. */
const COUNTABLE_FROM = 60;
const HOUR = 3_600_000;

/**
 * Writes past rides, with the counts, in one transaction. Makes no events. Of several rows with one id, the first
 * wins. Two calls at the same time must not have an id in common, or which row wins is left to chance.
 * @param lines rides as `pastRideLine` writes them
 * @param rows how many lines there are
 */
export function writePastRides(
  db: Database,
  { systemId, source, updatedAt, slot }: PastRidesOrder,
  lines: Buffer,
  rows: number,
): Promise<PastRidesWritten> {
  return db.transaction(async (tx) => {
    await preparePastRides(tx);
    await pipeline(Readable.from([lines]), openPastRides(tx));
    const hours = await insertRides(tx, systemId, { source, updatedAt, countableFrom: COUNTABLE_FROM });
    const created = hours.reduce((sum, { n }) => sum + n, 0);
    const differing = created === rows ? [] : await findDifferingRides(tx, systemId);
    await countRides(tx, systemId, slot, startTimes(hours));
    return { created, unchanged: rows - created - differing.length, differing };
  });
}

function* startTimes(hours: readonly { hour: number; n: number }[]): Iterable<Date> {
  for (const { hour, n } of hours) {
    const start = new Date(hour * HOUR);
    for (let ride = 0; ride < n; ride++) yield start;
  }
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

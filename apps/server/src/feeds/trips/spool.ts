import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";

import { type PastRide, pastRideLine } from "../../rides/import.ts";

/** Rides that are written in one transaction, one after the other, in the order of the file. */
export interface Batch {
  readonly rows: number;
  /** The lines for `copy`. */
  read(): Promise<Buffer>;
}

/**
 * A file's rides on disk, between the reading of the whole file and the writing of its first ride: memory stays
 * the same however long the file is, and nothing is in the database before the file is known to be sound.
 */
export interface Spool {
  add(ride: PastRide): void;
  /** Writes full batches away; to be called now and then. */
  writeFull(): Promise<void>;
  /** Writes the rest away. */
  finish(): Promise<void>;
  /** Each lane's batches. All rows with one ride id are in one lane, so lanes may be written at the same time. */
  readonly lanes: readonly (readonly Batch[])[];
  close(): Promise<void>;
}

/** Connections that write at once. One more per core of the database's machine helps, until the disk is full. */
const LANES = 2;
/**
 * Rides in one transaction. With fewer, commits and counts cost more than the rows; with more, memory grows (about
 * 4 MB each) and a second run has more to look up again after a crash.
 */
const BATCH_ROWS = 20_000;

/** Opens a spool in a directory, which is made when it is missing. The file has no name: a crash leaves nothing. */
export async function openSpool(directory: string, name: string): Promise<Spool> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, `${name}.spool`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  const pending: string[][] = Array.from({ length: LANES }, () => []);
  const lanes: Batch[][] = Array.from({ length: LANES }, () => []);
  let end = 0;

  const write = async (lane: number) => {
    const lines = pending[lane] ?? [];
    if (lines.length === 0) return;
    pending[lane] = [];
    const bytes = Buffer.from(lines.join(""));
    const { length } = bytes;
    const start = end;
    end += length;
    const { bytesWritten } = await file.write(bytes, 0, length, start);
    if (bytesWritten < length) throw new Error(`the disk took only ${bytesWritten} of ${length} bytes (${directory})`);
    const read = async () => {
      const chunk = Buffer.allocUnsafe(length);
      await file.read(chunk, 0, chunk.length, start);
      return chunk;
    };
    lanes[lane]?.push({ rows: lines.length, read });
  };

  return {
    lanes,
    add: (ride) => pending[laneOf(ride.id)]?.push(pastRideLine(ride)),
    async writeFull() {
      for (const [lane, lines] of pending.entries()) if (lines.length >= BATCH_ROWS) await write(lane);
    },
    async finish() {
      for (const lane of pending.keys()) await write(lane);
    },
    close: () => file.close(),
  };
}

function laneOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0;
  // The low bits of this hash are those of the last character alone.
  return ((hash ^ (hash >>> 15)) & 0x7fffffff) % LANES;
}

import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import {
  type PastRide,
  type PastRideBatch,
  pastRideLines,
  type RideMarks,
  type RideOrigin,
} from "../../city/fleet/ride-import.ts";

/**
 * Keeps the rides of a trip file on disk until the whole file has been read. So an import needs the same memory for a file
 * of any length, and writes nothing to the database before the file is known to be valid.
 */
export interface Spool {
  add(ride: PastRide): void;
  /** Writes full batches to disk. To be called now and then. No ride may be added meanwhile: the buffers are in use. */
  writeFull(): Promise<void>;
  /** Writes the remaining rides to disk. */
  finish(): Promise<void>;
  /** Each lane's batches. All rows with one ride id are in one lane, so lanes may be written at the same time. */
  readonly lanes: readonly (readonly PastRideBatch[])[];
  close(): Promise<void>;
}

/** Batches of a file that are written to the database at the same time, each on its own connection. */
const LANES = 2;
/**
 * Rides after which a lane's buffer becomes a batch, which is written in one transaction. Too low: commits and counters cost
 * more than the rows. Too high: needs more memory (about 4 MB for each batch), and a second run after a crash has more
 * rides to look up again.
 */
const BATCH_ROWS = 20_000;

/** The initial buffer of a lane, in bytes: the size of BATCH_ROWS rides in most files. */
const LANE_BYTES = 4 * 1024 * 1024;
/** UTF-8 takes at most three bytes for each UTF-16 code unit of a JavaScript string. */
const MOST_BYTES_PER_UNIT = 3;

/**
 * Opens a spool in a directory, which is created if it is missing. The spool's file has no name in the directory, so the
 * system deletes it when the process ends.
 */
export async function openSpool(directory: string, name: string, origin: RideOrigin): Promise<Spool> {
  makeDirectory(directory);
  const path = join(directory, `${name}.spool`);
  const file = await open(path, "wx+", 0o600);
  // Removes only the name: the file stays until it is closed.
  await rm(path);
  const lineOf = pastRideLines(origin);
  const lanes = Array.from({ length: LANES }, (): Lane => ({ ...emptyLane(), bytes: Buffer.alloc(0), batches: [] }));
  let end = 0;

  const write = async (lane: Lane) => {
    const { used, rows } = lane;
    if (rows.length === 0) return;
    const start = end;
    const marksAt = start + used;
    // After the lines of a batch come its marks (`RideMarks`): the numbers of its rows, then the starts of its rides.
    const marks = Buffer.from(Float64Array.from([...rows, ...lane.starts]).buffer);
    end = marksAt + marks.length;
    Object.assign(lane, emptyLane());
    await writeAt(file, start, lane.bytes.subarray(0, used));
    await writeAt(file, marksAt, marks);
    lane.batches.push({
      rows: rows.length,
      lines: () => readRange(file, start, marksAt),
      marks: () => readMarks(file, marksAt, rows.length),
    });
  };

  return {
    lanes: lanes.map(({ batches }) => batches),
    add(ride) {
      const lane = lanes[laneOf(ride.id)];
      if (lane !== undefined) append(lane, ride, lineOf(ride));
    },
    async writeFull() {
      for (const lane of lanes) if (lane.rows.length >= BATCH_ROWS) await write(lane);
    },
    async finish() {
      for (const lane of lanes) {
        await write(lane);
        lane.bytes = Buffer.alloc(0);
      }
    },
    close: () => file.close(),
  };
}

/** Rides that are written to the database in order: those that are not on disk yet, and the batches on disk. */
interface Lane {
  /**
   * The rides that are not on disk yet, each as a line for PostgreSQL's `copy` (`pastRideLines`). Only the first `used`
   * bytes are filled.
   */
  bytes: Buffer;
  used: number;
  /** For each of these rides, the number of its line in the trip file. */
  rows: number[];
  /** For each of these rides, its start in milliseconds since 1970. */
  starts: number[];
  readonly batches: PastRideBatch[];
}

function emptyLane(): Pick<Lane, "used" | "rows" | "starts"> {
  return { used: 0, rows: [], starts: [] };
}

/**
 * Adds a ride to a lane. Writes its line into a buffer at once: as strings, the lines of a batch would live long enough to
 * be moved to the old generation of V8's memory, and would take four times as much of it.
 */
function append(lane: Lane, { row, startedAt }: PastRide, line: string): void {
  const needed = lane.used + line.length * MOST_BYTES_PER_UNIT;
  if (needed > lane.bytes.length) {
    const larger = Buffer.allocUnsafe(Math.max(LANE_BYTES, 2 * lane.bytes.length, needed));
    lane.bytes.copy(larger, 0, 0, lane.used);
    lane.bytes = larger;
  }
  lane.used += lane.bytes.write(line, lane.used);
  lane.rows.push(row);
  lane.starts.push(startedAt);
}

/** Returns the index of the lane for a ride id. */
function laneOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0;
  // Mixes high bits into the low bits, because the lowest bits of this hash hardly depend on the earlier characters.
  return ((hash ^ (hash >>> 15)) & 0x7fffffff) % LANES;
}

/** Writes all bytes. Repeats a partial write: a disk that fills up first takes a part, and only the next write fails. */
export async function writeAt(file: Pick<FileHandle, "write">, position: number, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
  }
}

async function readMarks(file: FileHandle, position: number, rows: number): Promise<RideMarks> {
  const marks = new Float64Array(2 * rows);
  const { bytesRead } = await file.read(marks, 0, marks.byteLength, position);
  if (bytesRead < marks.byteLength) throw cutOff();
  return { rowNumbers: marks.subarray(0, rows), starts: marks.subarray(rows) };
}

/** Bytes of one read. Too low: costs more calls. Too high: buffers fill the memory until the garbage collector runs. */
const CHUNK_BYTES = 128 * 1024;

/**
 * Returns a part of a file as a stream. The file stays open even when the stream is destroyed. A stream made by Node's
 * `createReadStream` would close the file then.
 * @param start the first byte
 * @param end the byte after the last
 */
export function readRange(file: FileHandle, start: number, end: number): Readable {
  return Readable.from(readChunks(file, start, end), { objectMode: false });
}

async function* readChunks(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer, void, undefined> {
  for (let position = start; position < end;) {
    const piece = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - position));
    const { bytesRead } = await file.read(piece, 0, piece.length, position);
    if (bytesRead === 0) throw cutOff();
    position += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

function cutOff(): Error {
  return new Error("a file of ours ends before its end");
}

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
  readonly lanes: readonly (readonly PastRideBatch[])[];
  close(): Promise<void>;
}

/** Connections that write at once. One more per core of the database's machine helps, until the disk is full. */
const LANES = 2;
/**
 * Rides in one transaction. With fewer, commits and counts cost more than the rows; with more, memory grows (about
 * 4 MB each) and a second run has more to look up again after a crash.
 */
const BATCH_ROWS = 20_000;

/** The initial buffer of a lane, in bytes: the size of BATCH_ROWS rides in most files. */
const LANE_BYTES = 4 * 1024 * 1024;
/** UTF-8 takes at most three bytes for each unit of a JavaScript string. */
const MOST_BYTES_PER_UNIT = 3;

/** Opens a spool in a directory, which is made when it is missing. The file has no name: a crash leaves nothing. */
export async function openSpool(directory: string, name: string, origin: RideOrigin): Promise<Spool> {
  makeDirectory(directory);
  const path = join(directory, `${name}.spool`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  const lineOf = pastRideLines(origin);
  const lanes = Array.from({ length: LANES }, (): Lane => ({ ...emptyLane(), bytes: Buffer.alloc(0), batches: [] }));
  let end = 0;

  const write = async (lane: Lane) => {
    const { used, rows } = lane;
    if (rows.length === 0) return;
    const start = end;
    const marksAt = start + used;
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

/** The rides that are not on disk yet, and the batches that are. */
interface Lane {
  /** The rides' lines, `used` bytes of it. */
  bytes: Buffer;
  used: number;
  rows: number[];
  starts: number[];
  readonly batches: PastRideBatch[];
}

function emptyLane(): Pick<Lane, "used" | "rows" | "starts"> {
  return { used: 0, rows: [], starts: [] };
}

/** Lines go into bytes at once: kept as strings they would outlive the young generation, at four times the memory. */
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

function laneOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0;
  // The low bits of this hash are those of the last character alone.
  return ((hash ^ (hash >>> 15)) & 0x7fffffff) % LANES;
}

/** Writes all bytes. A disk that fills up takes a part of a write first, and only the next write fails as full. */
export async function writeAt(file: Pick<FileHandle, "write">, position: number, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
  }
}

async function readMarks(file: FileHandle, position: number, rows: number): Promise<RideMarks> {
  const marks = new Float64Array(2 * rows);
  const { bytesRead } = await file.read(marks, 0, marks.byteLength, position);
  if (bytesRead < marks.byteLength) throw cutOff();
  return { rows: marks.subarray(0, rows), starts: marks.subarray(rows) };
}

/** Bytes of one read. Too low: costs more calls. Too high: buffers fill the memory until they are collected. */
const CHUNK_BYTES = 128 * 1024;

/**
 * Returns a part of a file as a stream that leaves the file open, also when the stream is destroyed: a stream of Node's own
 * closes it then.
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

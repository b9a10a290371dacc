import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import {
  ALWAYS_ALLOWED_BYTES,
  CHUNK_BYTES,
  inBinaryUnits,
  MAX_UNPACK_RATIO,
  type TextBudget,
  type TripInput,
} from "./inputs.ts";
import { ImportFileError } from "./problems.ts";

const GZIP = Buffer.from([0x1f, 0x8b]);

/** Returns the text of a file at a path; as `readTripText`. */
export function readTripFile(path: string): AsyncGenerator<Buffer, void, undefined> {
  const open = () => Promise.resolve(createReadStream(path, { highWaterMark: CHUNK_BYTES }));
  return readTripText({ name: path, size: 0, open }, () => undefined);
}

/**
 * A trip file's text as UTF-8 bytes, unpacked where its first bytes say that it is gzip, whatever it is called.
 * @param onRead told how many of the input's bytes were read so far
 * @throws ImportFileError when it cannot be read, is empty, ends in the middle of its gzip stream, unpacks to far more than
 *   trips do, or is no text
 */
export async function* readTripText(
  input: TripInput,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const stream = await openStream(input);
  try {
    let read = 0;
    const counted = count(stream, (bytes) => onRead((read += bytes)));
    const first = await counted.next();
    if (first.done === true) throw new ImportFileError("empty", null, "the file is empty");
    const whole = rejoin(first.value, counted);
    const packed = first.value.subarray(0, GZIP.length).equals(GZIP);
    for await (const chunk of packed ? unpack(whole, () => read) : whole) {
      // Text has no zero bytes; UTF-16, which some spreadsheets write, is full of them.
      if (chunk.includes(0))
        throw new ImportFileError("not_text", null, "the file is not text in UTF-8: save it as CSV in UTF-8");
      takeFrom(input.textBudget, chunk.length);
      yield chunk;
    }
  } finally {
    stream.destroy();
  }
}

function takeFrom(budget: TextBudget | undefined, bytes: number): void {
  if (budget === undefined) return;
  budget.left -= bytes;
  if (budget.left >= 0) return;
  const limit = inBinaryUnits(budget.limit);
  throw new ImportFileError("too_large", null, `there is more than ${limit} of text: import it with the command line`);
}

async function openStream(input: TripInput): Promise<Readable> {
  try {
    return await input.open();
  } catch (error) {
    throw unreadable(error);
  }
}

async function* count(stream: Readable, onBytes: (bytes: number) => void): AsyncGenerator<Buffer, void, undefined> {
  const chunks: AsyncIterable<Buffer> = stream;
  try {
    for await (const chunk of chunks) {
      onBytes(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new ImportFileError("unreadable", null, `the file cannot be read: ${text}`, { cause: error });
}

async function* rejoin(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield first;
  yield* rest;
}

async function* unpack(
  packed: AsyncIterable<Buffer>,
  packedBytes: () => number,
): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // Its failure also ends the loop below, which reports it.
  const fed = pipeline(Readable.from(packed), gunzip).catch(() => undefined);
  const unpacked: AsyncIterable<Buffer> = gunzip;
  let size = 0;
  try {
    for await (const chunk of unpacked) {
      size += chunk.length;
      if (size > ALWAYS_ALLOWED_BYTES + packedBytes() * MAX_UNPACK_RATIO) throw tooLarge(size);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ImportFileError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new ImportFileError("broken_gzip", null, `the gzip stream is broken or cut off: ${text}`, { cause: error });
  } finally {
    gunzip.destroy();
    await fed;
  }
}

function tooLarge(size: number): ImportFileError {
  const message = `the gzip stream unpacks to more than ${inBinaryUnits(size)}, far more than trips of its size do`;
  return new ImportFileError("too_large", null, message);
}

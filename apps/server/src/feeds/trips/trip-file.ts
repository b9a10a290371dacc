import { isUtf8 } from "node:buffer";
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

const LINE_FEED = 0x0a;
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * Reads the text of a file at a path, like `readTripText`. The replay of saved `station_status` documents uses it too
 * (`feeds/gbfs/replay.ts`), because such a file is checked and unpacked in the same way.
 */
export function readTripFile(path: string): AsyncGenerator<Buffer, void, undefined> {
  const open = () => Promise.resolve(createReadStream(path, { highWaterMark: CHUNK_BYTES }));
  // The size is 0, because only progress needs it, and nothing asks for progress here.
  return readTripText({ name: path, size: 0, open }, () => undefined);
}

/**
 * Reads a trip file's text as UTF-8 bytes. Unpacks it if its first bytes show that it is compressed with gzip, whatever its
 * name is.
 * @param onRead called with the number of the input's bytes that were read so far
 * @throws ImportFileError when the file cannot be read, is empty, ends in the middle of its gzip stream, unpacks to far more
 *   than trips do, is not text, or has more text than the input's `textBudget` allows
 */
export async function* readTripText(
  input: TripInput,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const stream = await openStream(input);
  try {
    let read = 0;
    const counted = count(stream, (bytes) => {
      read += bytes;
      onRead(read);
    });
    const first = await counted.next();
    if (first.done === true) throw new ImportFileError("empty", null, "the file is empty");
    const whole = rejoin(first.value, counted);
    const packed = first.value.subarray(0, GZIP.length).equals(GZIP);
    const requireText = createTextCheck();
    for await (const chunk of packed ? unpack(whole, () => read) : whole) {
      requireText(chunk);
      takeFrom(input.textBudget, chunk.length);
      yield chunk;
    }
    requireText(Buffer.alloc(0), true);
  } finally {
    stream.destroy();
  }
}

/**
 * Returns a function that checks a file piece by piece, and throws when the file is not text in UTF-8. Without the check,
 * all letters outside ASCII in another encoding would be decoded to the same character, U+FFFD. Names would be lost, and
 * station ids that differ in such a letter would be equal.
 */
function createTextCheck(): (chunk: Buffer, isLast?: boolean) => void {
  let line = 1;
  /** The first bytes of a character whose other bytes are in the next piece. */
  let begun: Buffer = Buffer.alloc(0);
  return (chunk, isLast = false) => {
    const bytes = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
    const whole = bytes.subarray(0, isLast ? bytes.length : endOfCharacters(bytes));
    begun = bytes.subarray(whole.length);
    const isWrong = !isText(whole);
    // Counts lines. In a piece that is not text, stops at the first line that is not text, for the error.
    let start = 0;
    for (let end = whole.indexOf(LINE_FEED); end !== -1; end = whole.indexOf(LINE_FEED, start)) {
      if (isWrong && !isText(whole.subarray(start, end))) break;
      line++;
      start = end + 1;
    }
    if (isWrong) throw new ImportFileError("not_text", line, "the file is not text in UTF-8: save it as CSV in UTF-8");
  };
}

/** Tells whether bytes are UTF-8 without zero bytes. UTF-16, which some spreadsheet programs write, has many zero bytes. */
function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** Returns the index at which an incomplete character at the end begins; the length when the last character is complete. */
function endOfCharacters(bytes: Buffer): number {
  // A character outside ASCII has two to four bytes: the first is 0xc0 or more, the others are 0x80 to 0xbf.
  for (let at = bytes.length - 1; at >= 0 && at >= bytes.length - 3; at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    // The first bits of this byte say how many bytes the character has.
    let length = 2;
    if (byte >= 0xe0) length = 3;
    if (byte >= 0xf0) length = 4;
    return at + length > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

/** Takes bytes of text from the budget of all inputs. @param budget undefined: the text has no limit */
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

/** Passes the chunks of a stream through, and reports the size of each. */
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

/** Unpacks gzip. @param packedBytes returns the number of packed bytes so far, which bounds the unpacked ones */
async function* unpack(
  packed: AsyncIterable<Buffer>,
  packedBytes: () => number,
): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // A failure of this pipeline also ends the loop below, which reports it.
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

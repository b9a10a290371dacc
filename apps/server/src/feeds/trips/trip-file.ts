import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { FileRefused } from "./problems.ts";

/** Bytes read at a time. Smaller costs a round of promises more often; larger only takes memory. */
const CHUNK = 256 * 1024;
const GZIP = Buffer.from([0x1f, 0x8b]);
const ZIP = Buffer.from("PK\u0003\u0004");

/**
 * A trip file's text as UTF-8 bytes, unpacked where its first bytes say that it is gzip, whatever it is called.
 * @throws FileRefused when it cannot be read, is empty, ends in the middle of its gzip stream, or is no text
 */
export async function* readTripFile(path: string): AsyncGenerator<Buffer, void, undefined> {
  const stream = createReadStream(path, { highWaterMark: CHUNK });
  try {
    const chunks: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
    const first = await nextChunk(chunks);
    if (first === undefined) throw new FileRefused("empty", null, "the file is empty");
    if (first.subarray(0, ZIP.length).equals(ZIP)) {
      throw new FileRefused("not_text", null, "the file is a zip archive: unpack it, or pack it with gzip");
    }
    const whole = rejoin(first, chunks);
    const packed = first.subarray(0, GZIP.length).equals(GZIP);
    for await (const chunk of packed ? unpack(whole) : whole) {
      // Text has no zero bytes; UTF-16, which some spreadsheets write, is full of them.
      if (chunk.includes(0)) throw new FileRefused("not_text", null, "the file is not text in UTF-8");
      yield chunk;
    }
  } finally {
    stream.destroy();
  }
}

async function nextChunk(chunks: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
  try {
    const next = await chunks.next();
    return next.done === true ? undefined : next.value;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new FileRefused("unreadable", null, `the file cannot be read: ${text}`, { cause: error });
  }
}

async function* rejoin(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for (let chunk: Buffer | undefined = first; chunk !== undefined; chunk = await nextChunk(rest)) yield chunk;
}

async function* unpack(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: CHUNK });
  // Its failure also ends the loop below, which is where it is reported.
  const fed = pipeline(Readable.from(packed), gunzip).catch(() => undefined);
  const unpacked: AsyncIterable<Buffer> = gunzip;
  try {
    for await (const chunk of unpacked) yield chunk;
  } catch (error) {
    if (error instanceof FileRefused) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new FileRefused("broken_gzip", null, `the gzip stream is broken or cut off: ${text}`, { cause: error });
  } finally {
    gunzip.destroy();
    await fed;
  }
}

import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/** Bytes read at a time. Larger pieces pile up until they are collected; smaller ones cost more calls. */
const PIECE_BYTES = 128 * 1024;

/**
 * A part of a file as a stream that leaves the file open, also when the stream is destroyed: a stream of Node's own
 * closes it then.
 * @param start the first byte
 * @param end the byte after the last
 */
export function readRange(file: FileHandle, start: number, end: number): Readable {
  return Readable.from(pieces(file, start, end), { objectMode: false });
}

async function* pieces(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer, void, undefined> {
  for (let position = start; position < end;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - position));
    const { bytesRead } = await file.read(piece, 0, piece.length, position);
    if (bytesRead === 0) throw new Error("a file of ours ends before its end");
    position += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

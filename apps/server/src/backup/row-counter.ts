import { Transform } from "node:stream";

const LINE_FEED = 10;

/** Passes rows on as `copy` writes them, and counts them: a row is a line, since line ends in values are escaped. */
export class RowCounter extends Transform {
  count = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) this.count++;
    done(null, chunk);
  }
}

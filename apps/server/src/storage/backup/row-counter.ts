import { Transform } from "node:stream";

const LINE_FEED = 10;
/** Bytes of a row. PostgreSQL keeps a whole one in memory, and no value of ours has a tenth of that. */
const MAX_ROW_BYTES = 64 * 1024 * 1024;

/** Passes rows on as `copy` writes them, and counts them: a row is a line, since line ends in values are escaped. */
export class RowCounter extends Transform {
  count = 0;
  readonly #tooLong: () => Error;
  /** Bytes of the row that goes on. */
  #length = 0;

  /** @param tooLong returns the error of a row that is too long to be genuine */
  constructor(tooLong: () => Error) {
    super();
    this.#tooLong = tooLong;
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, chunk?: Buffer) => void,
  ): void {
    let last = -1;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) {
      this.count++;
      this.#length = 0;
      last = at;
    }
    this.#length += chunk.length - last - 1;
    if (this.#length > MAX_ROW_BYTES) done(this.#tooLong());
    else done(null, chunk);
  }
}

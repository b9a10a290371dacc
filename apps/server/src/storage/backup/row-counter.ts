import { Transform } from "node:stream";
import { BackupFileError } from "./archive.ts";

const LINE_FEED = 10;
/** Bytes of a row. PostgreSQL keeps a whole one in memory, and no value of ours has a tenth of that. */
const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Passes a table's rows on as `copy` writes them, and counts them: a row is a line, since line ends in values are escaped.
 * Fails with a BackupFileError as soon as a row is too long to be genuine, or there are more rows than there should be.
 */
export class RowCounter extends Transform {
  count = 0;
  bytes = 0;
  readonly #table: string;
  readonly #maxRows: number;
  /** Bytes of the row that goes on. */
  #length = 0;

  constructor(table: string, maxRows = Infinity) {
    super();
    this.#table = table;
    this.#maxRows = maxRows;
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
    this.bytes += chunk.length;
    const damage = this.#damage();
    if (damage === undefined) done(null, chunk);
    else done(new BackupFileError(`The backup is damaged: ${this.#table} has ${damage}.`));
  }

  #damage(): string | undefined {
    if (this.#length > MAX_ROW_BYTES) return "a row that is longer than any of ours";
    if (this.count > this.#maxRows) return `more rows than the ${this.#maxRows} that its manifest.json says`;
    return undefined;
  }
}

/** The first size of the buffer. Most bodies fit; where one does not, only this little is thrown away in growing. */
const SMALL_BUFFER_BYTES = 4 * 1024;

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** How many pieces are kept: chunks, or what one read of the network brings. */
  readonly maxBodyPieces: number;
}

/**
 * The first bytes of a response body. It grows with what arrives, so that an empty body costs nothing, and copies, so that
 * no byte of it keeps a whole network buffer alive.
 */
export class BoundedBody {
  readonly #limit: number;
  #piecesLeft: number;
  #buffer: Uint8Array = new Uint8Array(0);
  #length = 0;
  #isCut = false;

  constructor({ maxBodyBytes, maxBodyPieces }: BodyLimits) {
    this.#limit = maxBodyBytes;
    this.#piecesLeft = maxBodyPieces;
  }

  /** Keeps as much of a piece as there is room for. */
  append(chunk: Uint8Array): void {
    const space = this.#piecesLeft-- > 0 ? this.#limit - this.#length : 0;
    // A view costs about 100 bytes, more than the pieces that some receivers send: it is made only where needed.
    const kept = chunk.length <= space ? chunk : chunk.subarray(0, space);
    if (kept.length < chunk.length) this.#isCut = true;
    this.#reserve(this.#length + kept.length);
    this.#buffer.set(kept, this.#length);
    this.#length += kept.length;
  }

  /** Whether the body is longer than what is kept. */
  get isTruncated(): boolean {
    return this.#isCut;
  }

  /** Bytes that are kept. */
  get length(): number {
    return this.#length;
  }

  /** What is kept, in a buffer of at most twice its size, because the log holds it until it is written. */
  bytes(): Uint8Array {
    const isMostlyUsed = this.#length * 2 >= this.#buffer.length;
    return isMostlyUsed ? this.#buffer.subarray(0, this.#length) : this.#buffer.slice(0, this.#length);
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = new Uint8Array(this.#sizeFor(length));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }

  /** Two steps at most, whatever the size of the pieces: doubling leaves twice as much to the garbage collector. */
  #sizeFor(length: number): number {
    if (length > SMALL_BUFFER_BYTES) return this.#limit;
    // The first piece is most often the whole body.
    return this.#length === 0 ? length : Math.min(SMALL_BUFFER_BYTES, this.#limit);
  }
}

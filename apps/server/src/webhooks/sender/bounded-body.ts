/** The first step of growing. Most answers fit; of those that do not, what is thrown away in growing is this little. */
const SMALL = 4 * 1024;

export interface BodyLimits {
  readonly bodyBytes: number;
  /** How many pieces are taken, be they chunks or what came at a time. */
  readonly pieces: number;
}

/**
 * The first bytes of an answer's body. Grows with what arrives, so that an empty answer costs nothing, and copies, so
 * that no byte of it keeps a whole network buffer alive.
 */
export class BoundedBody {
  readonly #limit: number;
  #piecesLeft: number;
  #buffer: Uint8Array = new Uint8Array(0);
  #length = 0;
  #isCut = false;

  constructor({ bodyBytes, pieces }: BodyLimits) {
    this.#limit = bodyBytes;
    this.#piecesLeft = pieces;
  }

  /** Keeps as much of a piece as there is room for. */
  append(chunk: Uint8Array): void {
    const room = this.#piecesLeft-- > 0 ? this.#limit - this.#length : 0;
    // A view costs about 100 bytes, more than the pieces that some receivers send.
    const kept = chunk.length <= room ? chunk : chunk.subarray(0, room);
    if (kept.length < chunk.length) this.#isCut = true;
    this.#reserve(this.#length + kept.length);
    this.#buffer.set(kept, this.#length);
    this.#length += kept.length;
  }

  /** Whether there was more than is kept. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Bytes that are kept. */
  get length(): number {
    return this.#length;
  }

  /** What is kept. Most of the memory behind it is in use: the log holds it until it is written. */
  bytes(): Uint8Array {
    const isMostlyUsed = this.#length * 2 >= this.#buffer.length;
    return isMostlyUsed ? this.#buffer.subarray(0, this.#length) : this.#buffer.slice(0, this.#length);
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = new Uint8Array(this.#roomFor(length));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }

  /** Two steps at most, whatever the size of the pieces: doubling left twice as much to be collected. */
  #roomFor(length: number): number {
    if (length > SMALL) return this.#limit;
    // The first piece is most often the whole body.
    return this.#length === 0 ? length : Math.min(SMALL, this.#limit);
  }
}

/**
 * Ids outside the heap of JavaScript, where each would take twice as much: as many bytes of UTF-8 for each as the longest has,
 * and zeros behind it, which no text of PostgreSQL contains.
 */
export class PackedIds {
  #bytes = new Uint8Array(0);
  #view = Buffer.alloc(0);
  #width = 0;
  #capacity = 0;

  /** Bytes that each takes. */
  get width(): number {
    return this.#width;
  }

  at(index: number): string {
    const from = index * this.#width;
    const end = from + this.#width;
    // Most have the same length.
    const length = this.#bytes[end - 1] === 0 ? this.#bytes.subarray(from, end).indexOf(0) : this.#width;
    return this.#view.toString("utf8", from, from + length);
  }

  set(index: number, id: string): void {
    const length = Buffer.byteLength(id);
    if (length > this.#width) this.#widen(length);
    const from = index * this.#width;
    this.#view.write(id, from, "utf8");
    this.#bytes.fill(0, from + length, from + this.#width);
  }

  /** Moves those from an index up to another. */
  move(from: number, end: number, to: number): void {
    this.#bytes.copyWithin(to * this.#width, from * this.#width, end * this.#width);
  }

  /** Makes room for so many. */
  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#use(new Uint8Array(this.#bytes.buffer.transfer(capacity * this.#width)));
  }

  #widen(width: number): void {
    const wider = new Uint8Array(this.#capacity * width);
    for (let index = 0; index < this.#capacity; index++)
      wider.set(this.#bytes.subarray(index * this.#width, (index + 1) * this.#width), index * width);
    this.#use(wider);
    this.#width = width;
  }

  #use(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = Buffer.from(bytes.buffer);
  }
}

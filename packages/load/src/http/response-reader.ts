/** What is read next: the head, a body of known length, a body in chunks, or a body that ends with the connection. */
type State = "head" | "length" | "chunks" | "close" | "done";

const LINE_FEED = 10;

/** Parses one HTTP/1.1 response to its end. */
export class ResponseReader {
  /** 0 until the head is read. */
  status = 0;
  /** The bytes read so far, the head included. */
  bytes = 0;
  #state: State = "head";
  #head = "";
  /** Bytes of the body, or of the current chunk and its line end, that have not arrived yet. */
  #missing = 0;
  /** The beginning of a chunk's size, or of a trailer. */
  #line = "";
  #isLastChunk = false;
  readonly #parts: Buffer[] = [];
  readonly #method: string;
  readonly #keepsBody: boolean;

  constructor(method: string, keepsBody: boolean) {
    this.#method = method;
    this.#keepsBody = keepsBody;
  }

  get body(): string {
    return Buffer.concat(this.#parts).toString();
  }

  get headers(): Readonly<Record<string, string | undefined>> {
    const [, ...lines] = this.#head.split("\r\n");
    return Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
  }

  /** Tells whether the response has no length, so that the end of its connection ends it. */
  endsWithConnection(): boolean {
    return this.#state === "close";
  }

  /** Tells whether the connection can send another request. */
  keepsAlive(): boolean {
    return this.#state === "done" && !/^HTTP\/1\.0|\r\nconnection: *close/i.test(this.#head);
  }

  /** Reads the next part of the response; the caller may reuse its buffer. @returns whether the response is complete */
  add(part: Buffer): boolean {
    this.bytes += part.length;
    const body = this.#state === "head" ? this.#readHead(part) : part;
    if (this.#state === "chunks") this.#readChunks(body);
    else if (this.#state === "length" || this.#state === "close") {
      this.#keep(body);
      this.#missing -= body.length;
      if (this.#state === "length" && this.#missing <= 0) this.#state = "done";
    }
    return this.#state === "done";
  }

  /** @returns the bytes of the part that belong to the body */
  #readHead(part: Buffer): Buffer {
    // In latin1 each character is one byte, so positions in the text are positions in the bytes.
    const before = this.#head.length;
    const text = this.#head + part.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    this.#head = end === -1 ? text : text.slice(0, end);
    if (end === -1) return part.subarray(part.length);
    // The text begins with `HTTP/1.1 200`.
    this.status = Number(text.slice(9, 12));
    const rest = part.subarray(end + "\r\n\r\n".length - before);
    if (this.status < 200 && this.status !== 101) {
      // Skips an interim response.
      this.#head = "";
      return this.#readHead(rest);
    }
    this.#state = this.#stateOfBody();
    return rest;
  }

  /** Returns how the body's end is found, and sets `#missing` for a body of known length. */
  #stateOfBody(): State {
    if (this.#method === "HEAD" || this.status === 204 || this.status === 304) return "done";
    if (/\r\ntransfer-encoding:[^\r]*chunked/i.test(this.#head)) return "chunks";
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1];
    if (length === undefined) return "close";
    this.#missing = Number(length);
    return this.#missing === 0 ? "done" : "length";
  }

  #readChunks(part: Buffer): void {
    for (let at = 0; at < part.length && this.#state !== "done";) {
      if (this.#missing > 0) {
        const end = Math.min(part.length, at + this.#missing);
        // The last two missing bytes are the line end after the chunk, which is not kept.
        const endOfData = at + this.#missing - 2;
        if (at < endOfData) this.#keep(part.subarray(at, Math.min(end, endOfData)));
        this.#missing -= end - at;
        at = end;
        continue;
      }
      const end = part.indexOf(LINE_FEED, at);
      this.#line += part.toString("latin1", at, end === -1 ? part.length : end);
      at = end === -1 ? part.length : end + 1;
      if (end !== -1) this.#endLine();
    }
  }

  /** Handles a line: the size of a chunk or, after the last chunk, a trailer. An empty trailer ends the response. */
  #endLine(): void {
    const line = this.#line.trim();
    this.#line = "";
    if (this.#isLastChunk) {
      if (line === "") this.#state = "done";
      return;
    }
    const size = Number.parseInt(line, 16);
    this.#isLastChunk = size === 0;
    this.#missing = size === 0 ? 0 : size + 2;
  }

  #keep(part: Buffer): void {
    if (this.#keepsBody && part.length > 0) this.#parts.push(Buffer.from(part));
  }
}

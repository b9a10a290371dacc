/** What the head of an answer may cost, all its informational heads (1xx) and its trailers counted in. */
export interface HeadLimits {
  /** The same again for what is around a body's chunks. */
  readonly headBytes: number;
  readonly headLines: number;
  readonly informational: number;
}

/** What makes an answer one that only serves to fill our memory or our time, or none at all. */
export type HeadViolation = "not_http" | "headers_too_large" | "too_many_informational" | "padded_chunks";

/** Enough of a line to tell a status line and the one header that matters, with its value. */
const PREFIX = 40;
const START = "HTTP/1.";
/** A chunk's size at its longest, 16 digits and a line end; what is longer is padding or an extension. */
const SIZE_LINE = 18;
const LF = 10;
const CR = 13;

type Part = "head" | "chunk_size" | "chunk_data" | "trailers" | "rest";

/**
 * Counts the lines of an answer's head and trailers before the HTTP parser sees them. undici bounds the bytes of names
 * and values but not their number, and keeps two objects for each: 16 KiB of `a:` cost 3 MB for as long as the far side
 * likes to hang, in every attempt that is in flight.
 *
 * A head ends where every parser agrees that it does, with CRLF CRLF; what leaves room for another opinion is refused.
 */
export class HeadGuard {
  readonly #limits: HeadLimits;
  #part: Part = "rest";
  #line = "";
  #bytes = 0;
  #lines = 0;
  #informational = 0;
  #informationalEnd = 0;
  /** Bytes of the open chunk's size line so far, and bytes that were too many in all such lines. */
  #sizeLine = 0;
  #padding = 0;
  #isFirstLine = true;
  #isInformational = false;
  #isChunked = false;
  /** Of what came before: a line's CR and its LF may come apart. */
  #lastByte = LF;
  /** Bytes of the chunk that are still to come, the line end behind it included. */
  #chunkLeft = 0;
  /** The chunk's size as far as it has been read, and whether that was all of it. */
  #size = 0;
  #isSizeRead = false;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  /** A request goes out: what comes next is the head of its answer. */
  begin(): void {
    this.#part = "head";
    this.#bytes = 0;
    this.#lines = 0;
    this.#informational = 0;
    this.#padding = 0;
    this.#beginHead();
  }

  /** Whether the head is not over yet. */
  get isInHead(): boolean {
    return this.#part === "head";
  }

  /** Whether the last chunk has come, but not yet the end of what may follow it. */
  get isInTrailers(): boolean {
    return this.#part === "trailers";
  }

  /** Up to where in the chunk taken last there were informational heads only, which say nothing that is kept. */
  get informationalEnd(): number {
    return this.#informationalEnd;
  }

  /** Takes what has arrived; names the violation once there is one. */
  take(chunk: Uint8Array): HeadViolation | undefined {
    let at = 0;
    this.#informationalEnd = 0;
    while (at < chunk.length && this.#part !== "rest") {
      if (this.#part === "chunk_data") {
        const skipped = Math.min(this.#chunkLeft, chunk.length - at);
        at += skipped;
        this.#chunkLeft -= skipped;
        if (this.#chunkLeft === 0) this.#beginSize();
        continue;
      }
      if (this.#part === "chunk_size") {
        at = this.#takeSize(chunk, at);
        if (this.#padding > this.#limits.headBytes) return "padded_chunks";
        continue;
      }
      const lineEnd = chunk.indexOf(LF, at);
      const end = lineEnd === -1 ? chunk.length : lineEnd + 1;
      this.#line += latin1(chunk, at, Math.min(end, at + PREFIX - this.#line.length));
      this.#bytes += end - at;
      at = end;
      if (this.#bytes > this.#limits.headBytes) return "headers_too_large";
      const lastButOne = chunk[end - 2] ?? this.#lastByte;
      this.#lastByte = chunk[end - 1] ?? LF;
      if (lineEnd === -1) return this.#isFirstLine && !mayBegin(this.#line) ? "not_http" : undefined;
      if (lastButOne !== CR) return "not_http";
      const informational = this.#informational;
      const violation = this.#endLine();
      if (violation !== undefined) return violation;
      if (this.#informational > informational) this.#informationalEnd = at;
    }
    return undefined;
  }

  #beginHead(): void {
    this.#line = "";
    this.#isFirstLine = true;
    this.#isInformational = false;
    this.#isChunked = false;
  }

  #endLine(): HeadViolation | undefined {
    const line = this.#line;
    this.#line = "";
    this.#lines++;
    if (this.#lines > this.#limits.headLines) return "headers_too_large";
    if (line.trim() === "") {
      // Parsers skip empty lines before a status line; a line of spaces is for them to judge.
      if (line !== "\r\n" || this.#isFirstLine) return undefined;
      return this.#part === "head" ? this.#endHead() : this.#endAnswer();
    }
    if (!this.#isFirstLine) {
      return /^transfer-encoding\b/i.test(line) ? this.#noteCoding(line) : undefined;
    }
    this.#isFirstLine = false;
    this.#isInformational = line.startsWith("1", "HTTP/1.1 ".length);
    // The parser also takes HTTP/0.9, HTTP/2.0 and RTSP, and fails an assertion of its own for a status below 100. We
    // ask for no other protocol, so 101 is no answer.
    return /^HTTP\/1\.[01] (?!101)[1-9]/.test(line) ? undefined : "not_http";
  }

  /** We ask for no coding, so there can be none but chunks. Padded ones belong to whoever wants to be read in two ways. */
  #noteCoding(line: string): HeadViolation | undefined {
    const [, coding] = /^[^:]+:[ \t]*(chunked|identity)[ \t]*\r\n$/i.exec(line) ?? [];
    if (coding === undefined) return "not_http";
    if (coding.toLowerCase() === "chunked") this.#isChunked = true;
    return undefined;
  }

  #endHead(): HeadViolation | undefined {
    if (!this.#isInformational) {
      if (this.#isChunked) this.#beginSize();
      else this.#part = "rest";
      return undefined;
    }
    this.#informational++;
    this.#beginHead();
    return this.#informational > this.#limits.informational ? "too_many_informational" : undefined;
  }

  #beginSize(): void {
    this.#part = "chunk_size";
    this.#size = 0;
    this.#sizeLine = 0;
    this.#isSizeRead = false;
  }

  /** Reads on in the line of a chunk's size. A line without end costs no memory, but all of our processor. */
  #takeSize(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? LF;
      if (++this.#sizeLine > SIZE_LINE) this.#padding++;
      if (byte === LF) {
        this.#beginChunk();
        return at + 1;
      }
      const digit = this.#isSizeRead ? -1 : hexDigit(byte);
      if (digit === -1) this.#isSizeRead = true;
      else this.#size = this.#size * 16 + digit;
    }
    return chunk.length;
  }

  #beginChunk(): void {
    if (this.#size === 0) {
      // Also where there is no size at all, which the parser refuses.
      this.#part = "trailers";
    } else {
      this.#part = "chunk_data";
      this.#chunkLeft = this.#size + "\r\n".length;
    }
  }

  #endAnswer(): undefined {
    this.#part = "rest";
  }
}

/** Whether a first line that has begun so may become a status line. */
function mayBegin(line: string): boolean {
  const start = line.trimStart().slice(0, START.length);
  return START.startsWith(start);
}

function latin1(chunk: Uint8Array, from: number, to: number): string {
  return Buffer.from(chunk.buffer, chunk.byteOffset + from, Math.max(0, to - from)).toString("latin1");
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  // a to f, or A to F.
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** What the head of an answer may cost, all its informational heads (1xx) and its trailers counted in. */
export interface HeadLimits {
  readonly headBytes: number;
  readonly headLines: number;
  readonly informational: number;
  /** Of a chunked body. */
  readonly chunks: number;
}

/** What makes an answer one that only serves to fill our memory. */
export type HeadFault = "headers_too_large" | "too_many_informational" | "too_many_chunks";

/** Enough of a line to tell a status line and the one header that matters. */
const PREFIX = 24;
const LF = 10;

type Part = "head" | "chunk_size" | "chunk_data" | "trailers" | "rest";

/**
 * Counts the lines of an answer's head and trailers before the HTTP parser sees them. undici bounds the bytes of names
 * and values but not their number, and keeps two objects for each: 16 KiB of `a:` cost 3 MB for as long as the far side
 * likes to hang, in every attempt that is in flight.
 *
 * Errs on the side of counting: a head ends where every parser agrees that it does (CRLF CRLF), and any
 * Transfer-Encoding is followed as chunks.
 */
export class HeadGuard {
  readonly #limits: HeadLimits;
  #part: Part = "rest";
  #line = "";
  #bytes = 0;
  #lines = 0;
  #informational = 0;
  #chunks = 0;
  #isFirstLine = true;
  #isInformational = false;
  #isChunked = false;
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
    this.#chunks = 0;
    this.#beginHead();
  }

  /** Takes what has arrived; names the fault once there is one. */
  take(chunk: Uint8Array): HeadFault | undefined {
    let at = 0;
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
        if (this.#chunks > this.#limits.chunks) return "too_many_chunks";
        continue;
      }
      const lineEnd = chunk.indexOf(LF, at);
      const end = lineEnd === -1 ? chunk.length : lineEnd + 1;
      this.#line += latin1(chunk, at, Math.min(end, at + PREFIX - this.#line.length));
      this.#bytes += end - at;
      at = end;
      if (this.#bytes > this.#limits.headBytes) return "headers_too_large";
      if (lineEnd === -1) return undefined;
      const fault = this.#endLine();
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #beginHead(): void {
    this.#line = "";
    this.#isFirstLine = true;
    this.#isInformational = false;
    this.#isChunked = false;
  }

  #endLine(): HeadFault | undefined {
    const line = this.#line;
    this.#line = "";
    this.#lines++;
    if (this.#lines > this.#limits.headLines) return "headers_too_large";
    if (line.trim() === "") {
      // Parsers skip empty lines before a status line, and some take a bare LF for the end; we count on.
      if (line !== "\r\n" || this.#isFirstLine) return undefined;
      return this.#part === "head" ? this.#endHead() : this.#endAnswer();
    }
    if (this.#isFirstLine) this.#isInformational = /^HTTP\/\d\.\d 1/.test(line);
    else if (/^transfer-encoding\b/i.test(line)) this.#isChunked = true;
    this.#isFirstLine = false;
    return undefined;
  }

  #endHead(): HeadFault | undefined {
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
    this.#isSizeRead = false;
  }

  /** Reads on in the line of a chunk's size; what is behind the size costs the parser nothing and is not counted. */
  #takeSize(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? LF;
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
      this.#chunks++;
      this.#part = "chunk_data";
      this.#chunkLeft = this.#size + "\r\n".length;
    }
  }

  #endAnswer(): undefined {
    this.#part = "rest";
  }
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

/** Limits of a response, its informational responses (1xx) and trailers included. */
export interface ResponseGuardLimits {
  /** Of header sections, and again of chunk sizes and extensions. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderLines: number;
  readonly maxInformational: number;
}

/** Why a response is not read further. */
export type ResponseViolation = "not_http" | "headers_too_large" | "too_many_informational" | "padded_chunks";

/** How much of a line is kept: enough for a status line, or for Transfer-Encoding with its value. */
const LINE_PREFIX_BYTES = 40;
const STATUS_LINE_START = "HTTP/1.";
/** A chunk-size line has at most 16 digits and CRLF; more is padding or an extension. */
const MAX_SIZE_LINE_BYTES = 18;
const LF = 10;
const CR = 13;

type Part = "head" | "chunk_size" | "chunk_data" | "trailers" | "rest";

/**
 * Limits what undici does not: the number of header and trailer lines, of informational responses and of bytes around
 * chunks. undici limits only the bytes of headers, and keeps two objects for each line: 16 KiB of `a:` cost 3 MB in every
 * attempt for as long as the receiver hangs.
 *
 * A header section ends with CRLF CRLF, where every parser agrees that it does; anything ambiguous is refused.
 */
export class ResponseGuard {
  readonly #limits: ResponseGuardLimits;
  #part: Part = "rest";
  #line = "";
  #bytes = 0;
  #lines = 0;
  #informational = 0;
  #informationalEnd = 0;
  /** Bytes of the current chunk-size line so far. */
  #sizeLine = 0;
  /** Bytes beyond the allowed length in all chunk-size lines. */
  #padding = 0;
  #isFirstLine = true;
  #isInformational = false;
  #isChunked = false;
  /** The last byte of the previous chunk: the CR and the LF of a line may come in two chunks. */
  #lastByte = LF;
  /** Bytes of the chunk that are still to come, its CRLF included. */
  #chunkLeft = 0;
  /** The chunk's size as far as it has been read, and whether that was all of it. */
  #size = 0;
  #isSizeRead = false;

  constructor(limits: ResponseGuardLimits) {
    this.#limits = limits;
  }

  /** A request is written: the next bytes are the header section of its response. */
  begin(): void {
    this.#part = "head";
    this.#bytes = 0;
    this.#lines = 0;
    this.#informational = 0;
    this.#padding = 0;
    this.#beginHead();
  }

  /** Whether the header section has not ended yet. */
  get isInHead(): boolean {
    return this.#part === "head";
  }

  /** Whether the last chunk has come, and the trailers have not ended yet. */
  get isInTrailers(): boolean {
    return this.#part === "trailers";
  }

  /** Where the informational responses end in the bytes taken last. */
  get informationalEnd(): number {
    return this.#informationalEnd;
  }

  /** Takes what has arrived; names the violation once there is one. */
  take(chunk: Uint8Array): ResponseViolation | undefined {
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
        if (this.#padding > this.#limits.maxHeaderBytes) return "padded_chunks";
        continue;
      }
      const lineEnd = chunk.indexOf(LF, at);
      const end = lineEnd === -1 ? chunk.length : lineEnd + 1;
      this.#line += latin1(chunk, at, Math.min(end, at + LINE_PREFIX_BYTES - this.#line.length));
      this.#bytes += end - at;
      at = end;
      if (this.#bytes > this.#limits.maxHeaderBytes) return "headers_too_large";
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

  #endLine(): ResponseViolation | undefined {
    const line = this.#line;
    this.#line = "";
    this.#lines++;
    if (this.#lines > this.#limits.maxHeaderLines) return "headers_too_large";
    if (line.trim() === "") {
      // Parsers skip empty lines before a status line; undici judges a line of spaces.
      if (line !== "\r\n" || this.#isFirstLine) return undefined;
      return this.#part === "head" ? this.#endHead() : this.#endResponse();
    }
    if (!this.#isFirstLine) {
      return /^transfer-encoding\b/i.test(line) ? this.#readTransferEncoding(line) : undefined;
    }
    this.#isFirstLine = false;
    this.#isInformational = line.startsWith("1", "HTTP/1.1 ".length);
    // undici also accepts HTTP/0.9, HTTP/2.0 and RTSP, and fails an assertion for a status below 100. We never ask for
    // an upgrade, so 101 is not a valid response.
    return /^HTTP\/1\.[01] (?!101)[1-9]/.test(line) ? undefined : "not_http";
  }

  /** We accept no transfer coding but chunked. A padded value is meant to be read differently by two parsers. */
  #readTransferEncoding(line: string): ResponseViolation | undefined {
    const [, coding] = /^[^:]+:[ \t]*(chunked|identity)[ \t]*\r\n$/i.exec(line) ?? [];
    if (coding === undefined) return "not_http";
    if (coding.toLowerCase() === "chunked") this.#isChunked = true;
    return undefined;
  }

  #endHead(): ResponseViolation | undefined {
    if (!this.#isInformational) {
      if (this.#isChunked) this.#beginSize();
      else this.#part = "rest";
      return undefined;
    }
    this.#informational++;
    this.#beginHead();
    return this.#informational > this.#limits.maxInformational ? "too_many_informational" : undefined;
  }

  #beginSize(): void {
    this.#part = "chunk_size";
    this.#size = 0;
    this.#sizeLine = 0;
    this.#isSizeRead = false;
  }

  /** Reads on in a chunk-size line. An endless one costs no memory, but processor time until the timeout. */
  #takeSize(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? LF;
      if (++this.#sizeLine > MAX_SIZE_LINE_BYTES) this.#padding++;
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
      // Also where there is no size at all, which undici refuses.
      this.#part = "trailers";
    } else {
      this.#part = "chunk_data";
      this.#chunkLeft = this.#size + "\r\n".length;
    }
  }

  #endResponse(): undefined {
    this.#part = "rest";
  }
}

/** Whether a first line that has begun so may become a status line. */
function mayBegin(line: string): boolean {
  const start = line.trimStart().slice(0, STATUS_LINE_START.length);
  return STATUS_LINE_START.startsWith(start);
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

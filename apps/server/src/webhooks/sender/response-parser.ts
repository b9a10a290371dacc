import type { Header } from "../rules/after-attempt.ts";

/*
 * Reads a receiver's HTTP/1.1 response within limits of size. `ResponseParser` splits the received bytes into lines and
 * pieces of the body, `ResponseHead` reads the lines of a header section, and `BoundedBody` keeps the beginning of the body.
 */

/** The reason why a response is not read further. */
export type ResponseViolation = "not_http" | "headers_too_large" | "too_many_informational" | "padded_chunks";

/** A response breaks HTTP/1.1 or a limit. */
export class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
  readonly violation: ResponseViolation;

  constructor(violation: ResponseViolation) {
    super(violation);
    this.violation = violation;
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/;
/**
 * A name, and a value without control characters; spaces before the value are not part of it. The value does not begin with
 * a space, so that a text matches in only one way: with more ways, 16 KiB of spaces would take a second of processor time.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the point
const HEADER = /^([\w!#$%&'*+.^`|~-]+):[ \t]*((?:[^\u0000-\u0020\u007f][^\u0000-\u0008\u000a-\u001f\u007f]*)?)$/;
/** At most as many digits as a double holds exactly. */
const LENGTH = /^\d{1,15}$/;

/**
 * The header section of a response, read line by line. If two parsers could read a line differently, it is refused, or the
 * connection is not used again.
 */
class ResponseHead {
  /** Null until the status line has come. */
  status: number | null = null;
  /** In the order and spelling in which they came. */
  readonly headers: Header[] = [];
  /** `Content-Length`; null: there is none. */
  length: number | null = null;
  isChunked = false;
  /** Whether the receiver lets the connection be used again. */
  isPersistent = true;
  /** Milliseconds for which the receiver keeps an idle connection; null: it does not say. */
  keepAliveMs: number | null = null;
  /** Whether `Transfer-Encoding` has come, be it `chunked` or `identity`. */
  #hasCoding = false;

  /**
   * @param line without its CRLF
   * @returns whether the section ends with this line
   * @throws InvalidResponseError
   */
  readLine(line: string): boolean {
    if (this.status === null) {
      // Empty lines before a status line are skipped, as RFC 9112 asks of servers before a request line.
      if (line !== "") this.#readStatus(line);
      return false;
    }
    if (line !== "") {
      this.#readHeader(line);
      return false;
    }
    if (this.length !== null && this.#hasCoding) throw new InvalidResponseError("not_http");
    return true;
  }

  #readStatus(line: string): void {
    const [, minorVersion, status] = STATUS_LINE.exec(line) ?? [];
    // 101 changes to another protocol, which we never ask for.
    if (status === undefined || status === "101") throw new InvalidResponseError("not_http");
    this.status = Number(status);
    this.isPersistent = minorVersion === "1";
  }

  #readHeader(line: string): void {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) return this.#continueHeader(line);
    this.headers.push([name, value]);
    switch (name.toLowerCase()) {
      case "content-length":
        return this.#readLength(value);
      case "transfer-encoding":
        return this.#readCoding(value.trimEnd().toLowerCase());
      case "connection":
        if (/\bclose\b/i.test(value)) this.isPersistent = false;
        return;
      case "keep-alive":
        this.keepAliveMs = readTimeout(value);
    }
  }

  /**
   * Reads a line that is no header by itself: it must begin with a space or tab, and continues the value of the header
   * before it (RFC 9112, obs-fold). Joins the parts by a space. Rejects a continued header that determines the length of
   * the body.
   * @throws InvalidResponseError
   */
  #continueHeader(line: string): void {
    const previous = this.headers.pop();
    const isFraming = previous !== undefined && /^(?:content-length|transfer-encoding)$/i.test(previous[0]);
    if (previous === undefined || isFraming || !/^[ \t]/.test(line)) throw new InvalidResponseError("not_http");
    // The line is read like the value of a header, with a name before it.
    const [, , more] = HEADER.exec(`x:${line}`) ?? [];
    if (more === undefined) throw new InvalidResponseError("not_http");
    const [name, value] = previous;
    this.headers.push([name, `${value} ${more}`]);
    // Other parsers reject such a line, so the connection is not used again.
    this.isPersistent = false;
  }

  #readLength(value: string): void {
    const digits = value.trimEnd();
    if (this.length !== null || !LENGTH.test(digits)) throw new InvalidResponseError("not_http");
    this.length = Number(digits);
    // Other parsers reject a space behind the digits, so the connection is not used again.
    if (digits !== value) this.isPersistent = false;
  }

  /** Accepts `chunked` and `identity`, also repeated, but not both. Other codings would need decoding. */
  #readCoding(coding: string): void {
    const isChunked = coding === "chunked";
    const isOther = this.#hasCoding && isChunked !== this.isChunked;
    if (isOther || (!isChunked && coding !== "identity")) throw new InvalidResponseError("not_http");
    this.#hasCoding = true;
    this.isChunked = isChunked;
  }
}

/** Returns the milliseconds that a `Keep-Alive` header such as `timeout=5, max=100` names; null: it names none. */
function readTimeout(value: string): number | null {
  const [, seconds] = /\btimeout=(\d{1,9})\b/i.exec(value) ?? [];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

/** Limits on a response, including its informational responses (1xx) and trailers. */
export interface ResponseLimits extends BodyLimits {
  /** Limits header sections and trailers, and separately the padding in the lines between chunks. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderLines: number;
  readonly maxInformational: number;
}

/** The part of the response to which the next byte belongs. `chunk_end`: the empty rest of the line behind a chunk. */
type Part = "head" | "body" | "chunk_size" | "chunk_end" | "trailers" | "end";

const STATUS_LINE_START = "HTTP/1.";
/** A chunk's size, and its ignored extensions. The digits are at most as many as a double holds exactly. */
const CHUNK_SIZE = /^0*([0-9a-f]{1,13})[ \t]*(?:;.*)?$/i;
/** Maximum bytes of a chunk-size line: 16 digits and CRLF. A longer line contains padding or an extension. */
const MAX_SIZE_LINE_BYTES = 18;
const LF = 10;

/** Reads one HTTP/1.1 response to a POST, in the pieces in which the network brings it, and keeps none of these buffers. */
export class ResponseParser {
  /** Null until the header section has ended. */
  status: number | null = null;
  /** Empty until the header section has ended. */
  headers: readonly Header[] = [];
  readonly body: BoundedBody;
  readonly #limits: ResponseLimits;
  #part: Part = "head";
  #head = new ResponseHead();
  /** The beginning of a line whose end has not come. */
  #line = "";
  #headerBytes = 0;
  #headerLines = 0;
  #informational = 0;
  /** Bytes of the body, or of its current chunk, that are still to come. */
  #bytesLeft = 0;
  #paddingBytes = 0;
  /** Bytes have come after the end of the response. */
  #hasBytesBehind = false;

  constructor(limits: ResponseLimits) {
    this.#limits = limits;
    this.body = new BoundedBody(limits);
  }

  /**
   * Reads received bytes.
   * @returns whether to stop: the response has ended, only trailers are missing, or enough is stored
   * @throws InvalidResponseError
   */
  read(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length && this.#part !== "end" && !this.body.isTruncated) {
      at = this.#part === "body" ? this.#readBody(bytes, at) : this.#readLine(bytes, at);
    }
    this.#hasBytesBehind ||= at < bytes.length;
    // Trailers are not stored, so a receiver that hangs while it sends them has answered.
    return this.#part === "end" || this.#part === "trailers" || this.body.isTruncated;
  }

  /** Whether the response ends where the receiver closes the connection now. */
  get endsWithConnection(): boolean {
    return this.#part === "body" && this.#bytesLeft === Number.POSITIVE_INFINITY;
  }

  /** Whether the response has ended with the last byte that came, and the receiver keeps the connection open. */
  get isReusable(): boolean {
    return this.#part === "end" && !this.#hasBytesBehind && this.#head.isPersistent && !this.body.isTruncated;
  }

  /** Milliseconds for which the receiver keeps an idle connection; null: it does not say. */
  get keepAliveMs(): number | null {
    return this.#head.keepAliveMs;
  }

  /** Reads up to the end of a line, or of the bytes. @returns where that is in the bytes */
  #readLine(bytes: Buffer, from: number): number {
    const lineEnd = bytes.indexOf(LF, from);
    const to = lineEnd === -1 ? bytes.length : lineEnd + 1;
    this.#countBytes(to - from);
    this.#line += bytes.toString("latin1", from, to);
    if (lineEnd !== -1) {
      const line = this.#line;
      this.#line = "";
      if (!line.endsWith("\r\n")) throw new InvalidResponseError("not_http");
      this.#endLine(line.slice(0, -2));
    } else if (this.#part === "head" && this.#head.status === null && !mayBecomeStatusLine(this.#line)) {
      // Throws before the line ends, because another protocol may never end it.
      throw new InvalidResponseError("not_http");
    }
    return to;
  }

  /**
   * Counts bytes before they are kept. Of a line between chunks, only what exceeds MAX_SIZE_LINE_BYTES counts. Endless
   * padding would cost little memory, but processor time until the timeout.
   */
  #countBytes(added: number): void {
    const { maxHeaderBytes } = this.#limits;
    if (this.#part === "head" || this.#part === "trailers") {
      this.#headerBytes += added;
      if (this.#headerBytes > maxHeaderBytes) throw new InvalidResponseError("headers_too_large");
      return;
    }
    const excess = (length: number) => Math.max(0, length - MAX_SIZE_LINE_BYTES);
    this.#paddingBytes += excess(this.#line.length + added) - excess(this.#line.length);
    if (this.#paddingBytes > maxHeaderBytes) throw new InvalidResponseError("padded_chunks");
  }

  #endLine(line: string): void {
    if (this.#part === "chunk_size") return this.#beginChunk(line);
    if (this.#part === "chunk_end") {
      if (line !== "") throw new InvalidResponseError("not_http");
      this.#part = "chunk_size";
      return;
    }
    this.#headerLines++;
    if (this.#headerLines > this.#limits.maxHeaderLines) throw new InvalidResponseError("headers_too_large");
    if (this.#part === "head") {
      if (this.#head.readLine(line)) this.#endHead();
    } else if (line === "") {
      this.#part = "end";
    }
  }

  #endHead(): void {
    const { status, headers, length, isChunked } = this.#head;
    if (status !== null && status < 200) {
      this.#head = new ResponseHead();
      this.#informational++;
      if (this.#informational <= this.#limits.maxInformational) return;
      throw new InvalidResponseError("too_many_informational");
    }
    this.status = status;
    this.headers = headers;
    if (status === 204 || status === 304 || length === 0) {
      // A 304 may announce the length of a body, and has none.
      // A 204 has no body, whatever its headers say; if one comes nevertheless, it must not be read as the next response.
      if (status === 204 && (isChunked || (length ?? 0) > 0)) this.#head.isPersistent = false;
      this.#part = "end";
    } else {
      this.#bytesLeft = length ?? Number.POSITIVE_INFINITY;
      this.#part = isChunked ? "chunk_size" : "body";
    }
  }

  #beginChunk(line: string): void {
    const [, digits] = CHUNK_SIZE.exec(line) ?? [];
    if (digits === undefined) throw new InvalidResponseError("not_http");
    // Other parsers reject spaces in this line, so the connection is not used again.
    if (/[ \t]/.test(line)) this.#head.isPersistent = false;
    this.#bytesLeft = Number.parseInt(digits, 16);
    this.#part = this.#bytesLeft === 0 ? "trailers" : "body";
  }

  /** Reads up to the end of the body, of its current chunk, or of the bytes. @returns where that is in the bytes */
  #readBody(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#bytesLeft);
    this.#bytesLeft -= to - from;
    this.body.append(bytes.subarray(from, to));
    if (this.#bytesLeft === 0) this.#part = this.#head.isChunked ? "chunk_end" : "end";
    return to;
  }
}

/** Tells whether an unfinished first line may still be a status line, or an empty line before one. */
function mayBecomeStatusLine(line: string): boolean {
  return line === "\r" || STATUS_LINE_START.startsWith(line.slice(0, STATUS_LINE_START.length));
}

/**
 * The size of the buffer once a second piece of a body has come. Most bodies fit. If one does not, the buffer grows to
 * its limit, and only the first piece and these 4 KiB become garbage.
 */
const SMALL_BUFFER_BYTES = 4 * 1024;

/** Limits on the stored part of a response body. */
interface BodyLimits {
  readonly maxBodyBytes: number;
  /** Limits the stored pieces: chunks, or the bytes of one network read. */
  readonly maxBodyPieces: number;
}

/**
 * The first bytes of a response body. Its buffer grows with the received bytes, so that an empty body costs nothing, and
 * copies them, so that it does not keep whole network buffers alive.
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
  append(piece: Uint8Array): void {
    const space = this.#piecesLeft-- > 0 ? this.#limit - this.#length : 0;
    // A view costs about 100 bytes, more than the pieces that some receivers send: it is made only where needed.
    const kept = piece.length <= space ? piece : piece.subarray(0, space);
    if (kept.length < piece.length) this.#isCut = true;
    this.#reserve(this.#length + kept.length);
    this.#buffer.set(kept, this.#length);
    this.#length += kept.length;
  }

  /** The body is longer than the stored part. */
  get isTruncated(): boolean {
    return this.#isCut;
  }

  /** Bytes that are kept. */
  get length(): number {
    return this.#length;
  }

  /** Returns the stored bytes in a buffer of at most twice their size, because the log holds it until it is written. */
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

  /**
   * Returns the buffer's next size. After the first piece it grows in two steps at most, because doubling would leave twice
   * as much to the garbage collector.
   */
  #sizeFor(length: number): number {
    if (length > SMALL_BUFFER_BYTES) return this.#limit;
    // The first piece is most often the whole body.
    return this.#length === 0 ? length : Math.min(SMALL_BUFFER_BYTES, this.#limit);
  }
}

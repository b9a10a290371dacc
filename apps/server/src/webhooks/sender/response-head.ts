import type { Header } from "./attempt.ts";

/** Why a response is not read further. */
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
 * A name, and a value without control characters; spaces before the value are not part of it. The value begins with
 * something else, so that there is one way to match: with two, 16 KiB of spaces would take a second of processor time.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the point
const HEADER = /^([\w!#$%&'*+.^`|~-]+):[ \t]*((?:[^\u0000-\u0020\u007f][^\u0000-\u0008\u000a-\u001f\u007f]*)?)$/;
/** At most as many digits as a double holds exactly. */
const LENGTH = /^\d{1,15}$/;

/** The header section of a response, read line by line. Whatever two parsers could read differently is refused. */
export class ResponseHead {
  /** Null until the status line has come. */
  status: number | null = null;
  /** In their order and spelling. */
  readonly headers: Header[] = [];
  /** `Content-Length`; null: there is none. */
  length: number | null = null;
  isChunked = false;
  /** Whether the receiver lets the connection be used again. */
  isPersistent = true;
  /** Milliseconds for which the receiver keeps an idle connection; null: it does not say. */
  keepAliveMs: number | null = null;
  #hasCoding = false;

  /**
   * @param line without its CRLF
   * @returns whether the section ends with it
   * @throws InvalidResponseError
   */
  readLine(line: string): boolean {
    if (this.status === null) {
      // Empty lines before a status line are skipped (RFC 9112).
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

  /** A value that goes on in the next line (RFC 9112, obs-fold) is joined by a space, unless it says where the body ends. */
  #continueHeader(line: string): void {
    const [name = "", value = ""] = this.headers.pop() ?? [];
    const isFraming = /^(?:|content-length|transfer-encoding)$/i.test(name);
    const [, , more] = /^[ \t]/.test(line) && !isFraming ? (HEADER.exec(`x:${line}`) ?? []) : [];
    if (more === undefined) throw new InvalidResponseError("not_http");
    this.headers.push([name, `${value} ${more}`]);
    // Others take such a line for an error: the connection is not used again.
    this.isPersistent = false;
  }

  #readLength(value: string): void {
    const digits = value.trimEnd();
    if (this.length !== null || !LENGTH.test(digits)) throw new InvalidResponseError("not_http");
    this.length = Number(digits);
    // Others take a space behind the digits for an error: such a connection is not used again.
    if (digits !== value) this.isPersistent = false;
  }

  #readCoding(coding: string): void {
    const isChunked = coding === "chunked";
    const isOther = this.#hasCoding && isChunked !== this.isChunked;
    if (isOther || (!isChunked && coding !== "identity")) throw new InvalidResponseError("not_http");
    this.#hasCoding = true;
    this.isChunked = isChunked;
  }
}

function readTimeout(value: string): number | null {
  const [, seconds] = /\btimeout=(\d{1,9})\b/i.exec(value) ?? [];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

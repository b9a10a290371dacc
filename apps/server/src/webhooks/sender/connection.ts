import type { Socket } from "node:net";
import { describeFailure } from "../../outbound/addresses/address-guard.ts";
import { type ConnectLimits, describeTlsError } from "../../outbound/addresses/connect.ts";
import type { Failure, Header } from "../rules/after-attempt.ts";
import { InvalidResponseError, ResponseParser, type ResponseViolation } from "./response-parser.ts";

/* Sends one request at a time over a connection to a receiver, and reads the response within limits. */

/** Limits of one attempt, and of the idle connections between attempts. */
export interface SenderLimits extends ConnectLimits {
  readonly dnsTimeoutMs: number;
  /** For the whole attempt, the response body included. */
  readonly totalTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderLines: number;
  /** Maximum informational responses (1xx) before the response. */
  readonly maxInformational: number;
  /** Limits the stored pieces of a response body: chunks, or the bytes of one network read. */
  readonly maxBodyPieces: number;
  /** Milliseconds for which a connection may be idle when the receiver announces no timeout. */
  readonly idleTimeoutMs: number;
  /** Maximum milliseconds of idling, even if the receiver names a longer time (`Keep-Alive: timeout=…`). */
  readonly maxIdleTimeoutMs: number;
  /** Maximum age of a connection that another request may use. */
  readonly maxAgeMs: number;
  /** Milliseconds for which connections of an origin are not reused after it closed one while a request was written. */
  readonly noReuseMs: number;
  /** Maximum idle connections to one origin, and to all together. */
  readonly maxIdlePerOrigin: number;
  readonly maxIdle: number;
}

export const senderLimits: SenderLimits = {
  dnsTimeoutMs: 3_000,
  connectTimeoutMs: 5_000,
  // An attempt begins only while this worker's lease, its exclusive right to send the endpoint's deliveries, lasts for
  // `MIN_LEASE_LEFT_MS` (16 s) more. Too high: the lease ends during the attempt, and another worker sends the delivery too.
  totalTimeoutMs: 15_000,
  // RFC 8305. Too low: connects twice to every distant receiver. Too high: delays each attempt when the first address
  // is dead.
  attemptDelayMs: 250,
  // A name with hundreds of dead addresses would otherwise open hundreds of sockets.
  maxAddresses: 6,
  maxBodyBytes: 64 * 1024,
  // Node's default. Too high: all attempts in flight together take too much memory.
  maxHeaderBytes: 16 * 1024,
  // Each name and value is a separate string: 16 KiB of two-byte names would take hundreds of KB.
  maxHeaderLines: 200,
  maxInformational: 20,
  // 64 bytes on average for the stored part. Too high: a body of one-byte chunks takes 8 ms of processor time and leaves
  // megabytes of garbage. Too low: truncates the responses of servers that write line by line.
  maxBodyPieces: 1_024,
  // Most servers close idle connections after 5 s or more. Too high: we write into a connection that is being closed.
  idleTimeoutMs: 4_000,
  maxIdleTimeoutMs: 10_000,
  // A changed DNS answer, or an address that has become a forbidden one, counts after a minute at the latest.
  maxAgeMs: 60_000,
  // Too low: each time the connections are reused again, another attempt may fail.
  noReuseMs: 10 * 60_000,
  // An endpoint has at most 10 attempts in flight, but one host may serve the endpoints of many partners. Too low: most
  // of their attempts open a connection of their own. Too high: one host holds most idle connections.
  maxIdlePerOrigin: 100,
  // Each idle connection takes a file descriptor. A process often has only 1,024.
  maxIdle: 1_000,
};

/** The outcome of one request over one connection. */
export interface RoundTripResult {
  /** Null: the response is complete, or as much of it has come as is kept. */
  readonly failure: Failure | null;
  /** False proves that the receiver has not seen the request. */
  readonly isWritten: boolean;
  /** Null: no response headers arrived. */
  readonly status: number | null;
  readonly headers: readonly Header[];
  /** The stored part of the body, at most `maxBodyBytes`. */
  readonly body: Uint8Array;
  /** The body is longer than the stored part. */
  readonly isTruncated: boolean;
  /** Milliseconds from the request's last byte to the response's first; null: no byte came. */
  readonly firstByteMs: number | null;
}

export interface ConnectionOptions {
  readonly origin: string;
  readonly remoteAddress: string | null;
  readonly limits: SenderLimits;
  readonly monotonic: () => number;
}

/** Subtracted from the idle timeout that a receiver names, for the time that a request takes to reach it. */
const IDLE_MARGIN_MS = 1_000;

/** One connection to one origin, at an address that may be called. It carries one request at a time. */
export class Connection {
  readonly origin: string;
  readonly remoteAddress: string | null;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #openedAt: number;
  #exchange: Exchange | undefined;
  #requestCount = 0;
  /** Milliseconds for which the connection may be idle until the next request. */
  #idleMs = 0;
  /** Removes the connection from the idle ones; undefined: it was never idle. */
  #onClose: (() => void) | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.origin = options.origin;
    this.remoteAddress = options.remoteAddress;
    this.#socket = socket;
    this.#options = options;
    this.#openedAt = options.monotonic();
    // Unsolicited bytes must not be taken for the next response.
    socket.on("data", (bytes: Buffer) => (this.#exchange === undefined ? this.destroy() : this.#exchange.read(bytes)));
    socket.on("end", () => {
      this.#exchange?.close();
      this.destroy();
    });
    socket.on("error", (error) => this.#exchange?.fail(error));
    socket.on("close", () => {
      this.#exchange?.close();
      this.#onClose?.();
    });
    socket.on("timeout", () => this.destroy());
  }

  /** Whether another request may use it. The receiver may still have closed it. */
  isUsable(): boolean {
    const { monotonic, limits } = this.#options;
    return !this.#socket.destroyed && monotonic() - this.#openedAt < limits.maxAgeMs;
  }

  /**
   * Writes a request and reads its response, as much of it as is kept. The connection is closed afterwards unless another
   * request may use it.
   */
  async send(request: Uint8Array, timeoutMs: number): Promise<RoundTripResult> {
    const socket = this.#socket;
    socket.setTimeout(0);
    const exchange = new Exchange(this.#options, timeoutMs, this.#requestCount > 0);
    this.#exchange = exchange;
    this.#requestCount++;
    if (socket.destroyed) exchange.close();
    else {
      socket.write(request);
      exchange.noteWritten();
    }
    const result = await exchange.result;
    this.#exchange = undefined;
    this.#idleMs = this.#idleTimeout(exchange.keepAliveMs);
    // Closes the connection also if data is left unwritten, which would delay the next request.
    if (!exchange.isReusable || socket.writableLength > 0 || this.#idleMs <= 0) this.destroy();
    return result;
  }

  /** Closes the connection unless the next request comes in time. @param onClose called when it is closed */
  beginIdle(onClose: () => void): void {
    this.#onClose = onClose;
    this.#socket.setTimeout(this.#idleMs);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Returns for how long the connection may be idle; 0 or less: it may not. @param keepAliveMs null: not announced */
  #idleTimeout(keepAliveMs: number | null): number {
    const { idleTimeoutMs, maxIdleTimeoutMs } = this.#options.limits;
    return keepAliveMs === null ? idleTimeoutMs : Math.min(keepAliveMs - IDLE_MARGIN_MS, maxIdleTimeoutMs);
  }
}

/**
 * Network buffers of at least this size are freed at once. Too low: costs a call for every ordinary response. Too high:
 * a receiver that sends slightly smaller pieces leaves 64 KiB of garbage in each attempt, beside the 64 KiB that are
 * kept.
 */
const LARGE_BUFFER_BYTES = 2_048;

/**
 * One request and its response. Only the first call of `#end` counts: further calls follow when the connection is closed.
 */
class Exchange {
  readonly result: Promise<RoundTripResult>;
  readonly #resolve: (result: RoundTripResult) => void;
  readonly #parser: ResponseParser;
  readonly #limits: SenderLimits;
  readonly #monotonic: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #isReused: boolean;
  #sentAt: number | null = null;
  #firstByteMs: number | null = null;

  constructor({ limits, monotonic }: ConnectionOptions, timeoutMs: number, isReused: boolean) {
    const { promise, resolve } = Promise.withResolvers<RoundTripResult>();
    this.result = promise;
    this.#resolve = resolve;
    this.#parser = new ResponseParser(limits);
    this.#limits = limits;
    this.#monotonic = monotonic;
    this.#isReused = isReused;
    this.#timer = setTimeout(() => this.#end(this.#timeoutFailure()), timeoutMs);
  }

  get isReusable(): boolean {
    return this.#parser.isReusable;
  }

  get keepAliveMs(): number | null {
    return this.#parser.keepAliveMs;
  }

  noteWritten(): void {
    this.#sentAt = this.#monotonic();
  }

  read(bytes: Buffer): void {
    if (this.#sentAt !== null) this.#firstByteMs ??= this.#monotonic() - this.#sentAt;
    try {
      if (this.#parser.read(bytes)) this.#end(null);
    } catch (error) {
      this.fail(error);
    }
    if (bytes.length >= LARGE_BUFFER_BYTES) free(bytes);
  }

  /** The receiver has closed the connection. */
  close(): void {
    this.#end(this.#parser.endsWithConnection ? null : this.#closeFailure());
  }

  fail(error: unknown): void {
    if (error instanceof InvalidResponseError) this.#end(describeViolation(error.violation, this.#limits));
    else if (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_SSL_"))
      this.#end(describeFailure("tls", describeTlsError(error)));
    else this.#end(this.#closeFailure());
  }

  #end(failure: Failure | null): void {
    clearTimeout(this.#timer);
    const { status, headers, body } = this.#parser;
    this.#resolve({
      failure,
      isWritten: this.#sentAt !== null,
      status,
      headers,
      body: body.bytes(),
      isTruncated: body.isTruncated,
      firstByteMs: this.#firstByteMs,
    });
  }

  #timeoutFailure(): Failure {
    return this.#parser.status === null
      ? describeFailure("timeout", "The response headers did not arrive in time.")
      : describeFailure("body_timeout", "The response body did not end in time.");
  }

  #closeFailure(): Failure {
    if (this.#sentAt !== null && this.#firstByteMs === null && this.#isReused) {
      return describeFailure(
        "stale_connection",
        "The receiver closed a reused connection as the request was written. Whether it read the request is not known.",
      );
    }
    return describeFailure("reset", `The receiver closed the connection ${this.#progress()}.`);
  }

  #progress(): string {
    if (this.#sentAt === null) return "before the request was written";
    if (this.#firstByteMs === null) return "without a response";
    return this.#parser.status === null ? "within the response headers" : "within the response body";
  }
}

/**
 * Frees a buffer that has been read, because the garbage collector comes much later: with 500 attempts that each keep 64 KiB
 * of a response, the network buffers take 30 MiB more.
 */
function free({ buffer, length }: Buffer): void {
  // Frees only a buffer with memory of its own: small buffers share memory of Node's pool.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

function describeViolation(violation: ResponseViolation, limits: SenderLimits): Failure {
  const { maxHeaderBytes, maxHeaderLines, maxInformational } = limits;
  switch (violation) {
    case "headers_too_large":
      return describeFailure(
        "headers_too_large",
        `The response headers exceed ${maxHeaderBytes / 1024} KiB or ${maxHeaderLines} lines.`,
      );
    case "too_many_informational":
      return describeFailure(
        "too_many_informational",
        `More than ${maxInformational} informational responses (1xx) came before the final response.`,
      );
    case "not_http":
      return describeFailure("protocol", "The response is not valid HTTP/1.1.");
    case "padded_chunks":
      return describeFailure(
        "protocol",
        `The chunk sizes and extensions of the response body exceed ${maxHeaderBytes / 1024} KiB.`,
      );
  }
}

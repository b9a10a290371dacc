import { errors } from "undici";
import type { Dispatcher } from "undici";
import { describeFailure } from "../../addresses/connect-failure.ts";
import { describeTlsError } from "../../addresses/sockets.ts";
import type { Failure, Header } from "./attempt.ts";
import { BoundedBody } from "./bounded-body.ts";
import type { BodyLimits } from "./bounded-body.ts";
import { InvalidResponseError } from "./connection.ts";
import type { ResponseObserver, Connection } from "./connection.ts";
import { senderLimits } from "./sender-limits.ts";

/** A POST as it is written to the connection. */
export interface PostRequest {
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
}

export interface RoundTripOptions extends BodyLimits {
  /** Until the last byte of the response. */
  readonly timeoutMs: number;
  readonly monotonic: () => number;
}

/** The outcome of one POST over one connection. */
export interface RoundTripResult {
  readonly failure: Failure | null;
  /** Whether the request was handed to the socket; false proves that the receiver has not seen it. */
  readonly isWritten: boolean;
  readonly status: number | null;
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
  readonly isTruncated: boolean;
  /** Whether request and response have ended with their last byte, so that the connection may be reused. */
  readonly isReusable: boolean;
  readonly firstByteMs: number | null;
}

/**
 * Writes one POST and reads its response, as much of it as is kept.
 *
 * @throws Error when the request itself is malformed (a line break in a header)
 */
export function roundTrip(
  connection: Connection,
  request: PostRequest,
  options: RoundTripOptions,
): Promise<RoundTripResult> {
  return new Promise((resolve, reject) => {
    const { path, headers, body } = request;
    const handler = new ResponseReader(connection, options, resolve, reject);
    connection.client.dispatch({ method: "POST", path, headers: headers.flat(), body }, handler);
  });
}

class ResponseReader implements Dispatcher.DispatchHandler, ResponseObserver {
  readonly #connection: Connection;
  readonly #monotonic: () => number;
  readonly #resolve: (result: RoundTripResult) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #body: BoundedBody;
  #sentAt: number | null = null;
  #firstByteMs: number | null = null;
  #status: number | null = null;
  #headers: readonly Header[] = [];
  #isReusable = false;

  constructor(
    connection: Connection,
    { timeoutMs, monotonic, ...bodyLimits }: RoundTripOptions,
    resolve: (result: RoundTripResult) => void,
    reject: (error: Error) => void,
  ) {
    this.#connection = connection;
    this.#monotonic = monotonic;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#body = new BoundedBody(bodyLimits);
    this.#timer = setTimeout(() => this.#end(this.#timeoutFailure()), timeoutMs);
  }

  onRequestStart(): void {
    this.#connection.beginRequest(this);
  }

  onRequestSent(): void {
    this.#sentAt = this.#monotonic();
  }

  onFirstByte(): void {
    if (this.#sentAt !== null) this.#firstByteMs ??= this.#monotonic() - this.#sentAt;
  }

  onLastChunk(): void {
    this.#end(null);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
    this.#headers = readPairs(controller.rawHeaders);
    // They are views of a network buffer. If undici kept them, each attempt would hold another 64 KiB until its end.
    controller.rawHeaders = null;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body.append(chunk);
    if (!this.#body.isTruncated) return;
    this.#end(null);
    controller.abort(new Error("Enough of the response is kept."));
  }

  onResponseEnd(): void {
    this.#isReusable = !this.#connection.isWriting;
    this.#end(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) {
      clearTimeout(this.#timer);
      this.#reject(error);
      return;
    }
    this.#end(this.#hasCompleteBody(error) ? null : this.#explain(error));
  }

  /** undici reads a space behind a Content-Length as a digit, and reports a mismatch for a body of the right length. */
  #hasCompleteBody(error: Error): boolean {
    if (!(error instanceof errors.ResponseContentLengthMismatchError)) return false;
    const length = this.#headers.find(([name]) => name.toLowerCase() === "content-length")?.[1].trim() ?? "";
    return /^\d+$/.test(length) && Number(length) === this.#body.length;
  }

  /** Only the first call counts: the connection is destroyed after it, which raises errors of its own. */
  #end(failure: Failure | null): void {
    clearTimeout(this.#timer);
    this.#resolve({
      failure,
      isWritten: this.#sentAt !== null,
      status: this.#status,
      headers: this.#headers,
      body: this.#body.bytes(),
      isTruncated: this.#body.isTruncated,
      isReusable: this.#isReusable,
      firstByteMs: this.#firstByteMs,
    });
  }

  #timeoutFailure(): Failure {
    return this.#status === null
      ? describeFailure("timeout", "The response headers did not arrive in time.")
      : describeFailure("body_timeout", "The response body did not end in time.");
  }

  #explain(error: Error): Failure {
    if (error instanceof InvalidResponseError) return violations[error.violation];
    if (error instanceof errors.HeadersOverflowError) return violations.headers_too_large;
    if (error instanceof errors.HTTPParserError) return describeFailure("protocol", `${error.message}.`);
    if (error instanceof errors.ResponseContentLengthMismatchError && !this.#connection.hasEnded) {
      return describeFailure("protocol", "The length of the response body is not its Content-Length.");
    }
    if (error instanceof errors.SocketError && error.message.startsWith("bad ")) {
      return describeFailure("protocol", "The receiver sent more than one response to a request.");
    }
    if ("code" in error && String(error.code).startsWith("ERR_SSL_")) {
      return describeFailure("tls", describeTlsError(error));
    }
    if (this.#sentAt !== null && this.#firstByteMs === null && this.#connection.requestCount > 0) {
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
    return this.#status === null ? "within the response headers" : "within the response body";
  }
}

const violations = {
  headers_too_large: describeFailure(
    "headers_too_large",
    `The response headers exceed ${kib(senderLimits.maxHeaderBytes)} or ${senderLimits.maxHeaderLines} lines.`,
  ),
  too_many_informational: describeFailure(
    "too_many_informational",
    `More than ${senderLimits.maxInformational} informational responses (1xx) came before the final response.`,
  ),
  not_http: describeFailure("protocol", "The response is not valid HTTP/1.1."),
  padded_chunks: describeFailure(
    "protocol",
    `The chunk sizes and extensions of the response body exceed ${kib(senderLimits.maxHeaderBytes)}.`,
  ),
} as const;

function kib(bytes: number): string {
  return `${bytes / 1024} KiB`;
}

function readPairs(raw: Dispatcher.DispatchController["rawHeaders"]): Header[] {
  if (!Array.isArray(raw)) return [];
  const texts = raw.map((part) => (typeof part === "string" ? part : part.toString("latin1")));
  return Array.from({ length: texts.length / 2 }, (_, index) => [texts[index * 2] ?? "", texts[index * 2 + 1] ?? ""]);
}

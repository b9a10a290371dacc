import { errors } from "undici";
import type { Dispatcher } from "undici";
import { describeFailure } from "../../addresses/dial-failure.ts";
import { describeTlsError } from "../../addresses/secure.ts";
import type { Failure, Header } from "./attempt.ts";
import { BoundedBody } from "./bounded-body.ts";
import type { BodyLimits } from "./bounded-body.ts";
import { InvalidResponseHeadError } from "./connection.ts";
import type { AnswerWatcher, Connection } from "./connection.ts";

/** A POST in the form in which it is written. */
export interface WireRequest {
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
}

export interface ExchangeOptions extends BodyLimits {
  /** Until the answer's last byte. */
  readonly timeoutMs: number;
  readonly monotonic: () => number;
}

/** What one POST over one connection came to. */
export interface Exchanged {
  readonly failure: Failure | null;
  /** Whether the request was handed to the socket; false proves that the far side has not seen it. */
  readonly isWritten: boolean;
  readonly status: number | null;
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
  readonly isCut: boolean;
  /** Whether request and answer are over to their last byte, so that the connection may carry others. */
  readonly isOver: boolean;
  readonly firstByteMs: number | null;
}

/**
 * Writes one POST and reads its answer, as much of it as is kept.
 *
 * @throws Error when the request itself is malformed (a line break in a header)
 */
export function exchange(connection: Connection, request: WireRequest, options: ExchangeOptions): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const { path, headers, body } = request;
    const handler = new AnswerReader(connection, options, resolve, reject);
    connection.client.dispatch({ method: "POST", path, headers: headers.flat(), body }, handler);
  });
}

class AnswerReader implements Dispatcher.DispatchHandler, AnswerWatcher {
  readonly #connection: Connection;
  readonly #monotonic: () => number;
  readonly #resolve: (exchanged: Exchanged) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #body: BoundedBody;
  #sentAt: number | null = null;
  #firstByteMs: number | null = null;
  #status: number | null = null;
  #headers: readonly Header[] = [];
  #isOver = false;

  constructor(
    connection: Connection,
    { timeoutMs, monotonic, ...bodyLimits }: ExchangeOptions,
    resolve: (exchanged: Exchanged) => void,
    reject: (error: Error) => void,
  ) {
    this.#connection = connection;
    this.#monotonic = monotonic;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#body = new BoundedBody(bodyLimits);
    this.#timer = setTimeout(() => this.#end(this.#lateness()), timeoutMs);
  }

  onRequestStart(): void {
    this.#connection.begin(this);
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
    // They are views of the network buffer they came in: kept, each attempt would hold another 64 KiB until its end.
    controller.rawHeaders = null;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body.append(chunk);
    if (!this.#body.isCut) return;
    this.#end(null);
    controller.abort(new Error("Enough of the answer is kept."));
  }

  onResponseEnd(): void {
    this.#isOver = !this.#connection.isWriting;
    this.#end(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) {
      clearTimeout(this.#timer);
      this.#reject(error);
      return;
    }
    this.#end(this.#isWholeAllTheSame(error) ? null : this.#explain(error));
  }

  /** undici takes a space behind a Content-Length for a digit, and the length for a wrong one once it has come true. */
  #isWholeAllTheSame(error: Error): boolean {
    if (!(error instanceof errors.ResponseContentLengthMismatchError)) return false;
    const length = this.#headers.find(([name]) => name.toLowerCase() === "content-length")?.[1].trim() ?? "";
    return /^\d+$/.test(length) && Number(length) === this.#body.length;
  }

  /** Only the first end counts: what is destroyed after it has its own errors. */
  #end(failure: Failure | null): void {
    clearTimeout(this.#timer);
    this.#resolve({
      failure,
      isWritten: this.#sentAt !== null,
      status: this.#status,
      headers: this.#headers,
      body: this.#body.bytes(),
      isCut: this.#body.isCut,
      isOver: this.#isOver,
      firstByteMs: this.#firstByteMs,
    });
  }

  #lateness(): Failure {
    return this.#status === null
      ? describeFailure("timeout", "No status and headers came in time.")
      : describeFailure("body_timeout", "The answer's body did not end in time.");
  }

  #explain(error: Error): Failure {
    if (error instanceof InvalidResponseHeadError) return headViolations[error.violation];
    if (error instanceof errors.HeadersOverflowError) return headViolations.headers_too_large;
    if (error instanceof errors.HTTPParserError) return describeFailure("protocol", `${error.message}.`);
    if (error instanceof errors.ResponseContentLengthMismatchError && !this.#connection.hasEnded) {
      return describeFailure("protocol", "The answer contradicts its own length.");
    }
    if (error instanceof errors.SocketError && error.message.startsWith("bad ")) {
      return describeFailure("protocol", "The far side answered more than it was asked.");
    }
    if ("code" in error && String(error.code).startsWith("ERR_SSL_")) {
      return describeFailure("tls", describeTlsError(error));
    }
    if (this.#sentAt !== null && this.#firstByteMs === null && this.#connection.uses > 0) {
      return describeFailure(
        "stale_connection",
        "The far side closed a kept connection as the request was written. Whether it read the request is not known.",
      );
    }
    return describeFailure("reset", `The far side closed ${this.#place()}.`);
  }

  #place(): string {
    if (this.#sentAt === null) return "before the request was written";
    if (this.#firstByteMs === null) return "without an answer";
    return this.#status === null ? "within the answer's headers" : "within the answer's body";
  }
}

const headViolations = {
  headers_too_large: describeFailure("headers_too_large", "The answer has more or longer headers than are read."),
  too_many_informational: describeFailure(
    "too_many_informational",
    "Too many informational answers (1xx) came before the one that counts.",
  ),
  not_http: describeFailure("protocol", "The answer is not valid HTTP/1.1."),
  padded_chunks: describeFailure("protocol", "The answer's chunks carry more extensions than are read."),
} as const;

function readPairs(raw: Dispatcher.DispatchController["rawHeaders"]): Header[] {
  if (!Array.isArray(raw)) return [];
  const texts = raw.map((part) => (typeof part === "string" ? part : part.toString("latin1")));
  return Array.from({ length: texts.length / 2 }, (_, index) => [texts[index * 2] ?? "", texts[index * 2 + 1] ?? ""]);
}

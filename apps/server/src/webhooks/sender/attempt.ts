/** One POST as it goes to a receiver. */
export interface AttemptRequest {
  readonly url: string;
  /**
   * Without those that the connection itself needs (`host`, `connection`, `content-length` and their like): the sender
   * writes these.
   */
  readonly headers: readonly Header[];
  readonly body: string | Uint8Array;
}

export type Header = readonly [name: string, value: string];

/**
 * Why no whole answer came. The set is closed: logs and pages may explain each.
 *
 * - `url_refused`, `address_refused`: we did not call, by our own rules.
 * - `dns`, `dns_timeout`: the name has no address, or nobody said so in time.
 * - `connect_refused`, `connect_timeout`, `connect`: no connection; the timeout counts the TLS handshake in.
 * - `tls`: no connection that can be trusted, such as a wrong or expired certificate, or one that broke TLS later on.
 * - `timeout`: connected, but no status and headers in time.
 * - `body_timeout`: status and headers, but the body did not end in time.
 * - `reset`: closed by the far side before the answer was whole.
 * - `stale_connection`: a connection kept from an earlier attempt was closed by the far side as we wrote, before any
 *   byte of answer. Most likely nobody read the request, but that cannot be known, so it is not repeated here.
 * - `protocol`: what came is no HTTP/1.1, or pads it out beyond measure.
 * - `headers_too_large`, `too_many_informational`: an answer that only serves to fill our memory.
 */
export type AttemptFailure =
  | "url_refused"
  | "address_refused"
  | "dns"
  | "dns_timeout"
  | "connect_refused"
  | "connect_timeout"
  | "connect"
  | "tls"
  | "timeout"
  | "body_timeout"
  | "reset"
  | "stale_connection"
  | "protocol"
  | "headers_too_large"
  | "too_many_informational";

/** Milliseconds that each part took; null where it did not happen, as on a connection kept from an earlier attempt. */
export interface AttemptTimings {
  readonly dns: number | null;
  /** TCP. */
  readonly connect: number | null;
  readonly tls: number | null;
  /** From the request's last byte to the answer's first. */
  readonly firstByte: number | null;
  readonly total: number;
}

/** What the log keeps of an attempt, however it ended. */
export interface AttemptRecord {
  /** All headers that went over the wire, in their order and spelling; none where nothing was written. */
  readonly sentHeaders: readonly Header[];
  readonly remoteAddress: string | null;
  /** Whether an earlier attempt had opened the connection. */
  readonly reusedConnection: boolean;
  readonly answerHeaders: readonly Header[];
  /** The first 64 KiB, exactly as they came: nothing is unpacked. */
  readonly answerBody: Uint8Array;
  /** Whether there was more than was kept. */
  readonly answerCut: boolean;
  /** Milliseconds for which the answer's `Retry-After` asks; null where it does not. */
  readonly retryAfterMs: number | null;
  readonly timings: AttemptTimings;
}

/** `succeeded`: a 2xx. `rejected`: any other answer, redirects among them. */
export interface AnsweredAttempt extends AttemptRecord {
  readonly outcome: "succeeded" | "rejected";
  readonly status: number;
  readonly failure: null;
  readonly detail: null;
}

/** No whole answer. `status` where the far side had begun to answer; `detail` says in words what happened. */
export interface FailedAttempt extends AttemptRecord {
  readonly outcome: "failed";
  readonly status: number | null;
  readonly failure: AttemptFailure;
  readonly detail: string;
}

/** How one POST ended. */
export type AttemptResult = AnsweredAttempt | FailedAttempt;

/** A failure before it became part of a result. */
export interface Failure {
  readonly failure: AttemptFailure;
  readonly detail: string;
}

/** The longest `detail`: room for OpenSSL's sentences, none for a far side that writes its own. */
const MAX_DETAIL = 300;

/** A failure in words that may be shown: without control characters and of bounded length, whoever wrote them. */
export function describeFailure(failure: AttemptFailure, words: string): Failure {
  // oxlint-disable-next-line no-control-regex -- control characters are the point
  const safe = words.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();
  return { failure, detail: safe.length > MAX_DETAIL ? `${safe.slice(0, MAX_DETAIL - 1)}…` : safe };
}

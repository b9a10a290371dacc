import type { DescribedFailure, DialFailureKind } from "../../addresses/dial-failure.ts";
import type { DialTimings } from "../../addresses/dial.ts";

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
 * - `url_refused`: we did not call, by our own rules.
 * - `tls` of a connection: it broke TLS later on.
 * - `timeout`: connected, but no status and headers in time.
 * - `body_timeout`: status and headers, but the body did not end in time.
 * - `reset`: closed by the far side before the answer was whole.
 * - `stale_connection`: a connection kept from an earlier attempt was closed by the far side as we wrote, before any
 *   byte of answer. Most likely nobody read the request, but that cannot be known, so it is not repeated here.
 * - `protocol`: what came is no HTTP/1.1, or pads it out beyond measure.
 * - `headers_too_large`, `too_many_informational`: an answer that only serves to fill our memory.
 */
export type AttemptFailure =
  | DialFailureKind
  | "url_refused"
  | "timeout"
  | "body_timeout"
  | "stale_connection"
  | "protocol"
  | "headers_too_large"
  | "too_many_informational";

/** Milliseconds that each part took; null where it did not happen, as on a connection kept from an earlier attempt. */
export interface AttemptTimings extends DialTimings {
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
export type Failure = DescribedFailure<AttemptFailure>;

import type { DescribedFailure, ConnectFailureCode } from "../../outbound/addresses/connect-failure.ts";
import type { ConnectTimings } from "../../outbound/addresses/connect.ts";

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
 * Why there is no complete response. The set is closed: logs and pages may explain each.
 *
 * - `url_refused`: the URL may not be called, by our own rules.
 * - `tls`: also where an open connection breaks TLS later.
 * - `timeout`: connected, but no response headers in time.
 * - `body_timeout`: response headers, but the body did not end in time.
 * - `reset`: closed by the receiver before the response was complete.
 * - `stale_connection`: the receiver closed a connection of an earlier attempt as we wrote, before any byte of a response.
 *   Most likely nobody read the request, but that cannot be known, so it is not repeated here.
 * - `protocol`: the response is not valid HTTP/1.1, or is padded with chunk extensions.
 * - `headers_too_large`, `too_many_informational`: a response that would fill our memory.
 */
export type AttemptFailure =
  | ConnectFailureCode
  | "url_refused"
  | "timeout"
  | "body_timeout"
  | "stale_connection"
  | "protocol"
  | "headers_too_large"
  | "too_many_informational";

/** Milliseconds that each part took; null where it did not happen, as on a reused connection. */
export interface AttemptTimings extends ConnectTimings {
  /** From the request's last byte to the response's first. */
  readonly firstByte: number | null;
  readonly total: number;
}

/** The logged facts of an attempt, whatever its outcome. */
export interface AttemptRecord {
  /** All headers as they were sent, in their order and spelling; empty where nothing was written. */
  readonly sentHeaders: readonly Header[];
  readonly remoteAddress: string | null;
  /** Whether an earlier attempt had opened the connection. */
  readonly reusedConnection: boolean;
  readonly answerHeaders: readonly Header[];
  /** The first 64 KiB, exactly as they came: nothing is decompressed. */
  readonly answerBody: Uint8Array;
  /** The body was longer than the stored part. */
  readonly answerCut: boolean;
  /** Milliseconds that `Retry-After` asks to wait; null without it. */
  readonly retryAfterMs: number | null;
  readonly timings: AttemptTimings;
}

/** `succeeded`: a 2xx. `rejected`: any other status, redirects among them. */
export interface AnsweredAttempt extends AttemptRecord {
  readonly outcome: "succeeded" | "rejected";
  readonly status: number;
  readonly failure: null;
  readonly detail: null;
}

/** No complete response. `status` is set if response headers arrived; `detail` describes the failure. */
export interface FailedAttempt extends AttemptRecord {
  readonly outcome: "failed";
  readonly status: number | null;
  readonly failure: AttemptFailure;
  readonly detail: string;
}

/** The outcome of one POST. */
export type AttemptResult = AnsweredAttempt | FailedAttempt;

/** A failure before it became part of a result. */
export type Failure = DescribedFailure<AttemptFailure>;

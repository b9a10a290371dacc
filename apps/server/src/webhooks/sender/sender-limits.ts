import type { ConnectLimits } from "../../outbound/addresses/connect.ts";

/** Limits of one attempt, and of the idle connections between attempts. */
export interface SenderLimits extends ConnectLimits {
  readonly dnsTimeoutMs: number;
  /** For the whole attempt, the response body included. */
  readonly totalTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderLines: number;
  readonly maxInformational: number;
  /** Limits the pieces of a response body: chunks, or the bytes of one network read. */
  readonly maxBodyPieces: number;
  /** Milliseconds for which a connection may be idle when the receiver announces no timeout. */
  readonly idleTimeoutMs: number;
  /** The longest idle time that a receiver may name (`Keep-Alive: timeout=…`). */
  readonly maxIdleTimeoutMs: number;
  readonly maxAgeMs: number;
  /** Milliseconds for which connections of an origin are not reused after it closed one while a request was written. */
  readonly noReuseMs: number;
  readonly maxIdlePerOrigin: number;
  readonly maxIdle: number;
}

export const senderLimits: SenderLimits = {
  dnsTimeoutMs: 3_000,
  connectTimeoutMs: 5_000,
  // Too high: the lease of 25 s ends, and another worker sends the same delivery meanwhile.
  totalTimeoutMs: 15_000,
  // RFC 8305. Too low: connects twice to every distant receiver. Too high: delays each attempt when the first address
  // is dead.
  attemptDelayMs: 250,
  // A name with hundreds of dead addresses would otherwise open hundreds of sockets.
  maxAddresses: 6,
  maxBodyBytes: 64 * 1024,
  // Node's default. Too high: multiplies by all attempts in flight.
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
  // Each time it ends, another attempt may fail.
  noReuseMs: 10 * 60_000,
  // An endpoint has at most 10 attempts in flight, but one host may serve the endpoints of many partners. Too low: most
  // of their attempts open a connection of their own. Too high: one host holds most idle connections.
  maxIdlePerOrigin: 100,
  // Each is a file descriptor, of which a process often has 1,024.
  maxIdle: 1_000,
};

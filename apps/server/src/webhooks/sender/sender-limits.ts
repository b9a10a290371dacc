import type { DialLimits } from "../../addresses/dial.ts";

/** What one attempt and the connections kept between attempts may cost. Times in milliseconds, sizes in bytes. */
export interface SenderLimits extends DialLimits {
  readonly dnsMs: number;
  /** Everything, the answer's body included. */
  readonly totalMs: number;
  readonly bodyBytes: number;
  readonly headBytes: number;
  readonly headLines: number;
  readonly informational: number;
  /** Of a body: chunks, or what arrives at a time. */
  readonly pieces: number;
  /** How long a kept connection may be idle where the far side names no time of its own. */
  readonly idleMs: number;
  /** The same where it does (`Keep-Alive: timeout=…`). */
  readonly longestIdleMs: number;
  readonly ageMs: number;
  /** How long nothing is kept of an origin that closed a kept connection under a request. */
  readonly distrustMs: number;
  readonly idlePerOrigin: number;
  readonly idleTotal: number;
}

export const senderLimits: SenderLimits = {
  dnsMs: 3_000,
  connectMs: 5_000,
  // Longer than the lease of 25 s allows, and another worker would send the same delivery meanwhile.
  totalMs: 15_000,
  // RFC 8305. Lower connects twice to every receiver that is far away; higher makes a dead address felt.
  staggerMs: 250,
  // A name with hundreds of dead addresses would otherwise open hundreds of sockets.
  addresses: 6,
  bodyBytes: 64 * 1024,
  // Nothing a receiver has to tell us needs more; higher multiplies by all attempts in flight.
  headBytes: 16 * 1024,
  // The HTTP parser keeps an object of about 200 bytes for each name and value: 16 KiB of two-byte names would be 3 MB.
  headLines: 200,
  informational: 20,
  // On average 64 bytes each for what is kept. Higher lets 64 KiB, sent byte by byte in a chunk each, take 8 ms of
  // processor and leave megabytes to be collected; lower cuts the answers of servers that write line by line.
  pieces: 1_024,
  // Most servers close after 5 s or more. Higher makes it us who write into a connection that is being closed.
  idleMs: 4_000,
  longestIdleMs: 10_000,
  // A changed DNS answer, or an address that has become a forbidden one, counts after a minute at the latest.
  ageMs: 60_000,
  // Each time it is over may cost one attempt.
  distrustMs: 10 * 60_000,
  // An endpoint has at most 10 attempts in flight.
  idlePerOrigin: 10,
  // Each is a file descriptor, of which a process often has 1,024.
  idleTotal: 1_000,
};

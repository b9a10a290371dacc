import type { HttpMetrics, RejectionReason } from "../health/metrics/http-metrics.ts";

/** The place where others may have read a key. */
export type CompromisedIn = "url" | "plain_http";

/** Counts and logs the requests that are rejected before an endpoint sees them. */
export interface RefusedRequests {
  /** Counts a rejected request. @param who the caller's address, and the id of its key if that is known */
  refused(reason: RejectionReason, who: Requester): void;
  /** Reports a key that was seen, for the first time, where others may have read it. */
  compromised(keyId: string, where: CompromisedIn, address: string): void;
  /** Writes the log lines that are due. Called every few seconds. */
  flush(): void;
}

interface Requester {
  readonly address: string;
  readonly keyId?: string;
}

export interface RefusedRequestsOptions {
  readonly metrics: Pick<HttpMetrics, "refused" | "compromised">;
  readonly log: {
    info(detail: object, message: string): void;
    warn(detail: object, message: string): void;
  };
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Milliseconds between two lines about one address or key. */
const REPEAT_MS = 60_000;
/**
 * Limits the addresses and keys with separate lines. Further ones are counted together, because an attacker may have any
 * number of addresses.
 */
const MAX_TALLIES = 50;

/** The rejected requests of one address or key since its last log line, or of all further ones (`others`). */
interface Tally {
  /** The fields that name the address or key in the log line. */
  readonly who: object;
  /** Counts since the last line, by reason. */
  counts: Map<RejectionReason, number>;
  /** When the last line was written, in milliseconds since 1970; `-Infinity`: never, so that the first one is due. */
  writtenAt: number;
}

/** Logs the first rejected request of an address or key at once, and later ones as one line a minute with their number. */
export function createRefusedRequests({ metrics, log, clock }: RefusedRequestsOptions): RefusedRequests {
  const tallies = new Map<string, Tally>();
  const others: Tally = { who: { others: true }, counts: new Map(), writtenAt: -Infinity };

  const write = (tally: Tally, now: number) => {
    const refused = Object.fromEntries(tally.counts);
    log.info({ ...tally.who, refused }, "requests refused");
    tally.counts = new Map();
    tally.writtenAt = now;
  };
  // If the clock was set back, a line is due at once.
  const isDue = (tally: Tally, now: number) => now - tally.writtenAt >= REPEAT_MS || now < tally.writtenAt;
  const tallyOf = ({ address, keyId }: Requester): Tally => {
    const name = keyId ?? address;
    const known = tallies.get(name);
    if (known !== undefined) return known;
    if (tallies.size >= MAX_TALLIES) return others;
    const who = keyId === undefined ? { address } : { keyId, address };
    const tally: Tally = { who, counts: new Map(), writtenAt: -Infinity };
    tallies.set(name, tally);
    return tally;
  };
  return {
    refused(reason, who) {
      metrics.refused(reason);
      const tally = tallyOf(who);
      tally.counts.set(reason, (tally.counts.get(reason) ?? 0) + 1);
      const now = clock();
      if (isDue(tally, now)) write(tally, now);
    },
    compromised(keyId, where, address) {
      metrics.compromised(where);
      log.warn({ keyId, where, address }, "a key was sent where others may have read it: it is marked as compromised");
    },
    flush() {
      const now = clock();
      for (const [name, tally] of tallies) {
        if (!isDue(tally, now)) continue;
        if (tally.counts.size === 0) tallies.delete(name);
        else write(tally, now);
      }
      if (others.counts.size > 0 && isDue(others, now)) write(others, now);
    },
  };
}

import { percentilesOf } from "../percentiles.ts";

/** Reads and writes are counted apart, because one can fail without the other: writes fail while a disk is full. */
export type RequestKind = "read" | "write";

/** One attempt of a request. A request that is repeated has several. */
export interface Attempt {
  readonly kind: RequestKind;
  /** By `performance.now()`. */
  readonly sentAt: number;
  readonly tookMs: number;
  /** Such as `503 unavailable` or `no answer: ECONNREFUSED`; undefined: the request succeeded. */
  readonly error: string | undefined;
}

/** The results of requests in a period, as callers saw them. Times are in milliseconds. */
export interface Figures {
  /** The number of attempts: a repeated request counts each time. */
  readonly requests: number;
  /** Failed attempts by error. */
  readonly errors: Readonly<Record<string, number>>;
  readonly errorShare: number;
  /** Lengths of the periods without a successful request of a kind, of at least SHORTEST_GAP_MS. */
  readonly gapsMs: Readonly<Record<RequestKind, readonly number[]>>;
  readonly longestGapMs: Readonly<Record<RequestKind, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

/** Minimum pause that counts as an outage. The load itself causes shorter ones. */
const SHORTEST_GAP_MS = 500;

/**
 * Returns the figures of the attempts that began in a period.
 * @param all all attempts, in the order of their end
 * @param to the first instant after the period. Default: a millisecond after the end of the last attempt
 */
export function figuresOf(all: readonly Attempt[], from = -Infinity, to = endOf(all.at(-1)) + 1): Figures {
  const attempts = all.filter(({ sentAt }) => sentAt >= from && sentAt < to);
  const errors: Record<string, number> = {};
  for (const { error } of attempts) if (error !== undefined) errors[error] = (errors[error] ?? 0) + 1;
  const failed = attempts.filter(({ error }) => error !== undefined).length;
  const { p50, p99, max } = percentilesOf(attempts.map(({ tookMs }) => tookMs));
  // The time before the first attempt is no gap, because nothing was sent then.
  const begin = Math.max(from, all[0]?.sentAt ?? to);
  const gaps = { read: gapsOf(all, "read", begin, to), write: gapsOf(all, "write", begin, to) };
  const outages = (lengths: readonly number[]) => lengths.filter((length) => length >= SHORTEST_GAP_MS);
  return {
    requests: attempts.length,
    errors,
    errorShare: attempts.length === 0 ? 0 : failed / attempts.length,
    gapsMs: { read: outages(gaps.read), write: outages(gaps.write) },
    longestGapMs: { read: longestOf(gaps.read), write: longestOf(gaps.write) },
    p50Ms: Math.round(p50 * 10) / 10,
    p99Ms: Math.round(p99 * 10) / 10,
    slowestMs: Math.round(max),
  };
}

/** Returns the milliseconds of each time without a success. Only the part of a gap within the period counts. */
function gapsOf(all: readonly Attempt[], kind: RequestKind, from: number, to: number): number[] {
  const successes = all
    .filter((attempt) => attempt.kind === kind && attempt.error === undefined)
    .map(endOf)
    .filter((at) => at >= from && at < to)
    .toSorted((a, b) => a - b);
  const gaps: number[] = [];
  let previous = from;
  for (const at of [...successes, to]) {
    gaps.push(Math.round(at - previous));
    previous = at;
  }
  return gaps;
}

/** Returns the longest of some gaps. A long run has more gaps than `Math.max` takes as arguments. */
function longestOf(gaps: readonly number[]): number {
  return gaps.reduce((longest, gap) => Math.max(longest, gap), 0);
}

function endOf(attempt: Attempt | undefined): number {
  return attempt === undefined ? 0 : attempt.sentAt + attempt.tookMs;
}

/** Lists errors with their numbers. */
export function describeErrors({ requests, errors }: Pick<Figures, "requests" | "errors">): string {
  const texts = Object.entries(errors).map(([error, count]) => `${count} × ${error}`);
  return `${requests} requests, ${texts.join(", ") || "no error"}`;
}

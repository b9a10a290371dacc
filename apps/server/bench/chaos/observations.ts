import type { Attempt, RequestKind } from "../workload/requests.ts";

/** What came of every attempt of a run, for figures of any part of it. */
export interface Observations {
  readonly add: (attempt: Attempt) => void;
  /** Of attempts that began in a span, in milliseconds of `performance.now()`. */
  between(from: number, to: number): Figures;
}

export interface Figures {
  readonly requests: number;
  /** Attempts without an answer of the service, by what came. */
  readonly errors: Readonly<Record<string, number>>;
  readonly errorShare: number;
  /** The longest time in which no request of a kind was answered, in milliseconds. */
  readonly longestGapMs: Readonly<Record<RequestKind, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

export function createObservations(): Observations {
  const attempts: Attempt[] = [];
  return {
    add: (attempt) => void attempts.push(attempt),
    between: (from, to) => figuresOf(attempts, from, to),
  };
}

function figuresOf(all: readonly Attempt[], from: number, to: number): Figures {
  const attempts = all.filter(({ sentAt }) => sentAt >= from && sentAt < to);
  const errors: Record<string, number> = {};
  for (const { error } of attempts) if (error !== undefined) errors[error] = (errors[error] ?? 0) + 1;
  const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
  const times = attempts.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  const quantile = (share: number) => Math.round((times[Math.floor(times.length * share)] ?? 0) * 10) / 10;
  return {
    requests: attempts.length,
    errors,
    errorShare: attempts.length === 0 ? 0 : failed / attempts.length,
    longestGapMs: { read: longestGap(all, "read", from, to), write: longestGap(all, "write", from, to) },
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    slowestMs: Math.round(times.at(-1) ?? 0),
  };
}

/** The longest time within the span without a success; it may begin before the span, as an outage under way does. */
function longestGap(all: readonly Attempt[], kind: RequestKind, from: number, to: number): number {
  const successes = all
    .filter((attempt) => attempt.kind === kind && attempt.error === undefined)
    .map(({ sentAt, tookMs }) => sentAt + tookMs)
    .filter((at) => at >= from && at < to)
    .toSorted((a, b) => a - b);
  let longest = 0;
  let last = from;
  for (const at of [...successes, to]) {
    longest = Math.max(longest, at - last);
    last = at;
  }
  return Math.round(longest);
}

import type { DocumentName } from "./documents.ts";
import type { FeedFailure } from "./feed.ts";

/** How one followed feed does. Instants are milliseconds since 1970. */
export interface FeedHealth {
  /** When it was last got and read whole, changed or not; undefined: never. */
  readonly goodAt: number | undefined;
  /** Failures since then. */
  readonly failures: number;
  readonly failingSince: number | undefined;
  /** Why it failed last. */
  readonly message: string | undefined;
  /** It is not asked before. */
  readonly retryAt: number;
}

export const UNKNOWN_HEALTH: FeedHealth = {
  goodAt: undefined,
  failures: 0,
  failingSince: undefined,
  message: undefined,
  retryAt: 0,
};

/** The longest pause that we make by ourselves. Higher, and a feed that is well again is noticed late. */
const MAX_BACKOFF_MS = 5 * 60_000;
/** The longest pause that a server may ask for. Higher, and one wrong header stops a city for the day. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;
/** Doubled so often, any interval is above the longest pause. */
const MAX_DOUBLINGS = 20;

/** A failure of a feed, as far as its health is concerned. */
interface FailedLook {
  readonly now: number;
  readonly message: string;
  /** Milliseconds for which the server asked us to wait; null where it did not. */
  readonly retryAfterMs: number | null;
  /** Milliseconds between two rounds. */
  readonly every: number;
}

export function afterSuccess(now: number): FeedHealth {
  return { ...UNKNOWN_HEALTH, goodAt: now };
}

/** Asked again in the next round, after further failures ever more rarely, and never before the server's own word. */
export function afterFailure(before: FeedHealth, { now, message, retryAfterMs, every }: FailedLook): FeedHealth {
  const failures = before.failures + 1;
  const pause = Math.min((2 ** Math.min(before.failures, MAX_DOUBLINGS) - 1) * every, MAX_BACKOFF_MS);
  const asked = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return {
    goodAt: before.goodAt,
    failures,
    failingSince: before.failingSince ?? now,
    message,
    retryAt: now + Math.max(pause, asked),
  };
}

export function isFailing({ failures }: FeedHealth): boolean {
  return failures > 0;
}

/** How the feeds of a followed source do. */
export interface FeedHealths {
  /** @param at milliseconds since 1970 */
  begin(at: number): void;
  /** Whether a feed that failed is not to be asked yet. */
  isWaiting(feed: DocumentName): boolean;
  /** Whether a feed that failed is to be asked in this round. */
  hasRetries(): boolean;
  /** The feed was got and read; counts once the round is committed. */
  succeeded(feed: DocumentName): void;
  failed(failure: FeedFailure, feed: DocumentName): void;
  commit(): void;
  /** Forgets feeds that the source has no more. */
  keep(isListed: (feed: DocumentName) => boolean): void;
  all(): ReadonlyMap<DocumentName, FeedHealth>;
}

/** @param every milliseconds between two rounds */
export function createFeedHealths(every: number): FeedHealths {
  const health = new Map<DocumentName, FeedHealth>();
  const well = new Set<DocumentName>();
  let now = 0;
  const of = (feed: DocumentName) => health.get(feed) ?? UNKNOWN_HEALTH;
  const isWaiting = (feed: DocumentName) => now < of(feed).retryAt;
  return {
    begin(at) {
      now = at;
      well.clear();
    },
    isWaiting,
    hasRetries: () => [...health].some(([feed, each]) => isFailing(each) && !isWaiting(feed)),
    succeeded: (feed) => void well.add(feed),
    failed: ({ message, retryAfterMs }, feed) =>
      void health.set(feed, afterFailure(of(feed), { now, message, retryAfterMs, every })),
    commit() {
      for (const feed of well) health.set(feed, afterSuccess(now));
    },
    keep(isListed) {
      for (const feed of health.keys()) if (!isListed(feed)) health.delete(feed);
    },
    all: () => health,
  };
}

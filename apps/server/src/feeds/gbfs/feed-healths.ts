import type { DocumentName } from "./documents.ts";
import { afterFailure, afterSuccess, isFailing, UNKNOWN_HEALTH, type FeedHealth } from "./feed-health.ts";
import type { FeedFailure } from "./feed.ts";

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

/** Rides that started in a part of the past, within 30 days, and pass a filter. */
export interface PastPart {
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly n: number;
}

/** How many rides that started before an instant pass a filter. */
export interface PastCount {
  /** The instant, milliseconds since 1970: every ride that started before it has ended. */
  readonly upto: number;
  /** Whether that is a week ago at most, so that counting the rides since takes next to no time. */
  readonly isRecent: boolean;
  /** The youngest first. Parts that are missing have none. */
  readonly parts: readonly PastPart[];
  /** How often past rides had come or gone when this was so. */
  readonly pastChanges: number;
}

/**
 * Remembers how many past rides pass the filters that are asked for, so that only those of the last days are counted for each
 * page. A ride that has ended is at most corrected, and the statement that uses a number checks that no past ride came, went or
 * was corrected.
 */
export interface PastCounts {
  get(systemId: string, filter: string): PastCount | undefined;
  keep(systemId: string, filter: string, count: PastCount): void;
  /** To be called when a statement has shown that a number no longer holds. */
  forget(systemId: string, filter: string): void;
}

/** Filters that are remembered: each station and some thousand bikes, some 200 bytes each, and 100 for a year. Above it the oldest are dropped. */
const CAPACITY = 10_000;
/** Milliseconds after which a filter is counted anew. Too high: each page counts more days since. */
const MAX_AGE_MS = 24 * 3_600_000;

export function createPastCounts(clock: () => number): PastCounts {
  const counts = new Map<string, { readonly count: PastCount; readonly at: number }>();
  const keyOf = (systemId: string, filter: string) => `${systemId}\n${filter}`;
  return {
    get(systemId, filter) {
      const kept = counts.get(keyOf(systemId, filter));
      return kept !== undefined && Math.abs(clock() - kept.at) < MAX_AGE_MS ? kept.count : undefined;
    },
    keep(systemId, filter, count) {
      const key = keyOf(systemId, filter);
      // Deleted first, so that the entry becomes the newest.
      counts.delete(key);
      const oldest = counts.keys().next().value;
      if (counts.size >= CAPACITY && oldest !== undefined) counts.delete(oldest);
      counts.set(key, { count, at: clock() });
    },
    forget: (systemId, filter) => void counts.delete(keyOf(systemId, filter)),
  };
}

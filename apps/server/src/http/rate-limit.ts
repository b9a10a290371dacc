import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";

/** What the limiter says of one request. */
export interface RateDecision {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left in the window, this one counted. */
  readonly remaining: number;
  /** Whole seconds, rounded up, until the oldest counted request leaves the window; 0 when none is counted. */
  readonly resetSeconds: number;
}

/**
 * Counts requests. One process keeps them in memory; several share a store, which is why the answer may be awaited.
 */
export interface RateLimiter {
  /** Counts one request of `key` and decides on it; a refused request is not counted. */
  take(key: string, limit: number): RateDecision | Promise<RateDecision>;
  /** The state of `key` without counting anything. */
  peek(key: string, limit: number): RateDecision | Promise<RateDecision>;
}

const WINDOW = RATE_WINDOW_SECONDS * 1000;

/**
 * A sliding window that is exact: in any 60 s at most `limit` requests, and each is given back 60 s after it came.
 * Holds 8 bytes a counted request, for keys seen in the last window.
 */
export function createMemoryRateLimiter(clock: () => number): RateLimiter & { sweep(): void } {
  const windows = new Map<string, SlidingWindow>();
  const windowOf = (key: string, limit: number): SlidingWindow => {
    let window = windows.get(key);
    if (window === undefined || window.limit !== limit) {
      window = createSlidingWindow(limit, window);
      windows.set(key, window);
    }
    return window;
  };
  return {
    take: (key, limit) => windowOf(key, limit).take(clock()),
    peek: (key, limit) => windowOf(key, limit).peek(clock()),
    sweep() {
      for (const [key, window] of windows) if (window.peek(clock()).remaining === window.limit) windows.delete(key);
    },
  };
}

interface SlidingWindow {
  readonly limit: number;
  take(now: number): RateDecision;
  peek(now: number): RateDecision;
  /** When each counted request came, oldest first. */
  instants(): number[];
}

/** A ring of the last `limit` instants; takes over those of a window whose limit was another. */
function createSlidingWindow(limit: number, former?: SlidingWindow): SlidingWindow {
  let ring = new Float64Array(Math.min(limit, 64));
  let first = 0;
  let count = 0;

  const at = (index: number) => ring[(first + index) % ring.length] ?? 0;
  const push = (instant: number) => {
    if (count === ring.length) {
      const larger = new Float64Array(Math.min(limit, ring.length * 2));
      for (let i = 0; i < count; i++) larger[i] = at(i);
      ring = larger;
      first = 0;
    }
    ring[(first + count) % ring.length] = instant;
    count++;
  };
  const drop = (now: number) => {
    // A clock that was set back must not lock anyone out for longer than one window.
    while (count > 0 && (at(0) <= now - WINDOW || at(0) > now)) {
      first = (first + 1) % ring.length;
      count--;
    }
  };
  const decision = (now: number, allowed: boolean): RateDecision => ({
    allowed,
    limit,
    remaining: limit - count,
    resetSeconds: count === 0 ? 0 : Math.ceil((at(0) + WINDOW - now) / 1000),
  });

  for (const instant of former?.instants().slice(-limit) ?? []) push(instant);
  return {
    limit,
    take(now) {
      drop(now);
      if (count >= limit) return decision(now, false);
      push(now);
      return decision(now, true);
    },
    peek(now) {
      drop(now);
      return decision(now, count < limit);
    },
    instants: () => Array.from({ length: count }, (_, index) => at(index)),
  };
}

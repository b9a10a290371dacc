import { RATE_WINDOW_SECONDS } from "@bikeshare/contract/pure";
import { type ServiceError, serviceError } from "./service-error.ts";

/* The rate limit of keys: how the requests of a key are counted, and how responses report the limit. */

/** The limiter's decision about one request. */
export interface RateDecision {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left in the window after this one. */
  readonly remaining: number;
  /**
   * Whole seconds, rounded up, until the oldest counted request leaves the window and makes room for one more; 0 when
   * none is counted. If a lowered limit leaves too many counted requests: until enough of them have left.
   */
  readonly resetSeconds: number;
}

/**
 * Counts requests by key. A single process counts in memory and returns at once. Several processes count in a shared store
 * and return a promise.
 */
export interface RateLimiter {
  /** Counts one request of `key` and decides on it; a refused request is not counted. */
  take(key: string, limit: number): RateDecision | Promise<RateDecision>;
  /** Returns the state of `key` without counting a request. */
  peek(key: string, limit: number): RateDecision | Promise<RateDecision>;
}

/** The default length of the window, in milliseconds. */
export const RATE_WINDOW_MS = RATE_WINDOW_SECONDS * 1000;

/** A limiter that counts in this process's memory and returns at once: a `RateLimiter` without promises. */
export interface MemoryRateLimiter {
  take(key: string, limit: number): RateDecision;
  peek(key: string, limit: number): RateDecision;
  /** Removes the keys that have no counted requests any more. */
  sweep(): void;
}

/**
 * Returns a limiter with an exact sliding window: at most `limit` requests in any `windowMs`, and each request stops
 * counting `windowMs` after it came. A counted request takes 8 bytes, in a buffer that doubles when it is full.
 */
export function createMemoryRateLimiter(clock: () => number, windowMs = RATE_WINDOW_MS): MemoryRateLimiter {
  const windows = new Map<string, SlidingWindow>();
  const windowOf = (key: string): SlidingWindow => {
    let window = windows.get(key);
    if (window === undefined) {
      window = createSlidingWindow(windowMs);
      windows.set(key, window);
    }
    return window;
  };
  return {
    take: (key, limit) => windowOf(key).take(clock(), limit),
    peek: (key, limit) => windowOf(key).peek(clock(), limit),
    sweep() {
      for (const [key, window] of windows) if (window.isIdle(clock())) windows.delete(key);
    },
  };
}

interface SlidingWindow {
  take(now: number, limit: number): RateDecision;
  peek(now: number, limit: number): RateDecision;
  /** Tells whether no request is counted any more. */
  isIdle(now: number): boolean;
}

/**
 * Creates a window: the times of the counted requests, oldest first, in a ring buffer that grows as needed. The limit is not
 * stored, so that earlier requests still count when a key's limit changes.
 */
function createSlidingWindow(windowMs: number): SlidingWindow {
  let ring = new Float64Array(4);
  let first = 0;
  let count = 0;

  const at = (index: number) => ring[(first + index) % ring.length] ?? 0;
  const push = (instant: number) => {
    if (count === ring.length) {
      const larger = new Float64Array(ring.length * 2);
      for (let i = 0; i < count; i++) larger[i] = at(i);
      ring = larger;
      first = 0;
    }
    ring[(first + count) % ring.length] = instant;
    count++;
  };
  const drop = (now: number) => {
    // Requests later than `now` are dropped too: otherwise a clock that was set back would block a key for a long time.
    while (count > 0 && (at(0) <= now - windowMs || at(0) > now)) {
      first = (first + 1) % ring.length;
      count--;
    }
  };
  const decision = (now: number, limit: number, allowed: boolean): RateDecision =>
    // When a lowered limit leaves too many counted requests, the wait lasts until enough of them have left.
    rateDecision(limit, { allowed, count, resetMs: count === 0 ? 0 : at(Math.max(0, count - limit)) + windowMs - now });

  return {
    take(now, limit) {
      drop(now);
      if (count >= limit) return decision(now, limit, false);
      push(now);
      return decision(now, limit, true);
    },
    peek(now, limit) {
      drop(now);
      return decision(now, limit, count < limit);
    },
    isIdle(now) {
      drop(now);
      return count === 0;
    },
  };
}

/** The state of a window after a request. */
export interface WindowState {
  readonly allowed: boolean;
  /** The counted requests, including this one if it is allowed. */
  readonly count: number;
  /** Milliseconds until a counted request leaves the window and makes room; 0 when none is counted. */
  readonly resetMs: number;
}

/** Returns the decision about a request from the state of its window, which may be in memory or in a shared store. */
export function rateDecision(limit: number, { allowed, count, resetMs }: WindowState): RateDecision {
  return { allowed, limit, remaining: Math.max(0, limit - count), resetSeconds: Math.ceil(resetMs / 1000) };
}

/** Returns the rate-limit headers. Every response to a key that works has them, if its endpoint needs a key. */
export function rateHeaders({ limit, remaining, resetSeconds }: Omit<RateDecision, "allowed">): Record<string, string> {
  return {
    "ratelimit-policy": `"default";q=${limit};w=${RATE_WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
  };
}

/** Returns the error for a request beyond its key's limit. */
export function rateLimited({ limit, resetSeconds }: RateDecision): ServiceError {
  const values = { limit, windowSeconds: RATE_WINDOW_SECONDS, retryAfterSeconds: resetSeconds };
  return serviceError("rate_limited", "key", values);
}

import { RATE_WINDOW_MS } from "../routes.generated.ts";
import type { Clock } from "./clock.ts";

/** What the limit says of a request. */
export interface RateDecision {
  readonly isAllowed: boolean;
  readonly limit: number;
  /** Requests left in the window, this one counted. */
  readonly remaining: number;
  /** Seconds until the next counted request leaves the window; 0 when none is counted. */
  readonly resetSeconds: number;
}

/** Counts requests in a sliding window, exactly as the service does: never more than the limit in any window. */
export interface RateLimiter {
  /** Counts one request of a key and decides on it; a refused one is not counted. */
  take(key: string, limit: number): RateDecision;
  /** The state of a key; nothing is counted. */
  peek(key: string, limit: number): RateDecision;
}

export function createRateLimiter(now: Clock): RateLimiter {
  const windows = new Map<string, number[]>();
  const open = (key: string): number[] => {
    const window = (windows.get(key) ?? []).filter((at) => at > now() - RATE_WINDOW_MS);
    windows.set(key, window);
    return window;
  };
  const decide = (window: readonly number[], limit: number, isAllowed: boolean): RateDecision => {
    // Where a lowered limit leaves more counted than it allows, as many must leave as are too many.
    const leaving = window[Math.max(0, window.length - limit)];
    return {
      isAllowed,
      limit,
      remaining: Math.max(0, limit - window.length),
      resetSeconds: leaving === undefined ? 0 : Math.ceil((leaving + RATE_WINDOW_MS - now()) / 1000),
    };
  };
  return {
    take(key, limit) {
      const window = open(key);
      const isAllowed = window.length < limit;
      if (isAllowed) window.push(now());
      return decide(window, limit, isAllowed);
    },
    peek(key, limit) {
      const window = open(key);
      return decide(window, limit, window.length < limit);
    },
  };
}

/** The headers that every answer to a known key carries. */
export function rateHeaders({ limit, remaining, resetSeconds }: RateDecision): Record<string, string> {
  return {
    "ratelimit-policy": `"default";q=${limit};w=${RATE_WINDOW_MS / 1000}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
  };
}

import { createMemoryRateLimiter, type RateLimiter } from "@bikeshare/rules";

/** A limiter whose owner must call `sweep` to remove expired counts. */
export interface SweptRateLimiter extends RateLimiter {
  sweep(): void;
}

/** The limits that hold over all processes where they can. */
export interface RateLimits {
  /**
   * Returns a new limiter.
   * @param name separates its keys from other limiters'
   * @param windowMs how long a request counts; a minute by default
   */
  limiter(name: string, windowMs?: number): SweptRateLimiter;
  /** Whether the limits hold over all processes now. */
  isExact(): boolean;
  /** Returns how many processes answer requests on the same database, including this one. */
  processes(): number;
}

/** Counts in the memory of this process. */
export function createMemoryRateLimits(clock: () => number, processes: () => number = () => 1): RateLimits {
  return {
    limiter: (_name, windowMs) => createMemoryRateLimiter(clock, windowMs),
    isExact: () => processes() === 1,
    processes,
  };
}

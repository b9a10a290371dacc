import { createMemoryRateLimiter, type RateLimiter } from "@bikeshare/rules";

/** A limiter whose owner has it forget, now and then, what is counted no more. */
export interface SweptRateLimiter extends RateLimiter {
  sweep(): void;
}

/** The limits that hold over all processes where they can. */
export interface RateLimits {
  /**
   * A limiter of its own.
   * @param name keeps its keys apart from those of others
   * @param windowMs how long a request counts; a minute, when left out
   */
  limiter(name: string, windowMs?: number): SweptRateLimiter;
  /** Whether the limits hold over all processes now. */
  isExact(): boolean;
  /** How many processes answer requests on the same database, this one included. */
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

import { createMemoryRateLimiter, type RateLimiter } from "@bikeshare/rules";

/*
 * What the server needs of rate limits (`RateLimits`), their form that counts in memory alone, and the remedies for errors
 * of Redis. service.ts has the form that counts in Redis.
 */

/** A limiter whose owner must call `sweep` to remove expired counts. */
export interface SweptRateLimiter extends RateLimiter {
  sweep(): void;
}

/** Rate limits that hold over all processes together, if possible. */
export interface RateLimits {
  /**
   * Returns a new limiter.
   * @param name separates the limiter's keys (what it counts by, such as the id of an API key) from those of other limiters
   * @param windowMs how long a request counts; a minute by default
   */
  limiter(name: string, windowMs?: number): SweptRateLimiter;
  /** Whether the limits hold over all processes now. */
  isExact(): boolean;
  /** Returns how many processes answer requests on the same database, including this one. */
  processes(): number;
}

/** Returns limits that count in the memory of this process. */
export function createMemoryRateLimits(clock: () => number, processes: () => number = () => 1): RateLimits {
  return {
    limiter: (_name, windowMs) => createMemoryRateLimiter(clock, windowMs),
    isExact: () => processes() === 1,
    processes,
  };
}

/** Errors of Redis, or of the connection to it, and the operator's remedy for each. */
const REMEDIES: readonly (readonly [says: RegExp, remedy: string])[] = [
  [/LOADING/, "It reads its file after a start: wait until it has. The service then uses it without a restart."],
  [
    /READONLY/,
    "It is a replica: name the primary in REDIS_URL, or, if there is none any more, make it one: `redis-cli replicaof no one`.",
  ],
  [
    /MISCONF/,
    "It cannot save its file: make room on its disk, or have it save none, as counts need none: `redis-cli config set save ''`.",
  ],
  [/OOM/, "Its memory is full: raise its maxmemory, and let no other use fill it."],
  [/NOAUTH|WRONGPASS|invalid password/, "Correct the user and the password in REDIS_URL."],
  [
    /NOPERM|can't run this command/,
    "Give the account the commands and keys that docs/configuration.md lists under Redis.",
  ],
  [
    /DB index is out of range/,
    "Name a database number in REDIS_URL that it has: 0 to 15, unless it is set up for more.",
  ],
  [
    /unknown command/,
    "It lacks a command that docs/configuration.md lists under Redis: undo `rename-command`, or take a Redis that has it.",
  ],
  [
    /^(?:MOVED|CLUSTERDOWN) /,
    "It is a node of a cluster: name a proxy before the cluster in REDIS_URL, or a Redis that is in none.",
  ],
  [
    /no answer within/,
    "It is slow, or the way to it is: `redis-cli --latency` from this machine, and its own log, say which.",
  ],
];

/** The remedy for any other error: Redis is unreachable or hangs. */
export const START_REDIS = "Start it, or correct REDIS_URL.";

/** Returns the operator's remedy. @param message of an error of Redis, or of the connection to it */
export function redisRemedy(message: string): string {
  return REMEDIES.find(([says]) => says.test(message))?.[1] ?? START_REDIS;
}

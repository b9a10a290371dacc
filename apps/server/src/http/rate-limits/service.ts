import type { Concerns } from "../../health/conditions/concerns.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import type { Database } from "../../storage/db/database.ts";
import { type ApiProcesses, joinApiProcesses } from "./api-processes.ts";
import { createMemoryRateLimits, type RateLimits } from "./rate-limits.ts";
import { redisRemedy } from "./redis-remedies.ts";
import { createSharedRateLimits } from "./shared-limits.ts";
import { SharedWindows } from "./shared-windows.ts";

export { countApiProcesses } from "./queries.ts";

export interface RateLimitsOptions {
  readonly redisUrl: string | undefined;
  readonly ids: { next(prefix: string): string };
  readonly logger: { warn(detail: object, message: string): void };
  readonly conditions: Conditions;
  readonly concerns: Concerns;
  /** Hears each time that Redis cannot be used any more. */
  readonly onRedisLost: () => void;
}

/** The limits of a process that answers requests. */
export interface OpenRateLimits extends RateLimits {
  close(): Promise<void>;
}

/** Nobody sets it: a clock that is set back would refuse each key that has used up its limit until it is where it was. */
const monotonic = () => performance.now();

/** Joins the processes that answer requests, and counts with them in Redis where it is configured. */
export async function openRateLimits(db: Database, options: RateLimitsOptions): Promise<OpenRateLimits> {
  const { redisUrl, ids, logger, conditions } = options;
  const joining = conditions.of("counting the processes that answer requests");
  const processes = await joinApiProcesses(db, {
    process: ids.next("process"),
    onError: joining.failed,
    watch: joining.watch,
    onChange: (count) => {
      if (redisUrl === undefined && count > 1) logger.warn({ processes: count }, NOT_SHARED);
    },
  });
  if (redisUrl !== undefined) return openShared(redisUrl, processes, options);
  return { ...createMemoryRateLimits(monotonic, processes.count), close: () => processes.close() };
}

const NOT_SHARED =
  "several processes answer requests, and each counts the rate limits by itself, so that a key may make as many times its " +
  "requests. Set REDIS_URL for all of them to count together";

/** For the log: a line at once, one a minute, and one when Redis can be used again. */
class RedisUnavailable extends Error {
  override readonly name = "RedisUnavailable";
  readonly condition = "redis_unavailable";
  readonly sentences = {
    begins: REDIS_UNAVAILABLE,
    lasts: "Redis still cannot be used",
    ends: "Redis can be used again: the rate limits hold over all processes",
  };
}

const REDIS_UNAVAILABLE =
  "Redis cannot be used: until it can, this process allows its share of each rate limit, by the number of processes";

async function openShared(
  redisUrl: string,
  processes: ApiProcesses,
  { conditions, concerns, onRedisLost }: RateLimitsOptions,
): Promise<OpenRateLimits> {
  // Only now: most services have no Redis, and need no client for one.
  const { openRedisStore } = await import("./redis-store.ts");
  const counting = conditions.of("counting requests in Redis", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  let isLost = false;
  const windows = new SharedWindows({
    store: () => store,
    monotonic,
    onFailed: (error) => {
      if (!isLost) onRedisLost();
      isLost = true;
      const message = error instanceof Error ? error.message : String(error);
      const remedy = redisRemedy(message);
      counting.failed(new RedisUnavailable(message), { remedy });
      concerns.set("redis", `${REDIS_UNAVAILABLE}. ${remedy}`);
    },
    onUsable: () => {
      isLost = false;
      counting.succeeded();
      concerns.set("redis", undefined);
    },
  });
  const firstTry = Promise.withResolvers<void>();
  const store = openRedisStore({
    url: redisUrl,
    onConnected: () => void windows.check().then(firstTry.resolve),
    onLost: (error) => {
      windows.lost(error);
      firstTry.resolve();
    },
  });
  // Requests are accepted once it is known how they are counted.
  await firstTry.promise;
  return {
    ...createSharedRateLimits({ windows, processes: processes.count, clock: monotonic, monotonic }),
    close: async () => {
      windows.close();
      store.close();
      await processes.close();
    },
  };
}

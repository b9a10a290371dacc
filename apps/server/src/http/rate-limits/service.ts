import {
  createMemoryRateLimiter,
  type MemoryRateLimiter,
  RATE_WINDOW_MS,
  type RateDecision,
  rateDecision,
  type WindowState,
} from "@bikeshare/rules";
import type { ProcessReports } from "../../health/checks/stored-checks.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import { startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { deleteApiProcess, updateApiHeartbeat } from "./queries.ts";
import { createMemoryRateLimits, type RateLimits, redisRemedy, type SweptRateLimiter } from "./rate-limits.ts";
import { SharedWindows } from "./shared-windows.ts";

export { countApiProcesses } from "./queries.ts";

/** The dependencies of a process's rate limits, which are counted in Redis or, without it, in the process's memory. */
export interface RateLimitsOptions {
  readonly redisUrl: string | undefined;
  readonly ids: { next(prefix: string): string };
  readonly logger: { warn(detail: object, message: string): void };
  readonly conditions: Conditions;
  readonly reports: ProcessReports;
  /** Called when Redis can no longer be used: once for each outage, and at the start if it cannot be used then. */
  readonly onRedisLost: () => void;
}

/** The limits of a process that answers requests. */
export interface OpenRateLimits extends RateLimits {
  close(): Promise<void>;
}

/** A monotonic clock: after the system clock is set back, keys at their limit would be rejected until it catches up. */
const monotonic = () => performance.now();

/** Registers this process among those that answer requests, and counts with them in Redis if that is configured. */
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

/** The condition in the log: one line when it begins, one each minute, and one when Redis can be used again. */
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
  { conditions, reports, onRedisLost }: RateLimitsOptions,
): Promise<OpenRateLimits> {
  // Imported on demand, because most services have no Redis and need no client.
  const { openRedisStore } = await import("./redis-store.ts");
  // `Infinity`: the condition ends only with `succeeded`, because `onUsable` reports that Redis counts again.
  const counting = conditions.of("counting requests in Redis", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  let isLost = false;
  const windows = new SharedWindows({
    // A function, because the store below needs `windows` first.
    store: () => store,
    monotonic,
    onFailed: (error) => {
      if (!isLost) onRedisLost();
      isLost = true;
      const message = error instanceof Error ? error.message : String(error);
      const remedy = redisRemedy(message);
      counting.failed(new RedisUnavailable(message), { remedy });
      reports.set("redis", { detail: REDIS_UNAVAILABLE, fix: remedy });
    },
    onUsable: () => {
      isLost = false;
      counting.succeeded();
      reports.set("redis", undefined);
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
    // Only tests give a `clock` that differs from `monotonic`.
    ...createSharedRateLimits({ windows, processes: processes.count, clock: monotonic, monotonic }),
    close: async () => {
      windows.close();
      store.close();
      await processes.close();
    },
  };
}

/** The processes that answer requests on one database. */
interface ApiProcesses {
  /** Returns the number of processes, including this one; while the database is unavailable, the last known number. */
  readonly count: () => number;
  /** Removes this process from them. */
  close(): Promise<void>;
}

interface ApiProcessesOptions {
  /** An id of this process that no other process has. */
  readonly process: string;
  readonly onError: (error: unknown) => void;
  /** Called when the number of processes has changed. */
  readonly onChange: (count: number) => void;
  /** Milliseconds from the start without `onChange`, because a process that was killed right before still counts. */
  readonly quietMs?: number;
  readonly heartbeatIntervalMs?: number;
  readonly watch?: WorkWatch | undefined;
}

/** Milliseconds between two heartbeats. Too high: limits are divided too late among new processes. */
const HEARTBEAT_INTERVAL_MS = 2_000;
/** How long a process counts after its latest heartbeat: five intervals, so that a slow process still counts. */
const ALIVE_MS = 10_000;

/** Registers this process. Resolves when the number of other processes is known, or could not be read. */
export async function joinApiProcesses(db: Database, options: ApiProcessesOptions): Promise<ApiProcesses> {
  const { process, onError, onChange, watch, quietMs = ALIVE_MS } = options;
  const { heartbeatIntervalMs: intervalMs = HEARTBEAT_INTERVAL_MS } = options;
  const quietUntil = monotonic() + quietMs;
  let count = 1;
  /** The number that `onChange` was last called with. */
  let reported = 1;
  const work = async () => {
    count = 1 + (await updateApiHeartbeat(db, process, ALIVE_MS));
    if (count === reported || monotonic() < quietUntil) return;
    reported = count;
    onChange(count);
  };
  const heartbeat = startPeriodic({ intervalMs, work, onError, watch });
  await heartbeat.runOnce().catch(onError);
  return {
    count: () => count,
    close: async () => {
      await heartbeat.close();
      await deleteApiProcess(db, process).catch(onError);
    },
  };
}

interface SharedLimitsOptions {
  readonly windows: SharedWindows;
  /** Returns the number of processes that share each limit. */
  readonly processes: () => number;
  /** The clock in milliseconds by which this process counts its own requests. */
  readonly clock: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** Returns limits that one store counts for all processes. While it cannot be used, each process allows its share. */
export function createSharedRateLimits(options: SharedLimitsOptions): RateLimits {
  const { windows, processes } = options;
  return {
    limiter: (name, windowMs = RATE_WINDOW_MS) => new SharedRateLimiter(name, windowMs, options),
    isExact: () => windows.isUsable() || processes() === 1,
    processes,
  };
}

/**
 * The time until which a key is rejected without a look-up. A key is what a limiter counts by, such as the id of an API key.
 */
interface Rejection {
  /** The limit that was exhausted. With another limit, the key is looked up. */
  readonly limit: number;
  /** Milliseconds of `monotonic`. */
  readonly until: number;
}

class SharedRateLimiter implements SweptRateLimiter {
  readonly #name: string;
  readonly #windowMs: number;
  readonly #options: SharedLimitsOptions;
  /** Every request that this process has allowed, even if the store counted it: used when the store is lost. */
  readonly #own: MemoryRateLimiter;
  readonly #rejections = new Map<string, Rejection>();

  constructor(name: string, windowMs: number, options: SharedLimitsOptions) {
    this.#name = name;
    this.#windowMs = windowMs;
    this.#options = options;
    this.#own = createMemoryRateLimiter(options.clock, windowMs);
  }

  take(key: string, limit: number): RateDecision | Promise<RateDecision> {
    return this.#rejectionOf(key, limit) ?? this.#decide(key, limit, true);
  }

  peek(key: string, limit: number): RateDecision | Promise<RateDecision> {
    return this.#rejectionOf(key, limit) ?? this.#decide(key, limit, false);
  }

  sweep(): void {
    this.#own.sweep();
    const now = this.#options.monotonic();
    for (const [key, { until }] of this.#rejections) if (until <= now) this.#rejections.delete(key);
  }

  /**
   * Decides by the store, by this process's share of the limit, or by both.
   * @param isTaken true: the request is counted if it is allowed; false: the limit is only read
   */
  #decide(key: string, limit: number, isTaken: boolean): RateDecision | Promise<RateDecision> {
    const { windows } = this.#options;
    if (!windows.isUsable()) return this.#byShare(key, limit, isTaken);
    // A store that has lost its counts would allow too much until the lost requests had left the window. The share of this
    // process then limits as well.
    const byShare = windows.hasForgotten(this.#windowMs) ? this.#byShare(key, limit, isTaken) : undefined;
    if (byShare?.allowed === false) return byShare;
    const request = { key: `bikeshare:rate:{${this.#name}:${key}}`, limit, windowMs: this.#windowMs, isTaken };
    return windows.count(request).then((state) => {
      if (state === undefined) return byShare ?? this.#byShare(key, limit, isTaken);
      if (!state.allowed) this.#keepRejection(key, limit, state);
      else if (byShare === undefined) {
        // This answer itself may show that the store's clock was changed, so `hasForgotten` is asked again.
        if (windows.hasForgotten(this.#windowMs)) return this.#byShare(key, limit, isTaken);
        // Counts the request without a limit, because the store has allowed it. `#byShare` has not counted it yet.
        if (isTaken) this.#own.take(key, Number.POSITIVE_INFINITY);
      }
      return rateDecision(limit, state);
    });
  }

  /** Decides by this process's share of the limit: at least one request, so that no key starves. */
  #byShare(key: string, limit: number, isTaken: boolean): RateDecision {
    const share = Math.max(1, Math.floor(limit / this.#options.processes()));
    return { ...(isTaken ? this.#own.take(key, share) : this.#own.peek(key, share)), limit };
  }

  /**
   * Caches a rejection. Rejected requests are not counted, so none is allowed before the oldest counted one leaves the
   * window: no look-up is needed until then.
   */
  #keepRejection(key: string, limit: number, { resetMs }: WindowState): void {
    this.#rejections.set(key, { limit, until: this.#options.monotonic() + resetMs });
  }

  #rejectionOf(key: string, limit: number): RateDecision | undefined {
    const rejection = this.#rejections.get(key);
    if (rejection?.limit !== limit) return undefined;
    const resetMs = rejection.until - this.#options.monotonic();
    return resetMs > 0 ? rateDecision(limit, { allowed: false, count: limit, resetMs }) : undefined;
  }
}

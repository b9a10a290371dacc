import { RATE_LIMIT, RATE_WINDOW_MS } from "../routes.generated.ts";
import { createMutex } from "./mutex.ts";
import { type Platform, sleep, withSignal } from "./platform.ts";

/** The state of a key's rate limit, as a response reports it. */
export interface RateLimit {
  /** Requests in any window. */
  readonly limit: number;
  /** Milliseconds of a window. */
  readonly windowMs: number;
  /** Requests left. */
  readonly remaining: number;
  /** Milliseconds until the next request is given back. */
  readonly resetMs: number;
}

/** Called with the rate limit that a response reports. */
export type OnRateLimit = (rateLimit: RateLimit) => void;

/** Sends requests in the order of the calls, as many as the rate limit allows. One for all requests of a client. */
export interface RateLimiter {
  /**
   * Sends a request as soon as the limit allows it.
   *
   * @param onWait called before each wait with the most milliseconds that it takes; may throw to give up
   * @throws the signal's reason; what `send` throws
   */
  schedule<Result>(
    signal: AbortSignal,
    onWait: (ms: number) => void,
    send: (onRateLimit: OnRateLimit) => Promise<Result>,
  ): Promise<Result>;
  /** Sends nothing for some milliseconds: the service rejected a request. */
  pauseFor(ms: number): void;
}

/**
 * The service counts a request on arrival and gives it back one window later. It arrived between being sent and being
 * answered, so counting each from its start until a window after its response never lets too many through. Where the
 * responses report fewer left than this client used, others use the same key; their share is assumed until the next
 * response.
 */
export function createRateLimiter(platform: Platform): RateLimiter {
  const now = () => platform.performance.now();
  let limit: number = RATE_LIMIT;
  let windowMs: number = RATE_WINDOW_MS;
  /** Requests without a response yet. */
  let inFlight = 0;
  /** When each answered request leaves the window, soonest first. */
  const releaseTimes: number[] = [];
  /** Requests that others used, and when the first of all that are used is given back. */
  let usedByOthers = 0;
  let resetAt = 0;
  let pausedUntil = 0;
  const runExclusive = createMutex();
  let onResponse = () => {};

  /** When a request may be sent: Infinity where only a response can tell. */
  const nextSendTime = (): number => {
    while ((releaseTimes[0] ?? Infinity) <= now()) releaseTimes.shift();
    const own = inFlight + releaseTimes.length;
    if (own + usedByOthers < limit) return pausedUntil;
    // Others use the limit too. Once a request must have been given back, a single one is sent to find out.
    const probeAt = own < limit && inFlight === 0 ? resetAt : Infinity;
    return Math.max(pausedUntil, Math.min(releaseTimes[0] ?? Infinity, probeAt));
  };

  const acquire = async (signal: AbortSignal, onWait: (ms: number) => void): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      const ms = nextSendTime() - now();
      if (ms <= 0) break;
      if (ms < Infinity) onWait(ms);
      const responded = new Promise<void>((resolve) => {
        onResponse = resolve;
      });
      await withSignal(signal, (wait) => Promise.race([sleep(platform, ms, wait), responded]));
    }
    inFlight++;
  };

  const update: OnRateLimit = (rateLimit) => {
    ({ limit, windowMs } = rateLimit);
    usedByOthers = Math.max(0, limit - inFlight - releaseTimes.length - rateLimit.remaining);
    resetAt = now() + rateLimit.resetMs;
  };

  return {
    async schedule(signal, onWait, send) {
      await runExclusive(() => acquire(signal, onWait));
      return send(update).finally(() => {
        inFlight--;
        releaseTimes.push(now() + windowMs);
        onResponse();
      });
    },
    pauseFor(ms) {
      pausedUntil = Math.max(pausedUntil, now() + ms);
    },
  };
}

import { RATE_LIMIT, RATE_WINDOW_MS } from "../routes.generated.ts";
import { createMutex } from "./mutex.ts";
import { type Platform, sleep, withSignal } from "./platform.ts";

/** The state of a key's rate limit, as a response reports it. */
export interface RateLimit {
  /** Maximum requests in any window. */
  readonly limit: number;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
  /** Requests left in the present window. */
  readonly remaining: number;
  /** Milliseconds until the oldest counted request leaves the window. */
  readonly resetMs: number;
}

/** Called with the rate limit that a response reports. */
export type OnRateLimit = (rateLimit: RateLimit) => void;

/** Sends requests in the order of the calls, as fast as the rate limit allows. All requests of a client share it. */
export interface RateLimiter {
  /**
   * Sends a request as soon as the limit allows it.
   *
   * @param onWait called before each wait whose end is known, with its milliseconds; a response may end it earlier. It may
   *   throw to give up
   * @throws the signal's reason; the error of `onWait` or `send`
   */
  schedule<Result>(
    signal: AbortSignal,
    onWait: (ms: number) => void,
    send: (onRateLimit: OnRateLimit) => Promise<Result>,
  ): Promise<Result>;
  /** Sends nothing for some milliseconds, because the service rejected a request. */
  pauseFor(ms: number): void;
}

/**
 * Creates a limiter. The service counts a request from its arrival, for one window. The client does not know the time of
 * arrival, so it counts a request from its start until one window after its response, which is never too short. When a
 * response reports fewer requests left than this client's own requests explain, other clients use the same key. The limiter
 * then counts their requests too, until the next response.
 */
export function createRateLimiter(platform: Platform): RateLimiter {
  const now = () => platform.performance.now();
  let limit: number = RATE_LIMIT;
  let windowMs: number = RATE_WINDOW_MS;
  /** Requests without a response yet. */
  let inFlight = 0;
  /** The times at which answered requests leave the window, soonest first. */
  const releaseTimes: number[] = [];
  /** Requests of other clients. */
  let usedByOthers = 0;
  /** The time at which the oldest counted request leaves the window, by the last response. */
  let resetAt = 0;
  /** The end of the pause that `pauseFor` began. */
  let pausedUntil = 0;
  const runExclusive = createMutex();
  /** Ends the present wait of `acquire`, so that it looks again whether the limit allows a request. */
  let onResponse = () => {};

  /** Returns when the next request may be sent; Infinity: only the next response will tell. */
  const nextSendTime = (): number => {
    while ((releaseTimes[0] ?? Infinity) <= now()) releaseTimes.shift();
    const own = inFlight + releaseTimes.length;
    if (own + usedByOthers < limit) return pausedUntil;
    // If requests of this client fill the limit, waits for the oldest of them. Otherwise other clients do: at `resetAt`, when
    // one of the counted requests must have left the window, a single request is sent to find out more.
    const probeAt = own < limit && inFlight === 0 ? resetAt : Infinity;
    return Math.max(pausedUntil, Math.min(releaseTimes[0] ?? Infinity, probeAt));
  };

  /** Waits until the limit allows a request, and counts that request as in flight. */
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

import {
  createMemoryRateLimiter,
  type MemoryRateLimiter,
  RATE_WINDOW_MS,
  type RateDecision,
  rateDecision,
  type WindowState,
} from "@bikeshare/rules";
import type { RateLimits, SweptRateLimiter } from "./rate-limits.ts";
import type { SharedWindows } from "./shared-windows.ts";

export interface SharedLimitsOptions {
  readonly windows: SharedWindows;
  /** How many processes share each limit. */
  readonly processes: () => number;
  /** Milliseconds, by which requests are counted. */
  readonly clock: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** Limits that are counted in one store for all processes, and by shares while the store cannot be used. */
export function createSharedRateLimits(options: SharedLimitsOptions): RateLimits {
  const { windows, processes } = options;
  return {
    limiter: (name, windowMs = RATE_WINDOW_MS) => new SharedRateLimiter(name, windowMs, options),
    isExact: () => windows.isUsable() || processes() === 1,
    processes,
  };
}

/** Until when a key is refused without asking again. */
interface Rejection {
  readonly limit: number;
  readonly until: number;
}

class SharedRateLimiter implements SweptRateLimiter {
  readonly #name: string;
  readonly #windowMs: number;
  readonly #options: SharedLimitsOptions;
  /** All that this process has allowed, whoever counted it: what it goes on from when the store is lost. */
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

  #decide(key: string, limit: number, isTaken: boolean): RateDecision | Promise<RateDecision> {
    const { windows } = this.#options;
    if (!windows.isUsable()) return this.#byShare(key, limit, isTaken);
    // A store that has lost what it had counted allows too much until what it lost would have left the window.
    const byShare = windows.hasForgotten(this.#windowMs) ? this.#byShare(key, limit, isTaken) : undefined;
    if (byShare?.allowed === false) return byShare;
    const request = { key: `bikeshare:rate:{${this.#name}:${key}}`, limit, windowMs: this.#windowMs, isTaken };
    return windows.count(request).then((state) => {
      if (state === undefined) return byShare ?? this.#byShare(key, limit, isTaken);
      if (!state.allowed) this.#refuse(key, limit, state);
      else if (byShare === undefined) {
        // The answer itself may show that the clock of the store was set.
        if (windows.hasForgotten(this.#windowMs)) return this.#byShare(key, limit, isTaken);
        if (isTaken) this.#own.take(key, Number.POSITIVE_INFINITY);
      }
      return rateDecision(limit, state);
    });
  }

  /** Decides by what this process has allowed, of its share of the limit: at least one request, so that none starves. */
  #byShare(key: string, limit: number, isTaken: boolean): RateDecision {
    const share = Math.max(1, Math.floor(limit / this.#options.processes()));
    return { ...(isTaken ? this.#own.take(key, share) : this.#own.peek(key, share)), limit };
  }

  /** Refused requests are not counted, so none is allowed before the oldest counted one leaves: until then nobody asks. */
  #refuse(key: string, limit: number, { resetMs }: WindowState): void {
    this.#rejections.set(key, { limit, until: this.#options.monotonic() + resetMs });
  }

  #rejectionOf(key: string, limit: number): RateDecision | undefined {
    const rejection = this.#rejections.get(key);
    if (rejection?.limit !== limit) return undefined;
    const resetMs = rejection.until - this.#options.monotonic();
    return resetMs > 0 ? rateDecision(limit, { allowed: false, count: limit, resetMs }) : undefined;
  }
}

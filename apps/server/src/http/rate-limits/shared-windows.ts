import type { WindowState } from "@bikeshare/rules";

/*
 * Counts requests for the rate limits in a store that all processes share, and finds out when the store can be used. The
 * limiters of service.ts call `SharedWindows`, which calls the store; redis-store.ts is the store in Redis and runs the
 * script of this file there.
 */

/** One request to count in the window of a key. */
export interface CountRequest {
  /** The key in Redis. */
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Whether to count the request; false: the window is only read. */
  readonly isTaken: boolean;
}

/** The state of a window, and the time of the state by the store's clock. */
export interface StoreWindow extends WindowState {
  /** The time in milliseconds. */
  readonly at: number;
}

/** Lua that reads Redis's own clock, because the clocks of the processes may differ. */
const REDIS_CLOCK = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Returns a Lua script for Redis that does the same as the sliding window of `createMemoryRateLimiter`. It keeps a list
 * of the instants of the counted requests, oldest first, at 10 bytes each. Old instants are removed in chunks, so that
 * a call costs the same for every limit. So are instants after the present, from before Redis's clock was set back. The
 * whole list expires with its last instant.
 *
 * KEYS: the list. ARGV: the limit, the window in milliseconds, 1 to count the request or 0 to read.
 * The script returns whether the request is allowed, how many are counted, the milliseconds until a counted one leaves
 * the window and makes room, and `now`. If the limit was lowered, more may be counted than it allows: then several must
 * leave the window before there is room.
 * @param clock Lua that sets `now`, in milliseconds
 */
export function windowScript(clock = REDIS_CLOCK): string {
  return `${clock}
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local count = redis.call('LLEN', key)
local oldest = count > 0 and tonumber(redis.call('LINDEX', key, 0)) or now
local function counts(instant) return instant > now - window and instant <= now end
while count > 0 and not counts(oldest) do
  local chunk = redis.call('LRANGE', key, 0, 127)
  local leaving = 0
  while leaving < #chunk and not counts(tonumber(chunk[leaving + 1])) do leaving = leaving + 1 end
  redis.call('LTRIM', key, leaving, -1)
  count = count - leaving
  oldest = tonumber(chunk[leaving + 1] or redis.call('LINDEX', key, 0) or now)
end
local allowed = count < limit
if allowed and ARGV[3] == '1' then
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, window)
  count = count + 1
end
if count == 0 then return {1, 0, 0, now} end
if count > limit then oldest = tonumber(redis.call('LINDEX', key, count - limit)) end
return {allowed and 1 or 0, count, oldest + window - now, now}`;
}

/** Returns the arguments of the script after its key. */
export function scriptArguments({ limit, windowMs, isTaken }: CountRequest): [number, number, number] {
  return [limit, windowMs, isTaken ? 1 : 0];
}

/** Parses the reply of the script. */
export function readReply(reply: unknown): StoreWindow {
  if (!Array.isArray(reply)) throw new TypeError(`Redis gave ${typeof reply} for a window of the rate limit`);
  const [allowed, count, resetMs, at] = reply.map(Number);
  if (allowed === undefined || count === undefined || resetMs === undefined || at === undefined || Number.isNaN(at)) {
    throw new TypeError("Redis gave a window of the rate limit that has no state");
  }
  return { allowed: allowed === 1, count, resetMs, at };
}

/** A store that counts windows for all processes. Every call may fail. */
export interface RateStore {
  count(request: CountRequest): Promise<StoreWindow>;
  /** Returns the id of the store's current run: a new run may have lost its counts. Undefined: the store does not say. */
  whichRun(): Promise<string | undefined>;
  close(): void;
}

export interface SharedWindowsOptions {
  readonly store: () => RateStore;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /** Called when the store cannot be used, and again for each check that fails from then on. */
  readonly onFailed: (error: unknown) => void;
  /** Called when the store can be used, for the first time or again. */
  readonly onUsable: () => void;
  /** Milliseconds that a request waits for the store. */
  readonly timeoutMs?: number;
  /** Milliseconds between two checks of a store that cannot be used. */
  readonly checkIntervalMs?: number;
}

/**
 * The default of `timeoutMs`. Too high: a store that hangs slows every request. Too low: a store that forks to save its
 * data counts as lost.
 */
const TIMEOUT_MS = 50;
const CHECK_INTERVAL_MS = 1_000;
/** The most requests that wait at the same time. At 50 ms each, no process serves so many. */
const MAX_WAITING = 5_000;
/** The request of each check. Only a write shows that the store is not full, not a replica, and open to this account. */
export const CHECK_REQUEST: CountRequest = {
  key: "bikeshare:rate:{check}",
  limit: 1_000_000,
  windowMs: 1_000,
  isTaken: true,
};

/**
 * A larger step of the store's clock relative to ours means that the clock was changed. The counts have then left their
 * windows too early, or never will.
 */
const MAX_CLOCK_STEP_MS = 1_000;
/** The maximum drift between the two clocks, as a share of the time between two answers: ten times that of a bad clock. */
const MAX_CLOCK_DRIFT = 0.001;

class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/**
 * Counts requests in the store while the store answers in time. The first failure disables the store for all requests, so
 * that they do not wait in vain. A check each second finds out when the store can be used again.
 */
export class SharedWindows {
  readonly #options: SharedWindowsOptions;
  readonly #timeoutMs: number;
  #isUsable = false;
  #isClosed = false;
  #waiting = 0;
  /** The run of the store at the latest successful check; undefined: no check has succeeded. */
  #run: { readonly id: string | undefined } | undefined;
  /** When the store last lost its counts or its clock was changed, in milliseconds of `monotonic`. */
  #forgotAt = Number.NEGATIVE_INFINITY;
  /** How far the store's clock was ahead of our monotonic clock at the latest answer: a range. */
  #ahead: { readonly least: number; readonly most: number; readonly answeredAt: number } | undefined;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharedWindowsOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  isUsable(): boolean {
    return this.#isUsable && this.#waiting < MAX_WAITING;
  }

  /** Tells whether within the last `windowMs` the store has lost its counts, or its clock was changed. */
  hasForgotten(windowMs: number): boolean {
    return this.#options.monotonic() - this.#forgotAt < windowMs;
  }

  /** Counts a request; undefined if the store did not answer, or not in time. Never fails. */
  async count(request: CountRequest): Promise<WindowState | undefined> {
    this.#waiting++;
    try {
      return await this.#ask(request);
    } catch (error) {
      // Another waiting request may have reported the failure already.
      if (this.#isUsable) this.lost(error);
      return undefined;
    } finally {
      this.#waiting--;
    }
  }

  /** Uses the store again if it counts. Call it when the store can be reached, for the first time or again. Never fails. */
  check(): Promise<void> {
    this.#checking ??= this.#tryStore().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  /** Call it when the store is known to be unreachable. */
  lost(error: unknown): void {
    if (this.#isClosed) return;
    this.#isUsable = false;
    this.#options.onFailed(error);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.check().catch(() => undefined);
    }, this.#options.checkIntervalMs ?? CHECK_INTERVAL_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#isUsable = false;
    clearTimeout(this.#timer);
  }

  async #ask(request: CountRequest): Promise<WindowState> {
    const { store, monotonic } = this.#options;
    const askedAt = monotonic();
    const window = await inTime(store().count(request), this.#timeoutMs);
    const answeredAt = monotonic();
    // The store read its clock between these two instants, so its lead is a range. `stepMs` is the gap between this range
    // and the last one: it is positive only if a clock was changed or drifts.
    const ahead = { least: window.at - answeredAt, most: window.at - askedAt, answeredAt };
    const last = this.#ahead ?? ahead;
    const stepMs = Math.max(ahead.least - last.most, last.least - ahead.most);
    if (stepMs > MAX_CLOCK_STEP_MS + (askedAt - last.answeredAt) * MAX_CLOCK_DRIFT) this.#forgotAt = answeredAt;
    // Ignores an answer that arrives after a later one.
    if (answeredAt >= last.answeredAt) this.#ahead = ahead;
    return window;
  }

  async #tryStore(): Promise<void> {
    if (this.#isUsable || this.#isClosed) return;
    const { store, monotonic, onUsable } = this.#options;
    try {
      const id = await inTime(store().whichRun(), this.#timeoutMs);
      await this.#ask(CHECK_REQUEST);
      if (this.#isClosed) return;
      if (this.#run !== undefined && (id === undefined || id !== this.#run.id)) this.#forgotAt = monotonic();
      this.#run = { id };
      this.#isUsable = true;
      onUsable();
    } catch (error) {
      this.lost(error);
    }
  }
}

/** Returns the result of work. @throws TooSlow when the work takes longer */
function inTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new TooSlow(`no answer within ${timeoutMs} ms`));
    // If this process itself was busy, answers that have arrived meanwhile are read before the time-out counts.
    const timer = setTimeout(() => setImmediate(fail), timeoutMs);
    work.then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

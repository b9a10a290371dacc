import type { WindowState } from "@bikeshare/rules";

/** One request to count in the window of a key. */
export interface CountRequest {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
  /** False: the state is only read. */
  readonly isTaken: boolean;
}

/** A window, and when that was so by the clock of the store. */
export interface StoreWindow extends WindowState {
  /** Milliseconds. */
  readonly at: number;
}

/** Redis's own clock: the clocks of the processes that ask may differ. */
const REDIS_CLOCK = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Returns the sliding window of `createMemoryRateLimiter`, step by step, in Redis: a list of the instants of the requests
 * counted, oldest first, at 10 bytes each. Instants leave in chunks, so that a call costs the same whatever the limit; the
 * whole list expires with its last one.
 *
 * KEYS: the list. ARGV: the limit, the window in milliseconds, 1 to count the request or 0 to read.
 * Gives whether it is allowed, how many are counted, the milliseconds until there is room for one more, and `now`.
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

/** Parses the reply of the script. @param reply what the script gives */
export function readReply(reply: unknown): StoreWindow {
  if (!Array.isArray(reply)) throw new TypeError(`Redis gave ${typeof reply} for a window of the rate limit`);
  const [allowed, count, resetMs, at] = reply.map(Number);
  if (allowed === undefined || count === undefined || resetMs === undefined || at === undefined || Number.isNaN(at)) {
    throw new TypeError("Redis gave a window of the rate limit that has no state");
  }
  return { allowed: allowed === 1, count, resetMs, at };
}

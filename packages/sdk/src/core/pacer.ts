import { RATE_LIMIT, RATE_WINDOW_MS } from "../routes.generated.ts";
import { createTurns } from "./turns.ts";
import { sleep } from "./waiting.ts";
import type { World } from "./world.ts";

/** What the service said of a key's limit. */
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

/** Told what an answer says of the limit. */
export type OnRate = (rate: RateLimit) => void;

/** Lets requests go in the order in which they ask, as many as the limit allows. One for all requests of a client. */
export interface Pacer {
  /**
   * Sends a request when it is its turn.
   *
   * @param onWait told before each wait how many milliseconds it takes at most; may throw to give up
   * @throws the signal's reason; what `send` throws
   */
  inTurn<Result>(
    signal: AbortSignal,
    onWait: (ms: number) => void,
    send: (onRate: OnRate) => Promise<Result>,
  ): Promise<Result>;
  /** Lets no request go for some milliseconds: the service refused one. */
  pause(ms: number): void;
}

/**
 * The service counts a request when it comes and gives it back one window later. It came between being sent and being
 * answered, so counting each from its start until a window after its answer never lets through too many. Where the
 * answers say that less is left than we used, others use the same key; what they used is believed until the next answer.
 */
export function createPacer(world: World): Pacer {
  const now = () => world.performance.now();
  let limit: number = RATE_LIMIT;
  let windowMs: number = RATE_WINDOW_MS;
  /** Requests on their way. */
  let open = 0;
  /** When each answered request will have left the window, soonest first. */
  const leaving: number[] = [];
  /** Requests that others used, and when one of all that are used is given back. */
  let foreign = 0;
  let givenBackAt = 0;
  let pausedUntil = 0;
  const turns = createTurns();
  let wake = () => {};

  /** When a request may go: infinitely late where only an answer can tell. */
  const nextTurn = (): number => {
    while ((leaving[0] ?? Infinity) <= now()) leaving.shift();
    const own = open + leaving.length;
    if (own + foreign < limit) return pausedUntil;
    // Others are in the way. Once one request must have been given back, a single one goes and finds out.
    const probe = own < limit && open === 0 ? givenBackAt : Infinity;
    return Math.max(pausedUntil, Math.min(leaving[0] ?? Infinity, probe));
  };

  const take = async (signal: AbortSignal, onWait: (ms: number) => void): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      const ms = nextTurn() - now();
      if (ms <= 0) break;
      if (ms < Infinity) onWait(ms);
      const answered = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([sleep(world, ms, signal), answered]);
    }
    open++;
  };

  const learn: OnRate = (rate) => {
    ({ limit, windowMs } = rate);
    foreign = Math.max(0, limit - open - leaving.length - rate.remaining);
    givenBackAt = now() + rate.resetMs;
  };

  return {
    async inTurn(signal, onWait, send) {
      await turns(() => take(signal, onWait));
      return send(learn).finally(() => {
        open--;
        leaving.push(now() + windowMs);
        wake();
      });
    },
    pause: (ms) => void (pausedUntil = Math.max(pausedUntil, now() + ms)),
  };
}

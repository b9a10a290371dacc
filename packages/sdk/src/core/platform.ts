/** The functions that the client uses from its platform. */
export interface Platform {
  readonly performance: { readonly now: () => number };
  readonly setTimeout: (run: () => void, ms: number) => unknown;
  readonly clearTimeout: (id: never) => void;
  readonly Math: { readonly random: () => number };
  readonly crypto: { readonly randomUUID: () => string };
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Present in browsers only. */
  readonly document?: unknown;
}

/** Under this key the client's options may carry another platform. For tests: the package does not export it. */
export const PLATFORM: unique symbol = Symbol("platform");

/** The longest delay that a timer can take: 24.8 days. A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits any number of milliseconds.
 *
 * @throws the signal's reason as soon as it aborts. No timer and no listener is left in either case
 */
export async function sleep(platform: Platform, ms: number, signal: AbortSignal): Promise<void> {
  const end = platform.performance.now() + ms;
  for (let left = ms; left > 0; left = end - platform.performance.now()) {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        platform.clearTimeout(timer as never); // It takes what setTimeout gave, whatever that is here.
        reject(signal.reason as Error);
      };
      const onTimer = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      // Whole milliseconds: a faked timer drops the fraction, and would be asked for 0 ms for ever.
      const timer = platform.setTimeout(onTimer, Math.min(Math.ceil(left), MAX_TIMER_MS));
      signal.addEventListener("abort", onAbort);
    });
  }
}

/**
 * Runs work with a signal of its own. It aborts when `parent` does, and when the work is over, which clears the timers
 * and listeners that the work left behind.
 *
 * @throws what the work throws, or the reason of a `parent` that is aborted already
 */
export async function withSignal<Result>(
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  parent?.throwIfAborted();
  const controller = new AbortController();
  const { signal } = controller;
  parent?.addEventListener("abort", () => controller.abort(parent.reason), { signal });
  return work(signal).finally(() => controller.abort());
}

/**
 * Runs work that has some milliseconds. When they are over, or when `parent` aborts, this ends, even where the work
 * ignores its signal.
 *
 * @throws what the work throws, what `timeoutError` makes, or the reason of `parent`
 */
export function withTimeout<Result>(
  platform: Platform,
  ms: number,
  parent: AbortSignal | undefined,
  timeoutError: () => Error,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return withSignal(parent, (signal) => {
    const timeout = sleep(platform, ms, signal).then(() => {
      throw timeoutError();
    });
    return Promise.race([work(signal), timeout]);
  });
}

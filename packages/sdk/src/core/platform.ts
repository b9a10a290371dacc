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

/** The key of another platform in a client's options. It is for tests, so the package does not export it. */
export const PLATFORM: unique symbol = Symbol("platform");

/** The longest delay of a timer, 24.8 days. A timer with a longer delay would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits any number of milliseconds. At its end it leaves no timer and no listener.
 *
 * @throws the signal's reason as soon as the signal aborts
 */
export async function sleep(platform: Platform, ms: number, signal: AbortSignal): Promise<void> {
  const end = platform.performance.now() + ms;
  for (let left = ms; left > 0; left = end - platform.performance.now()) {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        platform.clearTimeout(timer as never); // The type of a timer depends on the platform.
        reject(signal.reason as Error);
      };
      const onTimer = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      // Rounded up to whole milliseconds. A fake timer drops fractions, and this loop would ask for 0 ms again and again.
      const timer = platform.setTimeout(onTimer, Math.min(Math.ceil(left), MAX_TIMER_MS));
      signal.addEventListener("abort", onAbort);
    });
  }
}

/**
 * Runs work with its own signal. The signal aborts when `parent` aborts. It also aborts when the work is over, which clears
 * the timers and listeners that the work left.
 *
 * @throws the error of the work, or the reason of a `parent` that is aborted already
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
 * Runs work with a timeout. The promise settles at the timeout or when `parent` aborts, even if the work ignores its signal.
 *
 * @throws the error of the work, the error of `timeoutError`, or the reason of `parent`
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

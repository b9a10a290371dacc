import type { World } from "./world.ts";

/** The longest that a timer can take: 24.8 days. A longer one would go off at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits some milliseconds, however many.
 *
 * @throws the signal's reason as soon as it aborts; the timer is cleared then
 */
export async function sleep(world: World, ms: number, signal: AbortSignal): Promise<void> {
  const end = world.performance.now() + ms;
  for (let left = ms; left > 0; left = end - world.performance.now()) {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      // Whole milliseconds: a faked timer cuts the fraction off, and would be asked for nothing for ever.
      const timer = world.setTimeout(resolve, Math.min(Math.ceil(left), LONGEST_TIMER_MS));
      signal.addEventListener("abort", () => {
        world.clearTimeout(timer as never); // It takes what setTimeout gave, whatever that is here.
        reject(signal.reason as Error);
      });
    });
  }
}

/**
 * Runs work that has some milliseconds to be done in. When they are over, or when `parent` aborts, this ends, even
 * where the work does not heed its signal. The signal is aborted in any case, which clears what the work left behind.
 *
 * @throws what the work throws, what `late` makes, or the reason of `parent`
 */
export async function within<Result>(
  world: World,
  ms: number,
  parent: AbortSignal | undefined,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  parent?.throwIfAborted();
  const controller = new AbortController();
  const { signal } = controller;
  parent?.addEventListener("abort", () => controller.abort(parent.reason), { signal });
  const end = sleep(world, ms, signal).then(() => {
    throw late();
  });
  return Promise.race([work(signal), end]).finally(() => controller.abort());
}

import { setTimeout } from "node:timers/promises";

/** Milliseconds after which the wait for a condition fails. Too low: fails good tests on a busy machine. */
const HANG_TIMEOUT_MS = 60_000;

/** Polls a condition until it is true. @returns the milliseconds that took @throws after `bound` milliseconds */
export async function until(isTrue: () => Promise<boolean> | boolean, bound = HANG_TIMEOUT_MS): Promise<number> {
  const start = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - start > bound) throw new Error(`still not true after ${bound} ms`);
    await setTimeout(5);
  }
  return performance.now() - start;
}

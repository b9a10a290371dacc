import { setTimeout } from "node:timers/promises";

/** Asks again and again until the answer is yes; gives the milliseconds that took. Fails after `bound` milliseconds. */
export async function until(isTrue: () => Promise<boolean> | boolean, bound = 10_000): Promise<number> {
  const start = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - start > bound) throw new Error(`still not true after ${bound} ms`);
    await setTimeout(5);
  }
  return performance.now() - start;
}

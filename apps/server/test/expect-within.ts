import { expect } from "vitest";

/**
 * Expects that one of up to ten attempts takes less than `bound` milliseconds, and stops at the first that does: on a busy
 * machine some attempts are slow, but with a slow service all are.
 *
 * @param attempt returns the milliseconds that it took
 */
export async function expectWithin(bound: number, attempt: () => Promise<number>): Promise<void> {
  const taken: number[] = [];
  do taken.push(await attempt());
  while (Math.min(...taken) >= bound && taken.length < 10);
  expect(Math.min(...taken)).toBeLessThan(bound);
}

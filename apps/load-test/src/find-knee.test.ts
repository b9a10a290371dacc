import fc from "fast-check";
import { expect, it } from "vitest";
import { resultOf } from "../test/results.ts";
import { findKnee } from "./find-knee.ts";

// A fixed seed, so that a failure can be repeated on another machine.
fc.configureGlobal({ seed: 1 });

async function kneeOf(kneeAt: number, startRate = 50, maxRate = 20_000) {
  const tried: number[] = [];
  const result = await findKnee({
    ...{ startRate, maxRate },
    measureAt: async (rate) => resultOf({ perSecond: rate, passed: rate <= kneeAt }),
    onStep: ({ ratePerSecond }) => tried.push(ratePerSecond),
  });
  return { tried, result };
}

it("reports a rate that passed, and at most an eighth below the highest that would", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 50, max: 15_000 }), async (kneeAt) => {
      const { result, tried } = await kneeOf(kneeAt);
      const good = result.knee?.lastGoodPerSecond ?? 0;
      expect(good).toBeLessThanOrEqual(kneeAt);
      expect(good).toBeGreaterThanOrEqual(Math.floor(kneeAt / 1.13) - 1);
      expect(result).toMatchObject({ passed: true, totals: { perSecond: good } });
      expect(result.knee?.steps.map(({ ratePerSecond }) => ratePerSecond)).toEqual(tried);
    }),
  );
});

it("a first rate that does not pass fails the search", async () => {
  const { tried, result } = await kneeOf(10);
  expect(tried).toEqual([50]);
  expect(result).toMatchObject({ passed: false, knee: { lastGoodPerSecond: undefined } });
});

it("stops at the highest rate that is allowed", async () => {
  const { tried, result } = await kneeOf(1e9, 50, 120);
  expect(tried).toEqual([50, 75, 113, 120]);
  expect(result.knee?.lastGoodPerSecond).toBe(120);
});

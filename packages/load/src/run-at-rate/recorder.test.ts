import fc from "fast-check";
import { expect, it } from "vitest";
import { createHistograms, mergedHistograms, recordMs, summaryOf } from "./recorder.ts";

// A fixed seed: a test that fails on one machine fails on every machine.
fc.configureGlobal({ seed: 1 });

const durations = fc.array(fc.double({ min: 0.01, max: 20_000, noNaN: true }), { minLength: 1, maxLength: 200 });

it("the histograms of several threads add up to that of all their requests", () => {
  fc.assert(
    fc.property(fc.array(durations, { minLength: 1, maxLength: 4 }), (threads) => {
      const parts = threads.map((times) => {
        const histograms = createHistograms();
        for (const time of times) recordMs(histograms.response, time);
        return histograms;
      });
      const all = createHistograms();
      for (const time of threads.flat()) recordMs(all.response, time);
      expect(summaryOf(mergedHistograms(parts).response)).toEqual(summaryOf(all.response));
    }),
    { numRuns: 50 },
  );
});

it("percentiles are those of the values, to a thousandth", () => {
  fc.assert(
    fc.property(durations, (times) => {
      const { response } = createHistograms();
      for (const time of times) recordMs(response, time);
      const sorted = times.toSorted((a, b) => a - b);
      const { percentiles, count } = summaryOf(response);
      expect(count).toBe(times.length);
      for (const percentile of [50, 90, 99, 100]) {
        // The histogram uses the nearest rank.
        const rank = Math.max(1, Math.floor((percentile / 100) * sorted.length + 0.5));
        const exact = sorted[rank - 1] ?? 0;
        // The histogram rounds to whole microseconds, hence the 0.001 ms.
        expect(Math.abs((percentiles[String(percentile)] ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.001 + 0.00101);
      }
    }),
    { numRuns: 50 },
  );
});

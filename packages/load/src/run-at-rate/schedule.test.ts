import fc from "fast-check";
import { expect, it } from "vitest";
import { runOpenLoop } from "./open-loop.ts";
import { type Arrivals, derivedSeed, startTimes } from "./schedule.ts";

// A fixed seed: a test that fails on one machine fails on every machine.
fc.configureGlobal({ seed: 1 });

const arrivals = fc.record({
  kind: fc.constantFrom("constant" as const, "poisson" as const),
  ratePerSecond: fc.double({ min: 0.5, max: 500, noNaN: true }),
  durationMs: fc.integer({ min: 100, max: 5000 }),
  seed: fc.nat(),
});
const whole = (schedule: Arrivals) => [...startTimes(schedule, { index: 0, of: 1 })];

it("the same seed gives the same schedule, and each worker an own part of it, whatever their number", () => {
  fc.assert(
    fc.property(arrivals, fc.integer({ min: 1, max: 8 }), (schedule, workers) => {
      const shares = Array.from({ length: workers }, (_, index) => [...startTimes(schedule, { index, of: workers })]);
      expect(shares.flat().toSorted((a, b) => a - b)).toEqual(whole(schedule));
    }),
  );
});

it("start times ascend within the run", () => {
  fc.assert(
    fc.property(arrivals, (schedule) => {
      const times = whole(schedule);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      for (const time of times) expect(time >= 0 && time < schedule.durationMs).toBe(true);
    }),
  );
});

it("constant starts are evenly spaced; independent ones come at the rate, with gaps as random as those of a Poisson process", () => {
  const schedule = { ratePerSecond: 100, durationMs: 200_000, seed: 7 };
  const constant = whole({ ...schedule, kind: "constant" });
  expect(constant.slice(0, 4)).toEqual([0, 10, 20, 30]);
  expect(constant).toHaveLength(20_000);
  const times = whole({ ...schedule, kind: "poisson" });
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
  // The standard deviation of an exponential distribution equals its mean. With 20,000 gaps both are within 3 %.
  expect(mean).toBeGreaterThan(9.7);
  expect(mean).toBeLessThan(10.3);
  expect(deviation / mean).toBeGreaterThan(0.97);
  expect(deviation / mean).toBeLessThan(1.03);
});

it("streams and workers draw from different sequences", () => {
  const seeds = Array.from({ length: 1000 }, (_, index) => derivedSeed(1, index % 100, Math.floor(index / 100)));
  expect(new Set(seeds).size).toBe(1000);
});

it("a start that is late is made late, and none is left out", async () => {
  const starts: { intendedAt: number; lateMs: number }[] = [];
  const startAt = performance.now();
  await runOpenLoop([0, 5, 10, 15, 60], startAt, (intendedAt) => {
    starts.push({ intendedAt: intendedAt - startAt, lateMs: performance.now() - intendedAt });
    // The first start blocks the thread until the next three are due.
    if (starts.length === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40);
  });
  expect(starts.map(({ intendedAt }) => Math.round(intendedAt))).toEqual([0, 5, 10, 15, 60]);
  for (const { lateMs } of starts) expect(lateMs).toBeGreaterThanOrEqual(0);
  expect(starts[1]?.lateMs).toBeGreaterThan(30);
});

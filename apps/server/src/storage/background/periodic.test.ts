import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/until.ts";
import { createConditions } from "../../health/conditions/conditions.ts";
import { startPeriodic, startSweeper, startSystemSteps } from "./periodic.ts";

const noError = (error: unknown) => {
  throw error;
};

test("runs never overlap, and one that is asked for begins after the run under way", async () => {
  let running = 0;
  let most = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = async () => {
    most = Math.max(most, ++running);
    await promise;
    return running--;
  };
  const periodic = startPeriodic({ intervalMs: 1, work, onError: noError, immediately: true });
  const runs = [periodic.runOnce(), periodic.runOnce()];
  resolve();
  await Promise.all(runs);
  await periodic.close();
  expect([most, running]).toEqual([1, 0]);
});

test("a run that fails is reported and followed by the next; the caller of runOnce gets its own failure", async () => {
  const errors: unknown[] = [];
  let runs = 0;
  const work = () => (++runs === 1 ? Promise.reject(new Error("away")) : Promise.resolve());
  const periodic = startPeriodic({ intervalMs: 1, work, onError: (error) => errors.push(error), immediately: true });
  await until(() => runs > 2);
  await periodic.close();
  expect(errors).toEqual([new Error("away")]);
  const failing = startPeriodic({ intervalMs: 1_000, work: () => Promise.reject(new Error("gone")), onError: noError });
  await expect(failing.runOnce()).rejects.toThrow("gone");
  await failing.close();
});

test("a sweep takes full batches until one is not full, in every system, also behind one that fails", async () => {
  const left: Record<string, number> = { a: 25, b: 10 };
  const errors: unknown[] = [];
  const sweeper = startSweeper({
    intervalMs: 60_000,
    batchSize: 10,
    systems: () => Promise.resolve(["a", "broken", "b"]),
    sweep: (systemId, limit) => {
      const found = left[systemId];
      if (found === undefined) return Promise.reject(new Error("no such system"));
      const swept = Math.min(found, limit);
      left[systemId] = found - swept;
      return Promise.resolve({ swept, isMore: swept === limit });
    },
    onError: (error, systemId) => errors.push([error, systemId]),
  });
  expect(await sweeper.runOnce()).toBe(35);
  await sweeper.close();
  expect([left, errors]).toEqual([{ a: 0, b: 0 }, [[new Error("no such system"), "broken"]]]);
});

test("a system that has more to sweep than its time allows waits for the next run, and the others are swept", async () => {
  const swept: string[] = [];
  const sweeper = startSweeper({
    ...{ intervalMs: 1_000_000, batchSize: 10, maxSystemMs: 20 },
    systems: () => Promise.resolve(["endless", "other"]),
    sweep: async (systemId) => {
      swept.push(systemId);
      await new Promise(setImmediate);
      return { swept: 10, isMore: systemId === "endless" };
    },
    onError: (error) => expect.unreachable(String(error)),
  });
  await sweeper.runOnce();
  await sweeper.runOnce();
  await sweeper.close();
  expect(swept.filter((systemId) => systemId === "other")).toHaveLength(2);
});

test("a sweeper that is closed ends after the batch under way, however much is left, in any system", async () => {
  const swept: string[] = [];
  let closing: Promise<void> | undefined;
  const sweeper = startSweeper({
    intervalMs: 60_000,
    batchSize: 10,
    systems: () => Promise.resolve(["a", "b"]),
    sweep: (systemId) => {
      swept.push(systemId);
      closing ??= sweeper.close();
      return Promise.resolve({ swept: 10, isMore: swept.length < 5 });
    },
    onError: noError,
  });
  expect(await sweeper.runOnce()).toBe(10);
  await closing;
  expect(swept).toEqual(["a"]);
});

test("maintenance beside steps is repeated after its interval, however the system clock is set meanwhile", async () => {
  let now = 0;
  let maintained = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-06-01T12:00:00Z") });
  onTestFinished(() => void vi.useRealTimers());
  const work = startSystemSteps({
    ...{ intervalMs: 1_000_000, careIntervalMs: 60_000, monotonic: () => now },
    systems: () => Promise.resolve(["a"]),
    next: () => Promise.resolve(false),
    care: () => Promise.resolve(maintained++),
    onError: noError,
  });
  await work.runOnce();
  vi.setSystemTime(Date.parse("2026-06-02T12:00:00Z"));
  now = 59_999;
  await work.runOnce();
  expect(maintained).toBe(1);
  vi.setSystemTime(Date.parse("2026-05-01T12:00:00Z"));
  now = 60_000;
  await work.runOnce();
  await work.close();
  expect(maintained).toBe(2);
});

test("work stands still once neither a success nor its start is recent, whether its runs fail in part, whole, or hang", async () => {
  const MINUTE_MS = 60_000;
  let now = 0;
  const ignore = () => undefined;
  const conditions = createConditions({ monotonic: () => now, log: { info: ignore, warn: ignore, error: ignore } });
  const { failed, watch } = conditions.of("sweeping");
  conditions.of("work that is not repeated");
  const nothing = { swept: 0, isMore: false };
  let sweep = (): Promise<typeof nothing> => Promise.resolve(nothing);
  const sweeper = startSweeper({
    ...{ intervalMs: MINUTE_MS, batchSize: 1, systems: () => Promise.resolve(["a", "b"]), watch },
    onError: (error) => failed(error),
    sweep: (systemId) => (systemId === "a" ? Promise.resolve(nothing) : sweep()),
  });
  const status = () => conditions.works()[0];
  const none = {
    ...{ work: "sweeping", succeededRuns: 0, failedRuns: 0, successAgeMs: undefined, lastRunMs: undefined },
    ...{ heldUpMs: 0, maxSilenceMs: 7 * MINUTE_MS },
  };
  expect(conditions.works()).toEqual([{ ...none, standsStill: false }]);
  now = 8 * MINUTE_MS;
  expect(status()?.standsStill).toBe(true);
  await sweeper.runOnce();
  expect(status()).toEqual({ ...none, succeededRuns: 1, successAgeMs: 0, lastRunMs: 0, standsStill: false });

  sweep = () => Promise.reject(new Error("one system cannot be swept"));
  now += 7 * MINUTE_MS;
  await sweeper.runOnce();
  expect(status()).toMatchObject({ succeededRuns: 1, failedRuns: 1, successAgeMs: 7 * MINUTE_MS, standsStill: false });
  now += 1;
  expect(status()?.standsStill).toBe(true);

  const hanging = Promise.withResolvers<typeof nothing>();
  const begun = Promise.withResolvers<void>();
  sweep = () => {
    begun.resolve();
    return hanging.promise;
  };
  const run = sweeper.runOnce();
  await begun.promise;
  now += MINUTE_MS;
  expect(status()).toMatchObject({ failedRuns: 1, standsStill: true });
  hanging.resolve(nothing);
  await run;
  expect(status()).toMatchObject({ succeededRuns: 2, lastRunMs: MINUTE_MS, standsStill: false });

  // Each batch counts as progress of the sweep.
  const heldUpMs: unknown[] = [];
  sweep = () => {
    conditions.passTime(1_000);
    heldUpMs.push(status()?.heldUpMs);
    return Promise.resolve({ swept: 1, isMore: heldUpMs.length < 3 });
  };
  await sweeper.runOnce();
  expect(heldUpMs).toEqual([1_000, 1_000, 1_000]);
  await sweeper.close();
  expect(conditions.works()).toEqual([]);
});

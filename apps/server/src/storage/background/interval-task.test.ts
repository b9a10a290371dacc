import { expect, test } from "vitest";
import { IntervalTask } from "./periodic.ts";

test("work is done once per interval, at once when made due, and again after a failure", async () => {
  let now = 0;
  let done = 0;
  let fails = false;
  const interval = new IntervalTask(
    1_000,
    () => {
      done++;
      return fails ? Promise.reject(new Error("away")) : Promise.resolve();
    },
    () => now,
  );
  expect([await interval.runIfDue(), await interval.runIfDue()]).toEqual([true, false]);
  now = 1_000;
  expect(await interval.runIfDue()).toBe(true);
  interval.makeDue();
  expect(await interval.runIfDue()).toBe(true);
  fails = true;
  now = 2_000;
  await expect(interval.runIfDue()).rejects.toThrow("away");
  fails = false;
  expect([await interval.runIfDue(), done]).toEqual([true, 5]);
});

test("work that is made due while it runs is done again: what it has read may be outdated", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let done = 0;
  const interval = new IntervalTask(
    1_000,
    () => {
      done++;
      return promise;
    },
    () => 0,
  );
  const first = interval.runIfDue();
  interval.makeDue();
  resolve();
  await first;
  expect([await interval.runIfDue(), await interval.runIfDue(), done]).toEqual([true, false, 2]);
});

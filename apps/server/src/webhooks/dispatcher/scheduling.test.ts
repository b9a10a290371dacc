import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { Coalescer, IntervalTask } from "./scheduling.ts";

/** Work whose turns end when the test says so. */
function stage() {
  const ends: { readonly end: (rest: number) => void; readonly fail: (error: Error) => void }[] = [];
  const errors: unknown[] = [];
  let begun = 0;
  const turns = new Coalescer(
    () => {
      begun++;
      return new Promise<number>((resolve, reject) => {
        ends.push({ end: resolve, fail: reject });
      });
    },
    (error) => void errors.push(error),
  );
  return { turns, errors, begun: () => begun, next: () => ends.shift() };
}

test("however often it is asked for while a turn runs, one more turn follows", async () => {
  const { turns, begun, next } = stage();
  turns.request();
  for (let asked = 0; asked < 5; asked++) turns.request();
  expect(begun()).toBe(1);
  next()?.end(0);
  await until(() => begun() === 2);
  next()?.end(0);
  for (let ticks = 0; ticks < 10; ticks++) await setImmediate();
  expect(begun()).toBe(2);
  turns.request();
  expect(begun()).toBe(3);
  next()?.end(0);
  await turns.close();
});

test("a turn that fails is tried again without being asked for", async () => {
  const { turns, begun, next, errors } = stage();
  turns.request();
  next()?.fail(new Error("away"));
  await until(() => begun() === 2);
  expect(errors).toEqual([new Error("away")]);
  next()?.end(0);
  await turns.close();
});

test("closing waits for the turn under way and begins none after it", async () => {
  const { turns, begun, next } = stage();
  turns.request();
  turns.request();
  let closed = false;
  const closing = turns.close().then(() => void (closed = true));
  await setImmediate();
  expect(closed).toBe(false);
  next()?.end(0);
  await closing;
  turns.request();
  await setImmediate();
  expect(begun()).toBe(1);
});

test("an interval's work is done once in its time, at once when hurried, and again after a failure", async () => {
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

test("an interval that is hurried while its work is under way does it again: what was read may be too old", async () => {
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

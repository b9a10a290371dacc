import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { Coalescer } from "./coalescer.ts";

/** A coalescer whose runs end when the test says so. */
function startCoalescer(concurrency?: number) {
  const ends: { readonly end: (pauseMs: number) => void; readonly fail: (error: Error) => void }[] = [];
  const errors: unknown[] = [];
  const begun: string[] = [];
  const coalescer = new Coalescer({
    work: (key) => {
      begun.push(key);
      return new Promise<number>((resolve, reject) => {
        ends.push({ end: resolve, fail: reject });
      });
    },
    onError: (error, key) => void errors.push([error, key]),
    ...(concurrency === undefined ? {} : { concurrency }),
  });
  return { coalescer, errors, begun, next: () => ends.shift() };
}

test("however often work is requested during a run, one more run follows", async () => {
  const { coalescer, begun, next } = startCoalescer();
  coalescer.request();
  for (let requested = 0; requested < 5; requested++) coalescer.request();
  expect(begun).toEqual([""]);
  next()?.end(0);
  await until(() => begun.length === 2);
  next()?.end(0);
  for (let ticks = 0; ticks < 10; ticks++) await setImmediate();
  expect(begun.length).toBe(2);
  coalescer.request();
  expect(begun.length).toBe(3);
  next()?.end(0);
  await coalescer.close();
});

test("as many keys are worked on at once as are allowed; the others follow in the order of their requests", async () => {
  const { coalescer, begun, next } = startCoalescer(2);
  for (const key of ["a", "b", "c", "d", "a"]) coalescer.request(key);
  expect(begun).toEqual(["a", "b"]);
  next()?.end(0);
  await until(() => begun.length === 3);
  next()?.end(0);
  await until(() => begun.length === 4);
  expect(begun).toEqual(["a", "b", "c", "d"]);
  next()?.end(0);
  await until(() => begun.length === 5);
  expect(begun[4]).toBe("a");
  next()?.end(0);
  next()?.end(0);
  await coalescer.close();
});

test("a run that fails is reported with its key, and made again without a request", async () => {
  const { coalescer, begun, next, errors } = startCoalescer();
  coalescer.request("a");
  next()?.fail(new Error("away"));
  await until(() => begun.length === 2);
  expect(errors).toEqual([[new Error("away"), "a"]]);
  next()?.end(0);
  await coalescer.close();
});

test("closing waits for the run under way and begins none after it", async () => {
  const { coalescer, begun, next } = startCoalescer();
  coalescer.request("a");
  coalescer.request("b");
  let closed = false;
  const closing = coalescer.close().then(() => void (closed = true));
  await setImmediate();
  expect(closed).toBe(false);
  next()?.end(0);
  await closing;
  coalescer.request("c");
  await setImmediate();
  expect(begun).toEqual(["a"]);
});

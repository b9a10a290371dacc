import { expect, it } from "vitest";
import { createMutex } from "./mutex.ts";

it("runs one piece of work at a time, in the order of the calls, though the first takes longest", async () => {
  const runExclusive = createMutex();
  const done: string[] = [];
  let open = 0;
  const work = (name: string, ticks: number) => async () => {
    expect(++open).toBe(1);
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    done.push(name);
    open--;
    return name;
  };
  const results = await Promise.all([
    runExclusive(work("a", 9)),
    runExclusive(work("b", 3)),
    runExclusive(work("c", 0)),
  ]);
  expect([results, done]).toEqual([
    ["a", "b", "c"],
    ["a", "b", "c"],
  ]);
});

it("continues after work that fails, and rejects only its own call", async () => {
  const runExclusive = createMutex();
  const failed = runExclusive(() => Promise.reject(new Error("no")));
  const next = runExclusive(() => Promise.resolve("next"));
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("next");
});

import { expect, it } from "vitest";
import { simulate } from "../../test/simulation.ts";
import { sleep, withSignal, withTimeout } from "./platform.ts";

/** Returns a signal that counts its listeners. */
function countingSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<unknown>();
  const { addEventListener: add, removeEventListener: remove } = signal;
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners.add(args[1]);
    add.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners.delete(args[1]);
    remove.apply(signal, args);
  };
  return { controller, signal, listeners };
}

it("sleep leaves no listener on its signal, however often it is called", async () => {
  const simulation = simulate(fetch);
  const { signal, listeners } = countingSignal();
  for (let time = 0; time < 20; time++) await simulation.run(sleep(simulation.platform, 1000, signal));
  expect([listeners.size, simulation.timers(), simulation.now()]).toEqual([0, 0, 20_000]);
});

it("sleep waits longer than the longest timer", async () => {
  const simulation = simulate(fetch);
  await simulation.run(sleep(simulation.platform, 2 ** 32, new AbortController().signal));
  expect(simulation.now()).toBe(2 ** 32);
});

it("sleep throws the reason of its signal and clears its timer", async () => {
  const simulation = simulate(fetch);
  const { controller, signal } = countingSignal();
  const slept = sleep(simulation.platform, 1000, signal);
  controller.abort(new Error("enough"));
  await expect(slept).rejects.toThrow("enough");
  expect(simulation.timers()).toBe(0);
});

it("work within a timeout leaves no timer, whether it succeeds, fails or is late", async () => {
  const simulation = simulate(fetch);
  const limited = (work: () => Promise<unknown>) =>
    simulation.run(
      withTimeout(simulation.platform, 1000, undefined, () => new Error("late"), work).catch((error: unknown) => error),
    );
  expect(await limited(async () => "done")).toBe("done");
  expect(await limited(() => Promise.reject(new Error("failed")))).toEqual(new Error("failed"));
  expect(await limited(() => new Promise(() => {}))).toEqual(new Error("late"));
  expect([simulation.timers(), simulation.now()]).toEqual([0, 1000]);
});

it("work with a signal of its own has it aborted when the work is over", async () => {
  const own = await withSignal(undefined, async (signal) => signal);
  expect(own.aborted).toBe(true);
});

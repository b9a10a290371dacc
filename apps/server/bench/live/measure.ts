import { setTimeout as sleep } from "node:timers/promises";
import type { Load } from "./loads.ts";

/** What calls took, in milliseconds. */
export class Latencies {
  readonly #all: number[] = [];

  add(milliseconds: number): void {
    this.#all.push(milliseconds);
  }

  get count(): number {
    return this.#all.length;
  }

  /** @param share such as 0.99 */
  at(share: number): number {
    const sorted = this.#all.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  }
}

/** Closed model: every caller calls again as soon as it is answered. @returns the seconds it took */
export async function saturate({ callers }: Load, milliseconds: number, latencies: Latencies): Promise<number> {
  const begun = performance.now();
  await Promise.all(
    callers.map(async (call) => {
      for (let sent = performance.now(); sent - begun < milliseconds; sent = performance.now()) {
        await call();
        latencies.add(performance.now() - sent);
      }
    }),
  );
  return (performance.now() - begun) / 1000;
}

/**
 * Open model: calls begin at their times, whatever became of those before; one for which no caller is free waits, and its
 * latency counts from the time it was to begin.
 */
export async function runAtRate({ callers }: Load, callsPerSecond: number, milliseconds: number): Promise<Latencies> {
  const latencies = new Latencies();
  const free = [...callers];
  const due: number[] = [];
  const begun = performance.now();
  const running = new Set<Promise<void>>();
  const dispatch = () => {
    while (due.length > 0 && free.length > 0) {
      const intended = due.shift() ?? 0;
      const call = free.shift();
      if (call === undefined) return;
      const run = call().then(() => {
        latencies.add(performance.now() - intended);
        free.push(call);
        running.delete(run);
        dispatch();
      });
      running.add(run);
    }
  };
  const interval = 1000 / callsPerSecond;
  for (let next = begun; next - begun < milliseconds;) {
    for (; next <= performance.now() && next - begun < milliseconds; next += interval) due.push(next);
    dispatch();
    await sleep(1);
  }
  while (running.size > 0) await Promise.all(running);
  return latencies;
}

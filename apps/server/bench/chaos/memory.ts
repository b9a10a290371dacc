import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Component } from "./component.ts";

/** What a component's processes have taken of the machine, over a run. */
export interface MemorySeries {
  readonly name: string;
  /** MiB of their own, which nobody shares. */
  readonly samples: readonly number[];
}

const SAMPLE_INTERVAL_MS = 2_000;
const KIB = 1024;

/** Follows components until the signal. */
export async function sampleMemory(components: readonly Component[], signal: AbortSignal): Promise<MemorySeries[]> {
  const series = components.map(({ name }) => ({ name, samples: [] as number[] }));
  while (!signal.aborted) {
    for (const [index, component] of components.entries()) {
      const used = await Promise.all((await component.pids()).map(ownMemory));
      const sum = used.reduce((total, mebibytes) => total + mebibytes, 0);
      // Just killed.
      if (sum > 0) series[index]?.samples.push(Math.round(sum));
    }
    await sleep(SAMPLE_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
  return series;
}

async function ownMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / KIB;
}

/** The most that a series has in its first and in its second half. Each start begins below it. */
export function growthOf({ samples }: MemorySeries): { readonly early: number; readonly late: number } {
  const half = Math.floor(samples.length / 2);
  return { early: Math.max(0, ...samples.slice(0, half)), late: Math.max(0, ...samples.slice(half)) };
}

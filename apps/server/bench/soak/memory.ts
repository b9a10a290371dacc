import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

const SAMPLE_INTERVAL_MS = 5_000;
const SAMPLES_PER_MINUTE = 60_000 / SAMPLE_INTERVAL_MS;

/** Follows a process's resident memory until the signal. @returns the median of each minute, in MiB (Linux; elsewhere NaN) */
export async function sampleMemory(pid: () => number, signal: AbortSignal): Promise<number[]> {
  const samples: number[] = [];
  while (!signal.aborted) {
    // Between a kill and the restart there is no such process.
    const status = await readFile(`/proc/${pid()}/status`, "utf8").catch(() => "");
    samples.push(Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024));
    await setTimeout(SAMPLE_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
  const minutes: number[] = [];
  for (let first = 0; first < samples.length; first += SAMPLES_PER_MINUTE) {
    const sorted = samples
      .slice(first, first + SAMPLES_PER_MINUTE)
      .filter(Number.isFinite)
      .toSorted((a, b) => a - b);
    minutes.push(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN);
  }
  return minutes;
}

import { describePercentiles } from "@bikeshare/load";
import type { ChaosReport, Kill, MemorySeries } from "./run.ts";

/*
 * Judges and describes a run of `pnpm bench chaos`, which kills or restarts the components of a deployment under load.
 */

/** Maximum share of failed requests. In a rolling run none may fail. */
const MAX_ERROR_SHARE = 0.005;
/** Maximum time during which no read, or no write, is answered. */
const MAX_GAP_MS = 5_000;
/**
 * Maximum ratio of the peaks in the second and the first half of a run. A tolerance in MiB is added, because garbage is
 * collected late.
 */
const MAX_MEMORY_GROWTH = 1.25;
const MEMORY_NOISE_MIB = 16;
/** Minimum samples before growth of memory is judged: in shorter runs memory still grows. */
const SAMPLES_FOR_GROWTH = 100;
/** The only error that callers may see. */
const UNAVAILABLE = "503 unavailable";

/** Returns the limits that a run exceeded, as sentences. */
export function boundsBroken({ isRolling, total, memory, workload, brokenInvariants }: ChaosReport): string[] {
  const broken: string[] = [];
  const expect = (isWithin: boolean, text: string) => {
    if (!isWithin) broken.push(text);
  };
  for (const failure of workload.failures.slice(0, 20)) expect(false, failure);
  expect(brokenInvariants === "", `check: ${brokenInvariants}`);
  expect(
    isRolling ? total.errorShare === 0 : total.errorShare < MAX_ERROR_SHARE,
    `${percent(total.errorShare)} of the requests failed`,
  );
  for (const [error, count] of Object.entries(total.errors)) {
    expect(error === UNAVAILABLE, `${count} requests failed with ${error}`);
  }
  for (const [kind, gap] of Object.entries(total.longestGapMs)) {
    expect(gap < MAX_GAP_MS, `for ${gap} ms no ${kind} was answered`);
  }
  for (const series of memory.filter(({ samples }) => samples.length >= SAMPLES_FOR_GROWTH)) {
    const { early, late } = growthOf(series);
    expect(late <= early * MAX_MEMORY_GROWTH + MEMORY_NOISE_MIB, `${series.name} grew from ${early} to ${late} MiB`);
  }
  return broken;
}

/** Returns a report as text: a line for each kind of component, then the totals. */
export function describeReport(report: ChaosReport): string {
  const { capacity, kills, total, memory, workload } = report;
  const kinds = [...new Set(kills.map(({ kind }) => kind))].toSorted();
  return [
    `capacity ${capacity} requests/s; half of it, ${total.requests} requests, ${kills.length} kills`,
    "",
    "| killed | times | back after, ms | errors | longest gap, ms: reads | writes | p50, ms | p99, ms |",
    "|---|---|---|---|---|---|---|---|",
    ...kinds.map((kind) => lineOf(kind, kills)),
    "",
    `errors: ${percent(total.errorShare)} ${JSON.stringify(total.errors)}`,
    `longest gaps: reads ${total.longestGapMs.read} ms, writes ${total.longestGapMs.write} ms`,
    `latency: p50 ${total.p50Ms} ms, p99 ${total.p99Ms} ms, slowest ${total.slowestMs} ms`,
    `acknowledged: ${workload.rides} rides, ${workload.reservations} reservations`,
    `events: ${workload.events}; deliveries that came more than once: ${workload.repeated}; ` +
      `delay in ms ${describePercentiles(workload.delaysMs)}`,
    ...memory.map((series) => {
      const { early, late } = growthOf(series);
      return `memory of ${series.name}: at most ${early} MiB in the first half, ${late} MiB in the second`;
    }),
    "",
  ].join("\n");
}

function lineOf(kind: string, kills: readonly Kill[]): string {
  const ofKind = kills.filter((kill) => kill.kind === kind);
  const largest = (value: (kill: Kill) => number) => Math.max(...ofKind.map(value));
  const errors = ofKind.reduce((sum, { figures }) => sum + figures.errorShare * figures.requests, 0);
  const cells = [
    kind,
    ofKind.length,
    largest(({ backMs }) => backMs),
    Math.round(errors),
    largest(({ figures }) => figures.longestGapMs.read),
    largest(({ figures }) => figures.longestGapMs.write),
    largest(({ figures }) => figures.p50Ms),
    largest(({ figures }) => figures.p99Ms),
  ];
  return `| ${cells.join(" | ")} |`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(3)} %`;
}

/** Returns the peaks of a series in its first and second half. */
function growthOf({ samples }: MemorySeries): { readonly early: number; readonly late: number } {
  const half = Math.floor(samples.length / 2);
  return { early: Math.max(0, ...samples.slice(0, half)), late: Math.max(0, ...samples.slice(half)) };
}

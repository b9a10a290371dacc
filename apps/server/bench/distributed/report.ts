import type { Attempt, RequestKind } from "../workload/requests.ts";
import type { Phase } from "./phases.ts";

/** A table of what each system's clients saw, phase by phase. */
export function describePhases(phases: readonly Phase[]): string {
  const rows = phases.flatMap(({ title, ms, attempts }) =>
    [...attempts].map(([systemId, seen]) => {
      const errors = Map.groupBy(
        seen.flatMap(({ error }) => error ?? []),
        (error) => error,
      );
      const failed = [...errors].map(([error, all]) => `${all.length} × ${error.trim()}`).join(", ") || "0";
      const times = seen.filter(({ error }) => error === undefined).map(({ tookMs }) => tookMs);
      const pauses = `${longestPause(seen, "read")}, ${longestPause(seen, "write")}`;
      return `| ${title} (${(ms / 1_000).toFixed(1)} s) | ${systemId} | ${seen.length} | ${failed} | ${percentile(times, 0.5)}, ${percentile(times, 0.99)}, ${percentile(times, 1)} | ${pauses} |\n`;
    }),
  );
  return `| phase | system | attempts | failed | p50, p99, max ms | longest without an answer: reads, writes ms |\n|---|---|---|---|---|---|\n${rows.join("")}`;
}

/** The longest time between two successes of a kind. */
function longestPause(attempts: readonly Attempt[], kind: RequestKind): number {
  const ends = attempts
    .filter((attempt) => attempt.kind === kind && attempt.error === undefined)
    .map(({ sentAt, tookMs }) => sentAt + tookMs)
    .toSorted((a, b) => a - b);
  return Math.round(Math.max(0, ...ends.slice(1).map((end, index) => end - (ends[index] ?? end))));
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

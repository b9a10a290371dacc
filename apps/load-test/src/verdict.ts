import type { Findings, RunResult } from "@bikeshare/load";

/**
 * Maximum p99 of the start lag: how much later than intended requests started. Too high: delays of the load test itself are
 * blamed on the server.
 */
const MAX_START_LAG_P99_MS = 5;

/** Returns the reasons why the figures of a run say nothing about the server. Empty: the run is valid. */
export function invalidReasons(
  { latency, seconds }: Pick<Findings, "latency" | "seconds">,
  { mode, connections }: { readonly mode: "open" | "closed"; readonly connections: number },
): string[] {
  const lag = latency.lag.percentiles["99"] ?? 0;
  if (mode === "closed" || lag <= MAX_START_LAG_P99_MS) return [];
  const late = `Requests started late: the p99 of the start lag is ${lag.toFixed(1)} ms, and ${MAX_START_LAG_P99_MS} ms is allowed.`;
  const isSaturated = seconds.some(({ pending }) => pending >= connections);
  return [
    isSaturated
      ? `${late} All ${connections} connections waited for answers: the server does not keep up with this rate. Lower --rate, or allow more --connections.`
      : `${late} This machine is too busy to make the load in time, or requests waited for answers that they depend on. Lower --rate (or --speed), or run the load test on another machine than the server.`,
  ];
}

/** Tells whether a run has passed. */
export function isPassed(
  { contract, violations }: Pick<Findings, "contract" | "violations">,
  verdict: Pick<RunResult, "invalidReasons" | "thresholds">,
): boolean {
  return (
    verdict.invalidReasons.length === 0 &&
    violations.length === 0 &&
    contract.violations.length === 0 &&
    verdict.thresholds.every(({ passed }) => passed)
  );
}

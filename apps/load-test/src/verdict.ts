import type { RunOutcome } from "./load/collector.ts";

/** More lag than this is the load test's own delay, which would be blamed on the server. */
const MAX_START_LAG_P99_MS = 5;

/** Why the figures of a run say nothing of the server. Empty: they do. */
export function invalidReasons({ latency }: Pick<RunOutcome, "latency">): string[] {
  const lag = latency.lag.percentiles["99"] ?? 0;
  if (lag <= MAX_START_LAG_P99_MS) return [];
  return [
    `Requests started late: the p99 of the start lag is ${lag.toFixed(1)} ms, and ${MAX_START_LAG_P99_MS} ms is allowed. ` +
      "Either this machine is too busy to make the load (lower --rate, or run it elsewhere), or all connections waited for answers (the server does not keep up, or --connections is too low).",
  ];
}

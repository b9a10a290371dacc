import type { LatencySummary, RunResult, SecondResult } from "@bikeshare/load";

/** Figures of a made-up run, in milliseconds. */
export interface ResultChanges {
  readonly p50?: number;
  readonly p99?: number;
  readonly stream?: string;
  readonly unexpected?: number;
  readonly perSecond?: number;
  readonly passed?: boolean;
  readonly seconds?: readonly SecondResult[];
}

/** Returns the result of a made-up run. */
export function resultOf(changes: ResultChanges = {}): RunResult {
  const { p50 = 1, p99 = 2, stream = "walks", unexpected = 0, perSecond = 100, passed = true, seconds = [] } = changes;
  const latency = {
    response: summary(p50, p99),
    service: summary(p50, p99),
    lag: summary(0.1, 0.5),
  };
  return {
    version: 1,
    passed,
    invalidReasons: [],
    thresholds: [],
    startedAt: "2026-06-01T12:00:00.000Z",
    settings: {
      name: "test",
      url: "http://127.0.0.1:3000",
      mode: "open",
      durationSeconds: 60,
      warmUpSeconds: 2,
      seed: 1,
      workers: 1,
      connections: 10,
    },
    latency,
    streams: [{ name: stream, scenario: "cursor-walk", intendedPerSecond: 100, latency, outcomes: [] }],
    totals: { started: 6000, answered: 6000, unexpected, perSecond },
    seconds,
    contract: { checked: 60, violations: [] },
    violations: [],
    webhooks: undefined,
    serverMetrics: [],
  };
}

function summary(p50: number, p99: number): LatencySummary {
  return { count: 100, mean: p50, max: p99, percentiles: { "50": p50, "90": p50, "99": p99, "99.9": p99, "100": p99 } };
}

/** Returns the figures of one second of a run, from its p99. */
export function secondOf(second: number, p99: number): SecondResult {
  return {
    second,
    p50: p99 / 4,
    p90: p99 / 2,
    p99,
    max: p99,
    started: 100,
    answered: 100,
    unexpected: 0,
    pending: 1,
    lagP99: 0.5,
  };
}

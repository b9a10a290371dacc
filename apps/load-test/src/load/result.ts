import type { OutcomeCount } from "./outcomes.ts";
import type { LatencySummary } from "./recorder.ts";

/** What is known of a run when it is over: the report as JSON. Times are in milliseconds unless their name says otherwise. */
export interface RunResult {
  readonly version: 1;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly settings: RunSettings;
  /** Why the figures say nothing of the server; empty: they do. */
  readonly invalidReasons: readonly string[];
  /** Of all streams together, without the warm-up. */
  readonly latency: Latency;
  readonly streams: readonly StreamResult[];
  readonly totals: Totals;
  readonly seconds: readonly SecondResult[];
  readonly contract: ContractResult;
  /** What must not have happened and did, one sentence each. */
  readonly violations: readonly string[];
}

interface RunSettings {
  readonly url: string;
  readonly mode: "open" | "closed";
  readonly durationSeconds: number;
  readonly warmUpSeconds: number;
  readonly seed: number;
  readonly workers: number;
  readonly connections: number;
}

export interface Latency {
  readonly response: LatencySummary;
  readonly service: LatencySummary;
  readonly lag: LatencySummary;
}

export interface StreamResult {
  readonly name: string;
  readonly scenario: string;
  readonly arrivals: "constant" | "poisson";
  /** Undefined in the closed model, which has no rate of its own. */
  readonly intendedPerSecond: number | undefined;
  readonly latency: Latency;
  readonly outcomes: readonly OutcomeCount[];
}

export interface Totals {
  readonly started: number;
  readonly answered: number;
  readonly unexpected: number;
  /** Answers a second over the intended duration. */
  readonly perSecond: number;
}

export interface SecondResult {
  readonly second: number;
  readonly started: number;
  readonly answered: number;
  readonly unexpected: number;
  readonly pending: number;
  /** Of the answers of this second. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  readonly lagP99: number;
}

export interface ContractResult {
  readonly checked: number;
  readonly violations: readonly string[];
}

import type { OutcomeCount } from "./run-at-rate/outcomes.ts";
import type { LatencySummary } from "./run-at-rate/recorder.ts";

/** The report of a run, as JSON. Times are in milliseconds unless their name says otherwise. */
export interface RunResult extends Findings {
  readonly version: 1;
  /** Whether the figures count, nothing was wrong and every threshold is kept. */
  readonly passed: boolean;
  /** Why the figures say nothing of the server; empty: they do. */
  readonly invalidReasons: readonly string[];
  readonly thresholds: readonly ThresholdResult[];
  /** RFC 3339. */
  readonly startedAt: string;
  readonly settings: RunFacts;
  /** Of a search for it, whose last good run this is. */
  readonly knee?: Knee;
}

/** What a run found out. */
export interface Findings {
  /** Of all streams together, without the warm-up. */
  readonly latency: Latency;
  readonly streams: readonly StreamResult[];
  readonly totals: Totals;
  readonly seconds: readonly SecondResult[];
  readonly contract: ContractResult;
  /** What must not have happened and did, one sentence each. */
  readonly violations: readonly string[];
  /** Undefined: the run received none. */
  readonly webhooks: DeliveryResult | undefined;
  /** The server's own metrics; empty where they could not be read. */
  readonly serverMetrics: readonly MetricSeries[];
}

/** What was run. */
interface RunFacts {
  /** The profile's name, or the scenarios'. */
  readonly name: string;
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

/** Whether a threshold was kept. */
export interface ThresholdResult {
  readonly text: string;
  /** Undefined: the run has no such figure, which fails too. */
  readonly value: number | undefined;
  /** Whether the value is in milliseconds. */
  readonly isTime: boolean;
  readonly passed: boolean;
}

/** A rate that was tried. */
export interface KneeStep {
  readonly ratePerSecond: number;
  readonly passed: boolean;
  /** Milliseconds. */
  readonly p99: number;
  /** Why it did not pass. */
  readonly reasons: readonly string[];
}

/** What `findKnee` adds to a report. */
interface Knee {
  /** Undefined: not even the first rate was. */
  readonly lastGoodPerSecond: number | undefined;
  readonly steps: readonly KneeStep[];
}

/** A figure of the server over the run. */
export interface MetricSeries {
  readonly title: string;
  readonly unit: string;
  readonly points: readonly MetricPoint[];
}

export interface MetricPoint {
  /** Since the start of the run. */
  readonly seconds: number;
  readonly value: number;
}

/** What became of the events of a run. Times are in milliseconds. */
export interface DeliveryResult {
  readonly endpoints: number;
  /** Deliveries that must arrive: each acknowledged event at each endpoint. */
  readonly expected: number;
  readonly received: number;
  readonly lost: number;
  /** Deliveries that arrived again, by their `delivery_id`. Allowed after a crash only. */
  readonly repeated: number;
  /** Rides of which an endpoint saw the end before the start. The service promises no order. */
  readonly reordered: number;
  /** Requests whose signature was wrong. */
  readonly unverified: number;
  /** The first few of what is lost: `ride.started <ride id>`. */
  readonly examples: readonly string[];
  readonly occurredToReceived: LatencySummary;
  readonly sentToReceived: LatencySummary;
}

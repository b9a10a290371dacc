import type { OutcomeCount } from "./run-at-rate/outcomes.ts";
import type { LatencySummary } from "./run-at-rate/recorder.ts";

/** The report of a run, as JSON. Times are in milliseconds unless their name says otherwise. */
export interface RunResult extends Findings {
  readonly version: 1;
  /** Whether the figures are valid, there are no violations and every threshold is met. */
  readonly passed: boolean;
  /** Reasons why the figures do not describe the server, such as a busy load generator. Empty: the figures are valid. */
  readonly invalidReasons: readonly string[];
  readonly thresholds: readonly ThresholdResult[];
  /** RFC 3339. */
  readonly startedAt: string;
  readonly settings: RunFacts;
  /**
   * Set for a search for the knee, the highest rate that the server sustains. The run is then the last good one, or the first
   * one if none was good.
   */
  readonly knee?: Knee;
}

/** The findings of a run. */
export interface Findings {
  /** The latency of all streams, without the warm-up. */
  readonly latency: Latency;
  readonly streams: readonly StreamResult[];
  readonly totals: Totals;
  readonly seconds: readonly SecondResult[];
  readonly contract: ContractResult;
  /** Violations, one sentence each. */
  readonly violations: readonly string[];
  /** Undefined: the run has no webhook receivers. */
  readonly webhooks: DeliveryResult | undefined;
  /** The server's own metrics; empty if they could not be read. */
  readonly serverMetrics: readonly MetricSeries[];
}

/** The parameters of a run. */
interface RunFacts {
  /** The name of the profile, or of the scenarios. */
  readonly name: string;
  readonly url: string;
  readonly mode: "open" | "closed";
  readonly durationSeconds: number;
  readonly warmUpSeconds: number;
  readonly seed: number;
  readonly workers: number;
  readonly connections: number;
}

/** The latency of requests. `RequestTiming` in stream.ts explains the three. */
export interface Latency {
  readonly response: LatencySummary;
  readonly service: LatencySummary;
  readonly lag: LatencySummary;
}

/** The results of one stream, the requests of one scenario at one rate, of all workers together. */
export interface StreamResult {
  readonly name: string;
  readonly scenario: string;
  /** Undefined in the closed model, which has no intended rate. */
  readonly intendedPerSecond: number | undefined;
  readonly latency: Latency;
  readonly outcomes: readonly OutcomeCount[];
}

/** The counts of all streams together. */
export interface Totals {
  /** Requests with any outcome, also those that never started. */
  readonly started: number;
  /** Requests with a complete answer, expected or not. */
  readonly answered: number;
  readonly unexpected: number;
  /** Answers per second over the intended duration. */
  readonly perSecond: number;
}

/** What happened in one second of the run. Times are in milliseconds. */
export interface SecondResult {
  readonly second: number;
  readonly started: number;
  readonly answered: number;
  readonly unexpected: number;
  readonly pending: number;
  /** The median of the answers in this second. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  readonly lagP99: number;
}

/** The comparison of sampled answers with the contract. */
export interface ContractResult {
  readonly checked: number;
  readonly violations: readonly string[];
}

/** The result of one threshold. */
export interface ThresholdResult {
  readonly text: string;
  /** Undefined: the run has no such figure, which fails the threshold. */
  readonly value: number | undefined;
  /** Whether the value is in milliseconds. */
  readonly isTime: boolean;
  readonly passed: boolean;
}

/** One tested rate in a search for the knee. */
export interface KneeStep {
  readonly ratePerSecond: number;
  readonly passed: boolean;
  /** Milliseconds. */
  readonly p99: number;
  /** Reasons why it did not pass. */
  readonly reasons: readonly string[];
}

/** The report of `findKnee`. */
interface Knee {
  /** Undefined: the first rate already failed. */
  readonly lastGoodPerSecond: number | undefined;
  readonly steps: readonly KneeStep[];
}

/** A metric of the server over the run. */
export interface MetricSeries {
  readonly title: string;
  readonly unit: string;
  readonly points: readonly MetricPoint[];
}

export interface MetricPoint {
  /** Seconds since the start of the run. */
  readonly seconds: number;
  readonly value: number;
}

/** The deliveries of the events of a run. Times are in milliseconds. */
export interface DeliveryResult {
  readonly endpoints: number;
  /** Expected deliveries: each acknowledged event at each endpoint. */
  readonly expected: number;
  readonly received: number;
  readonly lost: number;
  /**
   * Arrivals of a delivery after its first. The service promises at least one; without a crash, and with a receiver that answers
   * in time, there should be no other.
   */
  readonly repeated: number;
  /** Rides whose end an endpoint received before the start. The service promises no order. */
  readonly reordered: number;
  /** Requests that are not correctly signed deliveries. */
  readonly unverified: number;
  /** Examples of lost deliveries: `ride.started <ride id>`. */
  readonly examples: readonly string[];
  readonly occurredToReceived: LatencySummary;
  readonly sentToReceived: LatencySummary;
}

import type { RecordedEvent, World } from "./scenario.ts";

/** Everything that workers need to know of a run. Plain data: it is copied into each thread. */
export interface Plan {
  readonly url: string;
  readonly streams: readonly StreamPlan[];
  readonly durationMs: number;
  /** Requests that start earlier are made and checked, but not measured: connections and compilers warm up. */
  readonly warmUpMs: number;
  readonly workers: number;
  /** Of all workers together. Where all are busy, requests wait for one, and the wait counts. */
  readonly connections: number;
  /** `open`: requests start at their intended times. `closed`: each connection sends as soon as it is answered. */
  readonly mode: "open" | "closed";
  readonly seed: number;
  /** No other run on the same service has it. */
  readonly runId: string;
  readonly operatorKey: string | undefined;
  readonly world: World;
  /** The first answer of each endpoint and status is compared with the contract's schema, and then one in as many. */
  readonly checkEvery: number;
}

/** Requests of one kind at one rate. */
export interface StreamPlan {
  readonly name: string;
  /** A name of `scenarios`. */
  readonly scenario: string;
  readonly ratePerSecond: number;
  readonly arrivals: "constant" | "poisson";
  readonly keys: readonly string[];
  /** Bikes that this stream alone moves. */
  readonly bikes: readonly string[];
  /** Undefined: starts come at the rate. Otherwise the rate is that of these. */
  readonly recorded?: readonly RecordedEvent[];
}

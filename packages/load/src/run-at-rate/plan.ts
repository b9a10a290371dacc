import type { RecordedEvent, World } from "./scenario.ts";

/** Everything that workers need to know of a run. Plain data: it is copied into each thread. */
export interface Plan {
  readonly url: string;
  readonly streams: readonly StreamPlan[];
  /** The time in which requests start, the warm-up included. */
  readonly durationMs: number;
  /**
   * Requests that start within this time are sent and checked, but not measured, while connections and compilers warm up.
   */
  readonly warmUpMs: number;
  readonly workers: number;
  /** Connections of all workers together. When all are busy, a request waits for one, and its latency includes the wait. */
  readonly connections: number;
  /** `open`: requests start at their intended times. `closed`: each connection sends as soon as it is answered. */
  readonly mode: "open" | "closed";
  readonly seed: number;
  /** An id that no other run on the same service has. */
  readonly runId: string;
  readonly operatorKey: string | undefined;
  readonly world: World;
  /**
   * One of so many answers of each endpoint and status, beginning with the first, is compared with the contract's
   * schema. Each worker counts its own answers. MAX_SAMPLES_PER_SECOND of worker.ts limits the comparisons.
   */
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
  /** Bikes that only this stream moves. */
  readonly bikes: readonly string[];
  /** Events that set the start times of requests, instead of `ratePerSecond` and `arrivals`. */
  readonly recorded?: readonly RecordedEvent[];
}

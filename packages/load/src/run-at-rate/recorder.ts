import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { REQUEST_TIMEOUT_MS } from "../http/client.ts";

/**
 * How long requests took, in microseconds: `response` from the intended start, which is what a caller sees; `service`
 * from when a connection took the request; `lag` from the intended start to there.
 */
export interface Histograms {
  readonly response: RecordableHistogram;
  readonly service: RecordableHistogram;
  readonly lag: RecordableHistogram;
}

/** A request that waits for a connection and then times out; what takes longer is counted as this. */
const LONGEST_US = REQUEST_TIMEOUT_MS * 1000 * 60;
/** Three figures keep a value to 0.1 %, in 200 kB each; two to 1 %, in 30 kB. */
type Figures = 2 | 3;

export function createLatencyHistogram(figures: Figures): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: LONGEST_US, figures });
}

export function createHistograms(figures: Figures = 3): Histograms {
  return {
    response: createLatencyHistogram(figures),
    service: createLatencyHistogram(figures),
    lag: createLatencyHistogram(figures),
  };
}

/** Records milliseconds. */
export function recordMs(histogram: RecordableHistogram, milliseconds: number): void {
  histogram.record(Math.min(LONGEST_US, Math.max(1, Math.round(milliseconds * 1000))));
}

/** Adds histograms into new ones; those of workers are shared with them and may still grow. */
export function mergedHistograms(parts: readonly Histograms[], figures: Figures = 3): Histograms {
  const merged = createHistograms(figures);
  for (const part of parts) {
    for (const name of ["response", "service", "lag"] as const) {
      if (part[name].count > 0) merged[name].add(part[name]);
    }
  }
  return merged;
}

/** A histogram's figures, in milliseconds. */
export interface LatencySummary {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  /** Milliseconds at each of `PERCENTILES`. */
  readonly percentiles: Readonly<Record<string, number>>;
}

/** What is reported of each histogram. */
const PERCENTILES = [1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100] as const;

export function summaryOf(histogram: RecordableHistogram): LatencySummary {
  const { count } = histogram;
  const milliseconds = (us: number) => (count === 0 ? 0 : Number((us / 1000).toFixed(3)));
  return {
    count,
    mean: milliseconds(histogram.mean),
    max: milliseconds(histogram.max),
    percentiles: Object.fromEntries(PERCENTILES.map((p) => [String(p), milliseconds(histogram.percentile(p))])),
  };
}

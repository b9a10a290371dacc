import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { REQUEST_TIMEOUT_MS } from "../http/client.ts";

/** How long requests took, in microseconds. `RequestTiming` in stream.ts explains the three. */
export interface Histograms {
  readonly response: RecordableHistogram;
  readonly service: RecordableHistogram;
  readonly lag: RecordableHistogram;
}

/**
 * The longest time that a histogram holds: many times the timeout, because a request may wait for a connection. A
 * longer time is recorded as this one.
 */
const LONGEST_US = REQUEST_TIMEOUT_MS * 1000 * 60;
/** Significant figures of a histogram. Three keep a value to 0.1 % and take 200 kB; two keep it to 1 % and take 30 kB. */
type Figures = 2 | 3;

/** Creates a histogram of times. It records microseconds. */
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

/** Returns new histograms with the sums. `parts` stay unchanged: workers share them and may still record values. */
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

/** The percentiles that are reported. */
const PERCENTILES = [1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100] as const;

/** Returns the figures of a histogram. All are 0 if nothing was recorded. */
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

import type { Findings, ThresholdResult } from "@bikeshare/load";
import { InvalidArgumentError } from "@commander-js/extra-typings";

/** A bound on a figure of the report: `p99<50ms`. */
export interface Threshold {
  /** The threshold as the user wrote it. */
  readonly text: string;
  /** Undefined: all streams together. */
  readonly stream: string | undefined;
  readonly metric: string;
  readonly comparison: "<" | "<=" | ">" | ">=";
  /** The bound; in milliseconds if the metric is a time. */
  readonly bound: number;
}

type ReadMetric = (findings: Findings) => number | undefined;

/** The metrics that are times: a percentile or the maximum, of the response time unless a prefix says otherwise. */
const LATENCY = /^(service-|lag-|webhook-)?(p50|p75|p90|p95|p99|p99\.9|max)$/;

/** The metrics that are not times. */
const COUNTS: Readonly<Record<string, ReadMetric>> = {
  unexpected: ({ totals }) => totals.unexpected,
  rate: ({ totals }) => totals.perSecond,
  lost: ({ webhooks }) => webhooks?.lost,
  repeated: ({ webhooks }) => webhooks?.repeated,
  reordered: ({ webhooks }) => webhooks?.reordered,
};

/** The help text about the metrics that a threshold may bound. */
export const METRICS_HELP =
  "p50, p75, p90, p95, p99, p99.9 or max of the response time, with service-, lag- or webhook- before it; " +
  `${Object.keys(COUNTS).join(", ")}. A stream's name and a colon before a time, other than webhook-…, bounds that stream`;

/** A threshold: the stream (optional), the metric, the comparison, the number, and the unit if the metric is a time. */
const FORM = /^(?:([a-z][a-z0-9-]*):)?([a-z][a-z0-9.-]*)(<=|>=|<|>)(\d+(?:\.\d+)?)(us|ms|s)?$/;
const UNITS_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 };

/** Reads a threshold such as `p99<50ms`, `cursor-walk:p99.9<1s` or `lost<=0`. */
export function parseThreshold(text: string): Threshold {
  const [, stream, metric = "", comparison = "<", amount, unit] = FORM.exec(text) ?? [];
  const isTime = LATENCY.test(metric);
  const ofRequests = isTime && !metric.startsWith("webhook-");
  // Only the times of requests are measured for each stream.
  const isKnown = (isTime || Object.hasOwn(COUNTS, metric)) && (ofRequests || stream === undefined);
  // A time needs a unit, and a count must have none.
  const hasRightUnit = isTime ? unit !== undefined : unit === undefined;
  if (!isKnown || !hasRightUnit) {
    throw new InvalidArgumentError(`must be such as p99<50ms or unexpected<=0. It may bound ${METRICS_HELP}.`);
  }
  const bound = Number(amount) * (UNITS_MS[unit ?? "ms"] ?? 1);
  return { text, stream, metric, comparison: comparison as Threshold["comparison"], bound };
}

/** Compares a run with its thresholds. What was not measured, such as an unknown stream, does not pass. */
export function checkThresholds(thresholds: readonly Threshold[], findings: Findings): ThresholdResult[] {
  return thresholds.map((threshold) => {
    const value = valueOf(threshold, findings);
    const isTime = LATENCY.test(threshold.metric);
    return { text: threshold.text, value, isTime, passed: value !== undefined && isWithin(value, threshold) };
  });
}

function valueOf({ metric, stream }: Threshold, findings: Findings): number | undefined {
  const count = COUNTS[metric];
  if (count !== undefined) return count(findings);
  const [, kind = "response-", percentile = ""] = LATENCY.exec(metric) ?? [];
  // The findings name percentiles by their number, and the maximum `100`.
  const name = percentile === "max" ? "100" : percentile.slice(1);
  if (kind === "webhook-") return findings.webhooks?.occurredToReceived.percentiles[name];
  const latency =
    stream === undefined ? findings.latency : findings.streams.find((each) => each.name === stream)?.latency;
  const time = kind.replace("-", "") as "response" | "service" | "lag";
  return latency?.[time].percentiles[name];
}

function isWithin(value: number, { comparison, bound }: Threshold): boolean {
  const verdicts = { "<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound };
  return verdicts[comparison];
}

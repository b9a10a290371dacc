import type { KneeStep, LatencySummary, RunResult, SecondResult, ThresholdResult } from "@bikeshare/load";

/** Returns one line about a second of the run, for a terminal. */
export function progressLine(result: SecondResult, totalSeconds: number): string {
  const { second, answered, p50, p99, pending, unexpected } = result;
  const errors = unexpected === 0 ? "" : `, ${unexpected} unexpected`;
  return `${second + 1}/${totalSeconds} s: ${answered} answers, p50 ${shortMs(p50)}, p99 ${shortMs(p99)}, ${pending} pending${errors}`;
}

/** Returns a duration with about three significant digits, for a person. */
export function shortMs(milliseconds: number): string {
  if (milliseconds >= 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds >= 100) return `${milliseconds.toFixed(0)} ms`;
  return `${milliseconds.toFixed(milliseconds >= 10 ? 1 : 2)} ms`;
}

/** Returns one line about a rate that was tried in the search for the highest one that the service sustains (the knee). */
export function stepText({ ratePerSecond, passed, p99, reasons }: KneeStep): string {
  return `${ratePerSecond} a second: p99 ${shortMs(p99)}, ${passed ? "good" : `not good: ${reasons.join("; ")}`}`;
}

/**
 * Returns the summary of a run, for a terminal. The response time begins when a request was meant to start, the service time
 * when a connection was free for it; the start lag is the time between.
 */
export function summaryText(result: RunResult): string {
  const { settings, totals, streams, latency, webhooks, contract } = result;
  const figures = ({ percentiles, max, count }: LatencySummary) => [
    String(count),
    ...["50", "90", "99", "99.9"].map((p) => shortMs(percentiles[p] ?? 0)),
    shortMs(max),
  ];
  return [
    `${settings.name} at ${settings.url}: ${totals.answered} answers in ${settings.durationSeconds} s, ${totals.perSecond} a second`,
    "",
    row(["response time", "requests", "p50", "p90", "p99", "p99.9", "max"]),
    ...streams.map((stream) => row([stream.name, ...figures(stream.latency.response)])),
    row(["all", ...figures(latency.response)]),
    row(["service time", ...figures(latency.service)]),
    row(["start lag", ...figures(latency.lag)]),
    ...(webhooks === undefined
      ? []
      : [
          row(["webhooks", ...figures(webhooks.occurredToReceived)]),
          `Webhooks: ${webhooks.received} of ${webhooks.expected} received, ${webhooks.lost} lost, ${webhooks.repeated} repeated, ${webhooks.reordered} out of order, ${webhooks.unverified} unverified`,
        ]),
    `Contract: ${contract.checked} answers checked, ${contract.violations.length} violations`,
    "",
    ...streams.flatMap(({ name, outcomes }) =>
      outcomes
        .filter(({ isExpected }) => !isExpected)
        .map(({ endpoint, outcome, count }) => `UNEXPECTED ${name}: ${count} × ${endpoint} answered ${outcome}`),
    ),
    ...[...contract.violations, ...result.violations].map((violation) => `WRONG ${violation}`),
    ...result.invalidReasons.map((reason) => `INVALID ${reason}`),
    ...result.thresholds.map(
      (threshold) => `${threshold.passed ? "kept  " : "BROKEN"} ${threshold.text} (${measuredText(threshold)})`,
    ),
    ...(result.knee === undefined ? [] : [`Last good rate: ${result.knee.lastGoodPerSecond ?? "none"} a second`]),
    result.passed ? "Passed." : "Failed.",
  ]
    .map(printable)
    .join("\n");
}

/** The width of each column of the summary, in characters. */
const WIDTHS = [16, 9, 10, 10, 10, 10, 10];

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(WIDTHS[0] ?? 0) : cell.padStart(WIDTHS[index] ?? 0)))
    .join("");
}

/**
 * Replaces control and invisible characters by U+FFFD. The service controls parts of the line, and a terminal could execute
 * such characters.
 */
function printable(line: string): string {
  return line.replaceAll(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, "\uFFFD");
}

/** Returns the measured value of a threshold's figure, with its unit. */
export function measuredText({ value, isTime }: ThresholdResult): string {
  if (value === undefined) return "not measured";
  return isTime ? shortMs(value) : String(Number(value.toFixed(2)));
}

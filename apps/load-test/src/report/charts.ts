import {
  chart,
  type LatencySummary,
  type Line,
  linearScale,
  logScale,
  type Markup,
  percentileScale,
  type RunResult,
  type SecondResult,
  timeScale,
} from "@bikeshare/load";

/**
 * Draws the percentile curve: the share of requests that took at most a given time. The response time begins when the
 * request was meant to start, the service time when a connection was free for it; the start lag is the time between.
 */
export function percentileChart(result: RunResult, baseline: RunResult | undefined): Markup {
  const { response, service, lag } = result.latency;
  const lines: Line[] = [
    { name: "response time", points: curveOf(response) },
    { name: "service time", points: curveOf(service) },
    { name: "start lag", points: curveOf(lag) },
    ...(baseline === undefined
      ? []
      : [{ name: "response time, baseline", points: curveOf(baseline.latency.response), isBaseline: true }]),
  ];
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value)).filter((value) => value > 0);
  return chart({
    title: "Latency by percentile",
    xTitle: "requests that took no longer, from the fastest to the slowest",
    yTitle: "milliseconds (log scale)",
    x: percentileScale(),
    y: logScale(Math.min(...values), Math.max(...values)),
    lines,
  });
}

function curveOf({ percentiles }: LatencySummary): [number, number][] {
  return Object.entries(percentiles)
    .map(([percentile, value]): [number, number] => [Number(percentile), value])
    .toSorted(([a], [b]) => a - b);
}

/** Draws charts of the figures per second, all with the same time axis. */
export function timeCharts(result: RunResult, baseline: RunResult | undefined): Markup[] {
  const seconds = loadedSeconds(result);
  const last = Math.max(...seconds.map(({ second }) => second));
  const time = timeScale(last);
  // A longer baseline would be drawn beyond the axis.
  const withinRun = (other: RunResult) => loadedSeconds(other).filter(({ second }) => second <= last);
  const series = (name: string, of: (second: SecondResult) => number): Line => ({
    name,
    points: seconds.map((second) => [second.second, of(second)]),
  });
  const overTime = (title: string, yTitle: string, lines: readonly Line[]) =>
    chart({ title, xTitle: "seconds since the start", yTitle, x: time, y: linearScale(highest(lines)), lines });
  const before: Line[] =
    baseline === undefined
      ? []
      : [
          {
            name: "p99, baseline",
            points: withinRun(baseline).map(({ second, p99 }) => [second, p99]),
            isBaseline: true,
          },
        ];
  return [
    overTime("Response time", "milliseconds", [
      series("p50", ({ p50 }) => p50),
      series("p90", ({ p90 }) => p90),
      series("p99", ({ p99 }) => p99),
      series("longest", ({ max }) => max),
      ...before,
    ]),
    overTime("Throughput", "requests a second", [
      series("started", ({ started }) => started),
      series("answered", ({ answered }) => answered),
    ]),
    overTime("Unexpected answers", "answers a second", [series("unexpected", ({ unexpected }) => unexpected)]),
    overTime("Start lag, and requests not answered yet", "milliseconds; requests", [
      series("start lag, p99 (ms)", ({ lagP99 }) => lagP99),
      series("pending at the end of the second", ({ pending }) => pending),
    ]),
  ];
}

/** Draws charts of the server's metrics, with the time axis of the run. */
export function serverCharts(result: RunResult): Markup[] {
  const { serverMetrics } = result;
  const last = Math.max(...loadedSeconds(result).map(({ second }) => second));
  return serverMetrics.map(({ title, unit, points }) => {
    const within = points.filter(({ seconds: at }) => at <= last);
    const lines: Line[] = [{ name: title, points: within.map(({ seconds: at, value }) => [at, value]) }];
    return chart({
      title,
      xTitle: "seconds since the start",
      yTitle: unit === "" ? "count" : unit,
      x: timeScale(last),
      y: linearScale(highest(lines)),
      lines,
      isSmall: true,
    });
  });
}

/**
 * Returns the seconds in which requests were started. Later seconds only have late responses, which would look like a drop
 * of the throughput.
 */
function loadedSeconds({ seconds, settings }: RunResult): SecondResult[] {
  return seconds.filter(({ second }) => second < settings.durationSeconds);
}

function highest(lines: readonly Line[]): number {
  return Math.max(0, ...lines.flatMap(({ points }) => points.map(([, value]) => value)));
}

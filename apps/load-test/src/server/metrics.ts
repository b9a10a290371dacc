import { setTimeout } from "node:timers/promises";
import { createHttpClient, type MetricPoint, type MetricSeries } from "@bikeshare/load";

/** The metrics of the server that the report draws. docs/metrics.md explains them. */
const SHOWN: readonly {
  readonly metric: string;
  readonly title: string;
  readonly unit: string;
  /** Whether the metric is a counter. The chart then shows its growth a second. */
  readonly isCounter?: boolean;
  /** Converts the metric's unit into the chart's. Default: 1. */
  readonly factor?: number;
}[] = [
  { metric: "process_cpu_seconds_total", title: "Processor, of one core", unit: "%", isCounter: true, factor: 100 },
  { metric: "process_resident_memory_bytes", title: "Resident memory", unit: "MB", factor: 1e-6 },
  { metric: "nodejs_eventloop_lag_p99_seconds", title: "Event loop lag, p99", unit: "ms", factor: 1000 },
  { metric: 'bikeshare_database_connections{state="in_use"}', title: "Database connections in use", unit: "" },
  { metric: "bikeshare_database_waiting", title: "Waiting for a database connection", unit: "" },
  { metric: "bikeshare_webhook_pending_deliveries", title: "Webhooks pending", unit: "" },
  { metric: "bikeshare_webhook_attempts_total", title: "Webhook attempts", unit: "/s", isCounter: true },
];

/** The values of one scrape of the metrics, by the names in `SHOWN`. */
interface Sample {
  /** The time of the scrape, in seconds since 1970. */
  readonly seconds: number;
  readonly values: ReadonlyMap<string, number>;
}

/** Scrapes the server's metrics once a second, and once at the end. */
export interface MetricsRecorder {
  stop(): void;
  /**
   * Returns what was scraped until the recorder was stopped. @param startedAtMs the time of second 0 of the series, in
   * milliseconds since 1970
   */
  series(startedAtMs: number): Promise<MetricSeries[]>;
}

const SCRAPE_INTERVAL_MS = 1000;
/** A scrape that takes longer leaves a gap in the series. */
const SCRAPE_TIMEOUT_MS = 5000;

/** Starts to record metrics. @param url the address of the metrics in Prometheus's text format */
export function recordMetrics(url: string): MetricsRecorder {
  const samples: Sample[] = [];
  const stopping = new AbortController();
  const client = createHttpClient(url, { connections: 1, timeoutMs: SCRAPE_TIMEOUT_MS });
  const scrape = async () => {
    const { status, body } = await client.ask({ path: "" });
    const seconds = (performance.timeOrigin + performance.now()) / 1000;
    // A failed scrape adds no sample. The gap in the series shows that the server did not answer.
    if (status === 200) samples.push({ seconds, values: shownValues(body) });
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await scrape();
      await setTimeout(SCRAPE_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    // A last scrape, so that the series reach to the end, and even a short run has one.
    await scrape();
    client.close();
  })();
  return {
    stop: () => stopping.abort(),
    async series(startedAtMs) {
      await running;
      return seriesOf(samples, startedAtMs / 1000);
    },
  };
}

/**
 * Returns the values of the shown metrics from Prometheus's text format. Series of a metric that differ only in other labels
 * are added up.
 */
export function shownValues(page: string): Map<string, number> {
  const values = new Map<string, number>();
  // A line of a series: the name, labels in braces (if any), and the value.
  for (const [, name = "", labels = "", value] of page.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)/gm)) {
    const shown = SHOWN.find(({ metric }) => {
      // A metric in `SHOWN` may name one label that the series must have.
      const [wanted, label] = metric.replace("}", "").split("{");
      return name === wanted && (label === undefined || labels.includes(label));
    });
    if (shown !== undefined) values.set(shown.metric, Number(value) + (values.get(shown.metric) ?? 0));
  }
  return values;
}

function seriesOf(samples: readonly Sample[], startedAt: number): MetricSeries[] {
  return SHOWN.map(({ metric, title, unit, isCounter = false, factor = 1 }) => {
    const known = samples.flatMap(({ seconds, values }) => {
      const value = values.get(metric);
      return value === undefined ? [] : [{ seconds: seconds - startedAt, value: value * factor }];
    });
    const points = isCounter ? growth(known) : known;
    return { title, unit, points: points.filter(({ seconds }) => seconds >= 0) };
  }).filter(({ points }) => points.length > 1);
}

/** Returns the growth a second between neighbouring points of a counter. */
function growth(points: readonly MetricPoint[]): MetricPoint[] {
  return points.slice(1).map(({ seconds, value }, index) => {
    // The point before this one, because `index` does not count the first point.
    const before = points[index] ?? { seconds, value };
    return { seconds, value: (value - before.value) / (seconds - before.seconds) };
  });
}

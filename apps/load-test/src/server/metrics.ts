import { setTimeout } from "node:timers/promises";
import { createHttpClient, type MetricPoint, type MetricSeries } from "@bikeshare/load";

/** Which of the server's metrics are drawn: see docs/metrics.md. */
const SHOWN: readonly {
  readonly metric: string;
  readonly title: string;
  readonly unit: string;
  /** Of a counter, the growth a second. */
  readonly isCounter?: boolean;
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

/** The values of one look at the metrics, by the names in `SHOWN`. */
interface Sample {
  readonly seconds: number;
  readonly values: ReadonlyMap<string, number>;
}

/** Reads the server's metrics once a second, and at the end. */
export interface MetricsRecorder {
  stop(): void;
  /** What was read until it was stopped. @param startedAtMs milliseconds since 1970: second 0 of the series */
  series(startedAtMs: number): Promise<MetricSeries[]>;
}

const SCRAPE_INTERVAL_MS = 1000;
/** A server that is too busy for its metrics leaves a gap. */
const SCRAPE_TIMEOUT_MS = 5000;

/** @param url of the Prometheus page */
export function recordMetrics(url: string): MetricsRecorder {
  const samples: Sample[] = [];
  const stopping = new AbortController();
  const client = createHttpClient(url, { connections: 1, timeoutMs: SCRAPE_TIMEOUT_MS });
  const scrape = async () => {
    const { status, body } = await client.ask({ path: "" });
    const seconds = (performance.timeOrigin + performance.now()) / 1000;
    // A gap in the series says that the server did not answer.
    if (status === 200) samples.push({ seconds, values: shownValues(body) });
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await scrape();
      await setTimeout(SCRAPE_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    // So that a series reaches to the end, and a short run on a busy machine has one.
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

/** The shown values of a page in Prometheus's text format; series that differ in other labels are added up. */
export function shownValues(page: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const [, name = "", labels = "", value] of page.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)/gm)) {
    const shown = SHOWN.find(({ metric }) => {
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

function growth(points: readonly MetricPoint[]): MetricPoint[] {
  return points.slice(1).map(({ seconds, value }, index) => {
    const before = points[index] ?? { seconds, value };
    return { seconds, value: (value - before.value) / (seconds - before.seconds) };
  });
}

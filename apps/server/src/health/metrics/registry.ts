import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { createHttpMetrics } from "./http-metrics.ts";
import type { Metrics } from "./metrics.ts";
import { READ_TIMEOUT_MS } from "./sampled-metrics.ts";
import { createBacklogMetrics, createMailMetrics, createWebhookMetrics } from "./webhook-metrics.ts";

/** The metrics of this process, which can be read. */
export interface ReadableMetrics extends Metrics {
  /** For further metrics. Their labels take few values: never the id of a bike or a request. */
  readonly registry: Registry;
  /**
   * Returns all metrics in Prometheus's text format, or in that of OpenMetrics, which has exemplars. Scrapes at the same
   * time share one reading.
   */
  text(format?: MetricsFormat): Promise<string>;
}

export interface MetricsOptions {
  readonly version: string;
  /** Milliseconds that reading the backlog may take. */
  readonly timeoutMs?: number;
}

/** Makes the metrics of this process, with the usual ones of Node: CPU, memory, event loop, garbage collection. */
export function createMetrics({ version, timeoutMs = READ_TIMEOUT_MS }: MetricsOptions): ReadableMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Removes gauges that are named as counters: promtool rejects them, and the gauges by type have the same figures.
  for (const name of ["handles", "requests", "resources"]) registry.removeSingleMetric(`nodejs_active_${name}_total`);
  new Gauge({
    name: "bikeshare_build_info",
    help: "Always 1; the version is the label.",
    labelNames: ["version"],
    registers: [registry],
  }).set({ version }, 1);
  const webhooks = createWebhookMetrics(registry);
  const mails = createMailMetrics(registry);
  const http = createHttpMetrics(registry);
  let refresh = () => Promise.resolve();
  let reading: Promise<string> | undefined;

  async function read(): Promise<string> {
    await refresh();
    return registry.metrics();
  }
  async function textIn(format: MetricsFormat): Promise<string> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    const others = await reading;
    if (format === "prometheus") return `${others}\n${http.requests?.text(false) ?? ""}`;
    return toOpenMetrics(`${others}\n${http.requests?.text(true) ?? ""}`);
  }
  return {
    webhooks,
    mails,
    http,
    registry,
    watch(sources) {
      const backlog = createBacklogMetrics(registry, timeoutMs);
      refresh = () => backlog.refresh(sources);
    },
    text: (format = "prometheus") => textIn(format),
  };
}

/** `openmetrics`: for those who ask for exemplars. */
export type MetricsFormat = "prometheus" | "openmetrics";

/**
 * Rewrites the text format as OpenMetrics, which names a counter without `_total` in its `HELP` and `TYPE` lines.
 * prom-client can write either format, but renames its counters for good when it does. A process must serve both: to
 * Prometheus and to a person with `curl`.
 */
function toOpenMetrics(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\w+)_total counter$/.exec(line)?.[1] ?? []));
  const renamed = lines.map((line) =>
    line.replace(/^(# (?:HELP|TYPE) )(\w+)_total /, (whole, head: string, name: string) =>
      counters.has(name) ? `${head}${name} ` : whole,
    ),
  );
  return `${renamed.join("\n")}\n# EOF\n`;
}

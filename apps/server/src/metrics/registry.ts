import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { createBacklogMetrics } from "./backlog-metrics.ts";
import { createHttpMetrics } from "./http-metrics.ts";
import type { Metrics } from "./metrics.ts";
import { createMailMetrics, createWebhookMetrics } from "./webhook-metrics.ts";

/** The metrics of this process, which can be read. */
export interface ReadableMetrics extends Metrics {
  /** For further metrics. Their labels take few values: never the id of a bike or a request. */
  readonly registry: Registry;
  /** All metrics in Prometheus's text format. Scrapes at the same time share one reading. */
  text(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsOptions {
  readonly version: string;
  /** Milliseconds that reading the backlog may take. */
  readonly timeoutMs?: number;
}

/** Milliseconds. Longer, and scrapers, which usually wait 10 s, lose all metrics for the sake of a few. */
const READ_TIMEOUT_MS = 5_000;

/** Makes the metrics of this process, with the usual ones of Node: CPU, memory, event loop, garbage collection. */
export function createMetrics({ version, timeoutMs = READ_TIMEOUT_MS }: MetricsOptions): ReadableMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
  return {
    webhooks,
    mails,
    http,
    registry,
    contentType: registry.contentType,
    watch(sources) {
      const backlog = createBacklogMetrics(registry, timeoutMs);
      refresh = () => backlog.refresh(sources);
    },
    text() {
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
}

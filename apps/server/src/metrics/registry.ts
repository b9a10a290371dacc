import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { createBacklogMetrics, type MetricSources } from "./backlog-metrics.ts";
import { createHttpMetrics, type HttpMetrics } from "./http-metrics.ts";
import { createMailMetrics, createWebhookMetrics, type MailMetrics, type WebhookMetrics } from "./webhook-metrics.ts";

/** What the process counts. */
export interface Metrics {
  /** Counts what the dispatcher does. */
  readonly webhooks: WebhookMetrics;
  /** Counts the mails about failing endpoints. */
  readonly mails: MailMetrics;
  /** Counts what becomes of requests. */
  readonly http: HttpMetrics;
  /** For further metrics. Their labels take few values: never the id of a bike or a request. */
  readonly registry: Registry;
  /** Says where the figures come from that are read at each scrape; without it they are left out. */
  watch(sources: MetricSources): void;
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
export function createMetrics({ version, timeoutMs = READ_TIMEOUT_MS }: MetricsOptions): Metrics {
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

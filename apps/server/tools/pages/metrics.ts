/*
 * Makes the list of metrics for docs/metrics.md. It reads them from a metrics server with invented figures, as Prometheus
 * would.
 */
import type { CityFigure } from "../../src/city/history/summary.ts";
import type { SystemBacklog } from "../../src/health/metrics/metrics.ts";
import { createMetrics, type ReadableMetrics } from "../../src/health/metrics/registry.ts";
import {
  watchCity,
  watchDatabaseHealth,
  watchFeedAges,
  watchMachine,
  watchReservations,
} from "../../src/health/metrics/sampled-metrics.ts";
import { startMetricsServer } from "../../src/health/metrics/server.ts";
import { watchChecks, watchImports, watchWorks } from "../../src/health/metrics/sources.ts";

/** Makes the list of all metrics, each with its labels in braces. */
export async function metricsText(): Promise<string> {
  const rows = metricsIn(await readMetrics())
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, labels, help }) => `- \`${name}${labels.length > 0 ? `{${labels.join()}}` : ""}\`: ${help}`);
  return rows.join("\n");
}

/** Returns the text of `/metrics` after events and figures that make every metric appear with all of its labels. */
export async function readMetrics(): Promise<string> {
  const metrics = createMetrics({ version: "1" });
  const system: SystemBacklog = {
    systemId: "main",
    pending: 0,
    oldestDueMs: null,
    held: 0,
    endpoints: { active: 0, probing: 0, paused: 0 },
    stranded: 0,
    waitingMails: 0,
    workers: 1,
    logs: [{ partnerId: "partner_1", bytes: 1 }],
    failing: [{ partnerId: "partner_1", failingMs: 1 }],
  };
  metrics.watch({ inFlight: () => 0, backlog: () => Promise.resolve([system]), onError: () => undefined });
  metrics.webhooks.resultsWritten(
    [
      {
        result: { outcome: "failed", failure: "new", status: null, total_ms: null },
        statusChange: null,
        warning: null,
      },
    ],
    0,
  );
  const route = { interface: "partner", route: "rides.list", method: "GET" } as const;
  const count = metrics.http.requests?.countRoute(route);
  for (const status of [200, 503]) count?.({ id: "req_1", status, seconds: 0.1, limitUsed: 0.5, at: 1 });
  const noConnections = () => ({ inUse: 0, idle: 0, waiting: 0 });
  metrics.http.watch({
    pools: { general: noConnections, vital: noConnections, filtered: noConnections },
    filteredReads: () => ({ running: 0, waiting: 0 }),
    listening: () => true,
    rateLimits: { isExact: () => true, processes: () => 1 },
  });
  metrics.http.watchReplica(() => ({ leftOut: undefined, lagMs: 0 }));
  watchSampled(metrics);
  const server = await startMetricsServer({ port: 0, metrics, logger: { warn: () => undefined } });
  try {
    return await (await fetch(`${server.url}/metrics`)).text();
  } finally {
    await server.close();
  }
}

/** Gives invented figures to the metrics of sampled-metrics.ts and sources.ts, which are read at each scrape. */
function watchSampled(metrics: ReadableMetrics): void {
  watchFeedAges(metrics.registry, () =>
    Promise.resolve([
      {
        systemId: "main",
        source: "gbfs",
        feed: "station_status",
        ageMs: 1,
        failingMs: 0,
        dataAgeMs: 1,
        staleness: undefined,
      },
    ]),
  );
  const use = { size_bytes: 1, connections: 1, max_connections: 97, oldest_transaction_seconds: 0 };
  const replicas = [{ replica: "replica-1", lag_seconds: 0.1, lag_bytes: 1 }];
  watchChecks(metrics.registry, () => []);
  watchDatabaseHealth(metrics.registry, () => Promise.resolve({ ...use, replicas }));
  watchMachine(metrics.registry, () => Promise.resolve({ certificateExpiresAt: 1, latestBackupAgeMs: 1 }));
  const run = {
    succeededRuns: 1,
    failedRuns: 0,
    successAgeMs: 1,
    lastRunMs: 1,
    standsStill: false,
    heldUpMs: 0,
    maxSilenceMs: 1,
  };
  watchWorks(metrics.registry, () => [{ work: "keeping partitions", ...run }]);
  const rows = { idle_seconds: 1, share: 0.5, rows_read: 2, created: 1, unchanged: 0, rejected: 0 };
  watchImports(metrics.registry, () =>
    Promise.resolve(
      ["trips", "gbfs", "replay"].map((kind) => ({ systemId: "main", kind, imports: 1, seconds: 1, ...rows })),
    ),
  );
  watchCity(metrics.registry, () =>
    Promise.resolve([
      ...["available", "reserved", "on_trip", "disabled", "missing"].map((state) => figure("bikes", state)),
      ...["online", "empty", "full", "offline"].map((state) => figure("stations", state)),
      figure("rides started", ""),
    ]),
  );
  watchReservations(metrics.registry, () =>
    Promise.resolve([{ systemId: "main", partnerId: "partner_1", active: 3, limit: 50 }]),
  );
}

function figure(of: CityFigure["of"], state: string): CityFigure {
  return { systemId: "main", of, state, n: 1 };
}

export interface ShownMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Lists our metrics in the text of `/metrics`. */
export function metricsIn(text: string): ShownMetric[] {
  return [...text.matchAll(/^# HELP (bikeshare_\w+) (.*)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name = "", help = "", type = ""]) => ({ name, type, help, labels: [...labelsOf(text, name).keys()] }),
  );
}

/** Lists the labels of a metric and the values they have, without `le`, the upper bound of a histogram's bucket. */
export function labelsOf(text: string, name: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, pairs] of text.matchAll(new RegExp(`^${name}(?:_bucket)?{(.*)} `, "gm"))) {
    for (const [, label = "", value = ""] of (pairs ?? "").matchAll(/(\w+)="([^"]*)"/g)) {
      if (label !== "le") labels.set(label, (labels.get(label) ?? new Set()).add(value));
    }
  }
  return labels;
}

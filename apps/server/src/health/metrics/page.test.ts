import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TOO_OLD_MS } from "../../feeds/gbfs/feed-health.rules.ts";
import type { SystemBacklog } from "./backlog-metrics.ts";
import { createMetrics } from "./registry.ts";
import {
  watchDatabaseHealth,
  watchFailingWork,
  watchLongRides,
  watchFeedAges,
  watchMachine,
  watchReservations,
} from "./sampled-metrics.ts";
import { startMetricsServer } from "./server.ts";
import { watchImports, watchWorks } from "./sources.ts";

interface Described {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

const page = await readFile(join(import.meta.dirname, "../../../../../docs/metrics.md"), "utf8");
const text = await readMetrics();

/** What a worker answers Prometheus once everything that has labels has happened. */
async function readMetrics(): Promise<string> {
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
  watchFeedAges(metrics.registry, () =>
    Promise.resolve([
      {
        ...{ systemId: "main", source: "gbfs", feed: "station_status" },
        ...{ ageMs: 1, failingMs: 0, dataAgeMs: 1, staleness: undefined },
      },
    ]),
  );
  const use = { size_bytes: 1, connections: 1, max_connections: 97, oldest_transaction_seconds: 0 };
  const replicas = [{ replica: "replica-1", lag_seconds: 0.1, lag_bytes: 1 }];
  watchFailingWork(metrics.registry, () => Promise.resolve([{ systemId: "main", setAside: 0, failing: 0 }]));
  watchLongRides(metrics.registry, () => Promise.resolve([{ systemId: "main", n: 1 }]));
  watchDatabaseHealth(metrics.registry, () => Promise.resolve({ ...use, replicas }));
  watchMachine(metrics.registry, () =>
    Promise.resolve({ certificateExpiresAt: 1, latestBackupAgeMs: 1, maxBackupAgeMs: 1 }),
  );
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
  watchReservations(metrics.registry, () =>
    Promise.resolve([{ systemId: "main", partnerId: "partner_1", active: 3, limit: 50 }]),
  );
  const server = await startMetricsServer({ port: 0, metrics, logger: { warn: () => undefined } });
  try {
    return await (await fetch(`${server.url}/metrics`)).text();
  } finally {
    await server.close();
  }
}

const byName = (a: Described, b: Described) => (a.name < b.name ? -1 : 1);
/** What stands between backticks. */
const coded = (cell: string | undefined) => [...(cell ?? "").matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "");

function describedOnPage(): Described[] {
  const rows = page.split("\n").filter((line) => line.startsWith("| `bikeshare_"));
  return rows.map((row) => {
    const [, name, type, labels] = row.split("|").map((cell) => cell.trim());
    return { name: coded(name)[0] ?? "", type: type ?? "", labels: coded(labels).toSorted((a, b) => (a < b ? -1 : 1)) };
  });
}

/** The labels of a metric and the values they have. */
function labelsOf(name: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, pairs] of text.matchAll(new RegExp(`^${name}(?:_bucket)?{(.*)} `, "gm"))) {
    for (const [, label = "", value = ""] of (pairs ?? "").matchAll(/(\w+)="([^"]*)"/g)) {
      if (label !== "le") labels.set(label, (labels.get(label) ?? new Set()).add(value));
    }
  }
  return labels;
}

const shown = [...text.matchAll(/^# TYPE (bikeshare_\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => ({
  name,
  type,
  labels: [...labelsOf(name).keys()].toSorted((a, b) => (a < b ? -1 : 1)),
}));

test("the page's table has every metric that /metrics shows, with its type and labels, and no other", () => {
  expect(shown.length).toBeGreaterThan(20);
  expect(describedOnPage().toSorted(byName)).toEqual(shown.toSorted(byName));
});

test("the page has every value that a label can take, but for the names of systems, sources, partners and versions", () => {
  const free = new Set(["system", "source", "partner", "version", "route", "method", "replica"]);
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  const onPage = new Set(coded(rows.join("\n")));
  const values = shown.flatMap(({ name }) => [...labelsOf(name)].filter(([label]) => !free.has(label)));
  expect(values.flatMap(([, taken]) => [...taken]).filter((value) => !onPage.has(value))).toEqual([]);
});

test("alert rules and the dashboard ask for metrics, labels and values of labels that there are", async () => {
  const read = (path: string) => readFile(join(import.meta.dirname, path), "utf8");
  const rules = await read("../../../../../deploy/prometheus/alerts.yml");
  const dashboard = await read("../../../../../deploy/grafana/dashboard.json");
  const runbook = await read("../../../../../docs/runbook.md");
  const asked = `${rules}${dashboard.replaceAll('\\"', '"')}`;
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  const pages = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(alerts.length).toBeGreaterThan(15);
  expect(pages).toEqual(expect.arrayContaining(alerts));
  expect(pages).toHaveLength(alerts.length);
  // As `doctor` and mails have it.
  expect(rules).toContain(`(bikeshare_gbfs_feed_age_seconds) > ${TOO_OLD_MS / 1_000}\n`);
  for (const name of alerts) expect(rules).toContain(`runbook_url: docs/runbook.md#${name.toLowerCase()}\n`);

  const [ours, ofNode] = [/\bbikeshare_\w+/g, /\b(?:process|nodejs)_\w+/g].map(
    (pattern) => new Set([...asked.matchAll(pattern)].map(([name]) => name.replace(/_bucket$/, ""))),
  );
  expect([...(ours ?? [])].filter((name) => !shown.some((metric) => metric.name === name))).toEqual([]);
  expect([...(ofNode ?? [])].filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([]);
  for (const [, name = "", label = "", values = ""] of asked.matchAll(/(bikeshare_\w+){(\w+)=~?"([^"]*)"}/g)) {
    const taken = labelsOf(name).get(label);
    const isTaken = (value: string) => [...(taken ?? [])].some((each) => new RegExp(`^(?:${value})$`).test(each));
    expect(values.split("|").filter((value) => !isTaken(value))).toEqual([]);
  }
  // `by (system, partner) (…(bikeshare_…`: what is grouped by, and what names show.
  for (const [, labels = "", name = ""] of asked.matchAll(/by \(([\w, ]+)\) \((?:\w+\()*(bikeshare_\w+)/g)) {
    const known = [...labelsOf(name.replace(/_bucket$/, "")).keys(), "le", "instance"];
    expect(known, name).toEqual(expect.arrayContaining(labels.split(", ")));
  }
});

test("every metric is named and described as Prometheus asks for", () => {
  for (const { name, type } of shown) {
    expect(name).toMatch(/^bikeshare_[a-z]+(?:_[a-z]+)*$/);
    expect(name.endsWith("_total"), name).toBe(type === "counter");
    // Base units: seconds, and no other unit of time.
    expect(name).not.toMatch(/_(?:ms|milliseconds|minutes|hours)(?:_|$)/);
    if (type === "histogram") expect(name).toMatch(/_(?:seconds|ratio)$/);
    expect(text).toMatch(new RegExp(`^# HELP ${name} [A-Z].{10,}\\.$`, "m"));
  }
});

test("a process shows a few hundred series of ours, whatever happens", () => {
  const series = text.split("\n").filter((line) => line.startsWith("bikeshare_"));
  expect(series.length).toBeLessThan(300);
});

test("what is not configured, or cannot be read, is absent rather than 0", async () => {
  const metrics = createMetrics({ version: "1" });
  watchMachine(metrics.registry, () =>
    Promise.resolve({ certificateExpiresAt: undefined, latestBackupAgeMs: undefined, maxBackupAgeMs: undefined }),
  );
  watchDatabaseHealth(metrics.registry, () => Promise.reject(new Error("away")));
  expect(await metrics.text()).not.toMatch(/^bikeshare_(?:certificate|latest_backup|postgres)\w* \d/m);
});

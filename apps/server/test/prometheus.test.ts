import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scopeNames } from "@bikeshare/contract";
import { findFreePort } from "@bikeshare/test-kit";
import { expect, it, onTestFinished, vi } from "vitest";
import { upsertBikes } from "../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { whileReporting } from "../src/feeds/imports/service.ts";
import { createIds } from "../src/ids.ts";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { createFirstPartitions } from "../src/storage/partitions/service.ts";
import { loadSecrets } from "../src/storage/secrets/secrets.ts";
import { setEndpoint } from "../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { superviseService } from "./bad-days/service-process.ts";
import { createTestDatabase } from "./database.ts";
import { city23 } from "./gbfs/city.ts";
import { startFeedServer } from "./gbfs/feed-server.ts";
import { makeCertificate } from "./servers/certificates.ts";
import { hasPrometheus, startPrometheus, WITH_PROMETHEUS } from "./servers/prometheus.ts";

/** The real clock, which the processes use too. */
const clock = () => Math.round(performance.timeOrigin + performance.now());
const read = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");
const readMetricsPage = () => read("../../../docs/metrics.md");

/** Metrics that only a PostgreSQL with a replica has. */
const OF_REPLICAS = ["bikeshare_postgres_replica_lag_bytes", "bikeshare_postgres_replica_lag_seconds"];
/** The time until everything has happened and was scraped, on a busy machine. */
const TIMEOUT = { timeout: 60_000, interval: 250 };

/**
 * Starts an API process and a worker with everything that has metrics: TLS, a replica, backups, a feed, webhooks and
 * reservations.
 */
async function startDeployment() {
  const { db, systemId, close } = await createTestDatabase();
  onTestFinished(close);
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-seen-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const feed = await startFeedServer(city23());
  onTestFinished(() => feed.close());
  const path = (name: string) => join(directory, name);
  const { key, cert } = await makeCertificate("bikes.example");
  await Promise.all([writeFile(path("key.pem"), key), writeFile(path("cert.pem"), cert)]);
  // Creates a file that looks like a backup of now, so that the service makes none.
  const stamp = new Date(clock()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  await writeFile(path(`bikeshare-${stamp}.zip`), "");
  await createFirstPartitions(db, clock);
  const { webhookKeys } = await loadSecrets(path("secrets.json"), (n) => crypto.getRandomValues(new Uint8Array(n)));
  const context = { db, clock, ids: createIds(clock), actor: "test", cipher: createSecretCipher(webhookKeys) };
  const partnerId = (await createPartner(context, systemId, "Partner")).id;
  const issued = await issueKey(context, { systemId, partnerId, scopes: scopeNames, rateLimit: 60 });
  await upsertStations(context, systemId, [{ item: { id: "a", name: "A", lat: 1, lon: 2 } }]);
  await upsertBikes(context, systemId, [{ item: { id: "1", station_id: "a", vehicle_state: "available" } }]);
  // Nothing listens at this address, so each attempt fails.
  const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: 1, to: 65_535 }] };
  const url = `http://127.0.0.1:${await findFreePort()}/`;
  const events = ["reservation.created"] as const;
  await setEndpoint({ ...context, rules }, { systemId, partnerId, url, events, email: null });

  const [port, ...metricsPorts] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const common = { DATABASE_URL: db.connectionString, DATA_DIR: directory, SECRETS_FILE: path("secrets.json") };
  const certificate = { TLS_CERT_FILE: path("cert.pem"), TLS_KEY_FILE: path("key.pem") };
  const processes = [
    superviseService("api", {
      ...{ ...common, PORT: `${port}`, METRICS_PORT: `${metricsPorts[0]}`, DRAIN_DELAY: "0s" },
      // The primary itself instead of a replica, so the service does not use it.
      DATABASE_REPLICA_URL: db.connectionString,
    }),
    superviseService("worker", {
      ...{ ...common, ...certificate, METRICS_PORT: `${metricsPorts[1]}`, BACKUP_DIR: directory },
      ...{ GBFS_SYNC_URL: feed.url, WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOW_PORTS: "1-65535" },
    }),
  ];
  onTestFinished(async () => void (await Promise.all(processes.map((each) => each.stop()))));
  await Promise.all(processes.map((each) => each.untilUp()));
  const reserve = () =>
    fetch(`http://127.0.0.1:${port}/v1/reservations`, {
      method: "POST",
      headers: { authorization: `Bearer ${issued.key}`, "content-type": "application/json" },
      body: JSON.stringify({ station_id: "a" }),
    });
  return { db, systemId, reserve, targets: metricsPorts.map((each) => `127.0.0.1:${each}`) };
}

/** Returns the names of metrics in a text. */
const namesIn = (text: string) =>
  new Set([...text.matchAll(/\b(?:bikeshare|process|nodejs)_\w+/g)].map(([name]) => name));

/** Returns the names of all series of the metrics on the page. A histogram has three series. */
function namesOnPage(): string[] {
  const rows = [...readMetricsPage().matchAll(/^- `(bikeshare_\w+)(?:{[\w,]+})?`: /gm)];
  const isHistogram = (name: string) => /_(?:duration_seconds|wait_seconds|used_ratio)$/.test(name);
  return rows.flatMap(([, name = ""]) => (isHistogram(name) ? [`${name}_bucket`, `${name}_count`] : [name]));
}

it.skipIf(!hasPrometheus)(
  `Prometheus gets every metric that alerts, dashboard and page name from processes that run, and leads to a request${WITH_PROMETHEUS}`,
  async () => {
    const { db, systemId, reserve, targets } = await startDeployment();
    const prometheus = await startPrometheus(targets);
    onTestFinished(() => prometheus.close());
    const made = await reserve();
    expect(made.status).toBe(201);

    const alerts = read("../../../deploy/prometheus/alerts.yml");
    const dashboard = JSON.parse(read("../../../deploy/grafana/dashboard.json")) as {
      panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    };
    const questions = dashboard.panels.flatMap(({ targets: asked = [] }) => asked.map(({ expr }) => expr));
    const named = new Set([...namesIn(alerts + questions.join("\n")), ...namesOnPage()]);
    const missing = async () => {
      const there = new Set(await prometheus.ask<string[]>("label/__name__/values").catch(() => []));
      return [...named].filter((name) => !there.has(name)).toSorted((a, b) => (a < b ? -1 : 1));
    };
    const progress = () => ({ share: 0.5, rows_read: 2 });
    await whileReporting({ db, systemId, importId: "import_1", kind: "trips" }, progress, async () => {
      await vi.waitUntil(async () => (await missing()).length <= OF_REPLICAS.length, TIMEOUT).catch(() => undefined);
      expect(await missing()).toEqual(OF_REPLICAS);
    });

    // One process may already have had every metric before the other was asked for its own.
    const states = async () => {
      const { activeTargets } = await prometheus.ask<{ activeTargets: { health: string; lastError: string }[] }>(
        "targets",
      );
      return activeTargets.map(({ health, lastError }) => ({ health, lastError }));
    };
    await expect.poll(states, TIMEOUT).toEqual(targets.map(() => ({ health: "up", lastError: "" })));
    for (const query of questions) await expect(prometheus.ask("query", { query }), query).resolves.toBeTruthy();
    const { groups } = await prometheus.ask<{ groups: { rules: { name: string; health: string }[] }[] }>("rules");
    const rules = groups.flatMap((group) => group.rules);
    expect(rules).toHaveLength([...alerts.matchAll(/- alert:/g)].length);
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
    const works = await prometheus.ask<string[]>("label/work/values");
    expect(works.filter((work) => !readMetricsPage().includes(`\`${work}\``))).toEqual([]);
    expect(works.length).toBeGreaterThan(12);

    const exemplarOf = async () => {
      const parameters = {
        query: "bikeshare_http_request_duration_seconds_bucket",
        start: "0",
        end: `${clock() / 1_000}`,
      };
      const series = await prometheus.ask<{ exemplars: { labels: Record<string, string> }[] }[]>(
        "query_exemplars",
        parameters,
      );
      return series.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels["request_id"]));
    };
    await expect.poll(exemplarOf, TIMEOUT).toContain(made.headers.get("request-id"));
  },
);

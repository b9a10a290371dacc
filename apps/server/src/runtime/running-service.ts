import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type App, buildApp } from "../app.ts";
import { warnOfMissingFacts } from "../city/descriptions/service.ts";
import { systemsOf } from "../city/systems/service.ts";
import { type Config, ConfigError } from "../config.ts";
import { DEFAULT_SERVICE_NAME } from "../console/people/mails.ts";
import {
  allSystemChecks,
  databaseChecks,
  machineChecks,
  processChecks,
  processResults,
} from "../health/checks/list.ts";
import { partnerFacts, partnerResults } from "../health/checks/partner-checks.ts";
import {
  acknowledgingPage,
  type CheckRunner,
  concernsOf,
  type CurrentResult,
  startChecks,
} from "../health/checks/runner.ts";
import { createProcessReports, type ProcessReports } from "../health/checks/stored-checks.ts";
import type { Conditions } from "../health/conditions/conditions.ts";
import { followDatabaseClock, type ServiceClock } from "../health/conditions/service-clock.ts";
import { type Metrics, uncounted } from "../health/metrics/metrics.ts";
import type { ActivityTracker } from "../health/tracing/activity.ts";
import type { Tracer } from "../health/tracing/tracer.ts";
import { linkEvents, openTracing } from "../health/tracing/tracing.ts";
import type { DashboardOptions } from "../http/dashboard.ts";
import { openRateLimits } from "../http/rate-limits/service.ts";
import { stopAnswering } from "../http/stopping.ts";
import { warnOfPlainListener } from "../http/transport.ts";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";
import { CHAT_ROOM, createOperatorMailer } from "../outbound/mail/chat-room.ts";
import type { Store } from "../storage/db/connections.ts";
import type { Database } from "../storage/db/database.ts";
import { requireNotifications } from "../storage/db/listener.ts";
import { checkServing, createOutageGate, holdDuringOutages, type OutageGate } from "../storage/db/outage-gate.ts";
import { followSecretsFile } from "../storage/key-rotation/follow-secrets.ts";
import { createFirstPartitions } from "../storage/partitions/service.ts";
import { createReplicaReport } from "../storage/replica/service.ts";
import type { AllSecrets } from "../storage/secrets/secrets.ts";
import { readVersion } from "../version.ts";
import { type Certificate, followCertificate } from "./startup/certificate.ts";
import { explainListenFailure, requestsAt } from "./startup/checks.ts";
import { type Branding, type DashboardPages, readBranding } from "./startup/dashboard-pages.ts";
import { openMapTiles } from "./startup/map-tiles.ts";
import { serviceSecrets } from "./startup/service-secrets.ts";
import { startReservationSweeper, startWorkers } from "./workers.ts";

/*
 * Starts the parts of a service one after the other: clock, secrets, metrics, background work, checks, requests. `serve`
 * (serve.ts) has opened the database and the log before.
 */

/** What a command gives `serve`, which passes it on to `runService`. */
export interface ServeOptions {
  readonly config: Config;
  readonly clock: () => number;
  /** The clock that `clock` and `ids` use. It is set to follow the database's clock. */
  readonly serviceClock?: ServiceClock;
  readonly ids: Ids;
  /** Finds a system by its id, or the only system if no id is given. Creates the first system if there is none. */
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
  /** `api` answers requests, `worker` does the background work, `all` does both. Each sweeps overdue reservations. */
  readonly role: "all" | "api" | "worker";
  /** Whether to continue with a new secrets file, because the old one is lost. */
  readonly newSecrets?: boolean;
  /** Whether no load balancer sends requests, so that stopping need not wait for one. Default: true on a terminal. */
  readonly isForTrying?: boolean;
  /** Called when background work of this process hangs; must end the process. Without it nothing watches for hangs. */
  readonly onHang?: () => void;
  /** The dashboard's pages. Without them there is no dashboard. */
  readonly dashboard?: DashboardPages;
  /** Runs once the database has its schema, a system and its secrets, before background work and requests begin. */
  readonly prepare?: (db: Database) => Promise<void>;
}

/** The resources that are opened before a service and that it depends on. */
export interface Foundation {
  readonly store: Store;
  readonly logger: Logger;
  readonly conditions: Conditions;
  readonly certificate: Certificate | undefined;
  readonly activities: ActivityTracker;
  readonly isStopping: () => boolean;
  /** Called in reverse order when the service stops. */
  readonly closers: (() => Promise<void>)[];
}

/** The resources that the parts of a service share. */
interface ServiceParts extends Foundation {
  readonly secrets: AllSecrets;
  readonly reports: ProcessReports;
  /** The latest results of the checks; empty before the first run. */
  readonly checkResults: () => readonly CurrentResult[];
  /** Makes requests wait during a short outage of the database. */
  readonly outages: OutageGate;
  readonly metrics: Metrics;
  /** Undefined: nothing is traced. */
  readonly tracer: Tracer | undefined;
  /** Whether the start is complete: the process does all the work of its role. */
  readonly isStarted: () => boolean;
}

/** How long running requests may take when the service stops. Orchestrators commonly grant 30 s. */
const REQUEST_DRAIN_TIMEOUT_MS = 20_000;
/** How long idle connections stay open on stopping, in case of one more request. Too high: a stop seems to hang. */
const IDLE_TIMEOUT_MS = 1_000;
/** How long load balancers take to notice `/readyz`: most poll it every 2 to 5 s. */
const DRAIN_DELAY_MS = 5_000;

/** Where a service answers requests. */
interface Listening {
  /** The base URL for callers. */
  readonly url: string;
  /** The port at which the process listens: a free one if the configuration leaves the choice to the operating system. */
  readonly port: number;
}

/** Starts the work of the role, and listens. @returns undefined if the role answers no requests */
export async function runService(given: ServeOptions, foundation: Foundation): Promise<Listening | undefined> {
  const { role } = given;
  const { store, logger, activities } = foundation;
  const tracer = await openTracing({ ...given, ...foundation, settings: given.config.tracing, version: readVersion() });
  if (tracer !== undefined) foundation.closers.push(() => tracer.close());
  // With these ids a request that records an event is linked to the traces of the event's deliveries.
  const options = { ...given, ids: linkEvents(given.ids, tracer, activities) };
  const { db } = store;
  const reports = createProcessReports();
  // All writes after this line use the database's clock.
  await followDatabaseClock(db, { ...given, ...foundation, reports });
  const secrets = await prepareDatabase(store, options, logger);
  // A worker publishes no feeds.
  if (role !== "worker") await warnOfMissingFacts(db, logger);
  let isStarted = false;
  const outages = createOutageGate({
    connectionString: db.connectionString,
    onOutage: foundation.conditions.of("answering requests").failed,
  });
  foundation.closers.push(() => outages.close());
  // The metrics server shows the results of the checks, and starts before the checks: until then there are no results.
  const running: { checks?: CheckRunner } = {};
  const checkResults = () => running.checks?.results() ?? [];
  const watched = { ...foundation, reports, checkResults, outages, tracer, isStarted: () => isStarted };
  const parts = {
    ...watched,
    secrets: await followSecretsFile(db, secrets, options, foundation),
    metrics: await openMetrics(db, options, watched),
  };
  await startBackgroundWork(db, options, parts);
  const checks = startChecksOf(db, options, parts);
  running.checks = checks;
  foundation.closers.push(() => checks.close());
  const listening = role === "worker" ? undefined : await answerRequests(db, options, parts);
  isStarted = true;
  return listening;
}

/** Starts the background work of the role. Each role sweeps reservations: bikes become free even if no worker runs. */
async function startBackgroundWork(db: Database, options: ServeOptions, parts: ServiceParts): Promise<void> {
  const { clock, ids, role } = options;
  const { conditions } = parts;
  const closeLater = (opened: { close(): Promise<void> }) => void parts.closers.push(() => opened.close());
  closeLater(startReservationSweeper({ db, clock, ids, conditions }));
  if (role !== "api") closeLater(await startWorkers({ ...options, ...parts, db }));
}

/** Runs the checks, and reports problems to the operator. */
function startChecksOf(db: Database, { config, clock, ids }: ServeOptions, parts: ServiceParts): CheckRunner {
  const { logger, conditions, metrics } = parts;
  // A failure of a run counts as over after two minutes, which is four runs, without another.
  const { failed: onError, watch } = conditions.of("running checks", { quietMs: 2 * 60_000 });
  const machine = hostname();
  const context = { db, clock, rateLimit: config.rateLimit, longRideAfterMs: config.longRideAfterMs };
  const { mail, alertMailTo, alertWebhookUrl } = config;
  // The recipients of messages about problems. `CHAT_ROOM` stands for the chat room, whose URL is a secret.
  const addresses = [...(mail === undefined ? [] : alertMailTo), ...(alertWebhookUrl === undefined ? [] : [CHAT_ROOM])];
  return startChecks({
    db,
    clock,
    ids,
    logger,
    onError,
    watch,
    addresses,
    checks: async () => [
      ...machineChecks(config, clock, machine),
      ...databaseChecks(db, config, clock),
      ...(await allSystemChecks(context)),
      // These come last: after a pause of the whole process, its background work has run again by then.
      ...processChecks(parts, machine),
    ],
    processResults: () => processResults(parts),
    partnerResults: async () => {
      const systems = await systemsOf(db);
      const facts = await Promise.all(systems.map(({ system_id: systemId }) => partnerFacts(context, systemId)));
      return facts.flatMap((each) => partnerResults(each, clock()));
    },
    pageOf: (check) => acknowledgingPage(config.publicUrl, check),
    mailer: createOperatorMailer(mail, alertWebhookUrl),
    serviceName: config.branding.name ?? DEFAULT_SERVICE_NAME,
    observeMail: metrics.mails.operatorMailed,
  });
}

/** Makes sure that the database can serve this configuration. @returns the secrets that belong to it */
async function prepareDatabase({ db, applied }: Store, options: ServeOptions, logger: Logger): Promise<AllSecrets> {
  const { config, clock, ids, newSecrets = false } = options;
  if (config.databaseUrl !== undefined) {
    await requireNotifications({ connectionString: config.databaseUrl, notifier: db });
  }
  if (applied.length > 0) logger.info({ applied }, "schema migrated");
  // A day on which no worker has run needs partitions before its first row. If this fails, for example because the disk is
  // full, the start goes on without them.
  await createFirstPartitions(db, clock).catch((error: unknown) =>
    logger.warn({ err: error }, "partitions could not be made; a worker tries again"),
  );
  // The first migration has just run, so there were no tables.
  if (applied.some((name) => name.startsWith("0001_")))
    logger.info(
      "the database was empty; `bikeshare restore <file>` restores a backup into one that no service has used",
    );
  await ensureSystem(db, options);
  const secrets = await serviceSecrets({ db, config, clock, ids, logger }, newSecrets);
  await options.prepare?.(db);
  return secrets;
}

/**
 * Makes sure that there is at least one system.
 * @throws ConfigError when SYSTEM_ID is set and names none of the systems, or as `offerRestore`
 */
async function ensureSystem(db: Database, { config, resolveSystem }: ServeOptions): Promise<void> {
  const ids = (await systemsOf(db)).map((system) => system.system_id);
  if (ids.length === 0) {
    await offerRestore(config);
    await resolveSystem(db, undefined);
  } else if (config.isSystemIdSet && !ids.includes(config.systemId)) {
    throw new ConfigError(
      `SYSTEM_ID=${config.systemId}: names the first system of a new database; this one has ${ids.join(", ")}, and a system keeps its id. ` +
        `Unset SYSTEM_ID, or make another system: \`systems create ${config.systemId}\`.`,
    );
  }
}

/**
 * Refuses to start an empty service when there are backups of a lost one: once the new service has data, no backup can be
 * restored into it, and new backups would replace the old ones.
 * @throws ConfigError when there are backups; its message says which one to restore, and how
 */
async function offerRestore({ backups }: Config): Promise<void> {
  if (backups === undefined) return;
  const { listBackups } = await import("../storage/backup/schedule.ts");
  const newest = (await listBackups(backups.directory).catch(() => [])).at(-1);
  if (newest === undefined) return;
  throw new ConfigError(
    `BACKUP_DIR=${backups.directory}: has backups, and the database is empty. Restore the newest: \`bikeshare restore ${join(backups.directory, newest.name)}\`. ` +
      "To begin anew instead, move them away, or set BACKUP_DIR to another directory.",
  );
}

/** Serves metrics and health on a separate port, if one is configured; otherwise nothing is counted. */
async function openMetrics(
  db: Database,
  { config, clock }: ServeOptions,
  parts: Omit<ServiceParts, "secrets" | "metrics">,
): Promise<Metrics> {
  if (config.metricsPort === undefined) return uncounted;
  const { createMetrics } = await import("../health/metrics/registry.ts");
  const { watchSources } = await import("../health/metrics/sources.ts");
  const { NotReady, startMetricsServer } = await import("../health/metrics/server.ts");
  const metrics = createMetrics({ version: readVersion() });
  parts.activities.countWaits(metrics.http.connectionWaited);
  watchSources(metrics.registry, {
    db,
    config,
    clock,
    works: parts.conditions.works,
    checkResults: parts.checkResults,
  });
  const server = await startMetricsServer({
    host: config.metricsHost,
    port: config.metricsPort,
    metrics,
    logger: parts.logger,
    ready: async () => {
      if (parts.isStopping()) throw new NotReady("The process is shutting down.");
      // A supervisor that waits for this process would otherwise go on to the next one too early.
      if (!parts.isStarted()) throw new NotReady("The process is starting.");
      await checkServing(db, parts.outages);
      return concernsOf(parts.checkResults());
    },
  });
  parts.closers.push(() => server.close());
  return metrics;
}

/** Returns the replica that reads may go to, if one is configured. */
function replicaSettings({ databaseReplicaUrl: url }: Config, { conditions, reports }: ServiceParts) {
  if (url === undefined) return undefined;
  return { url, onStatus: createReplicaReport({ conditions, reports, monotonic: () => performance.now() }) };
}

/** Builds the app and listens. */
async function answerRequests(
  database: Database,
  { config, clock, ids, dashboard, isForTrying = process.stderr.isTTY }: ServeOptions,
  parts: ServiceParts,
): Promise<Listening> {
  const { logger, secrets, conditions, outages, metrics, certificate, closers, activities, tracer } = parts;
  const db = holdDuringOutages(database, outages);
  // Without PUBLIC_URL the base URL is known only once the process listens.
  let url = config.publicUrl ?? "";
  const branding = await readBranding(config.branding);
  const servedDashboard = dashboard && (await openDashboard(dashboard, config, branding, closers));
  const rateLimits = await openRateLimits(db, { ...config, ...parts, ids, onRedisLost: metrics.http.redisLost });
  closers.push(() => rateLimits.close());
  const app = await buildApp({
    ...config,
    db,
    clock,
    ids,
    logger,
    secrets,
    outages,
    rateLimits,
    branding,
    activities,
    tracer,
    monotonic: () => performance.now(),
    version: readVersion(),
    baseUrl: () => url,
    ...(servedDashboard && { dashboard: servedDashboard }),
    metrics: metrics.http,
    concerns: () => concernsOf(parts.checkResults()),
    onUnavailable: conditions.of("answering requests").failed,
    replica: replicaSettings(config, parts),
    https: certificate,
  });
  renewCertificate(app, config, parts);
  closers.push(() =>
    stopAnswering({
      http: app.http,
      drain: app.drain,
      delay: () => sleep<void>(config.drainDelayMs ?? (isForTrying ? 0 : DRAIN_DELAY_MS)),
      idleMs: IDLE_TIMEOUT_MS,
      requestsMs: REQUEST_DRAIN_TIMEOUT_MS,
    }),
  );
  warnOfPlainListener({ ...config, hasTls: config.tls !== undefined }, logger);
  const address = await listen(app, config);
  url = config.publicUrl ?? address;
  // Builds the pages in parallel with the first requests. Only a request for a page waits for that.
  dashboard?.ready().catch(() => undefined);
  return { url, port: (app.http.server.address() as AddressInfo).port };
}

/** Returns the dashboard as the app serves it: its pages, the operator's logo and the map's tiles. */
async function openDashboard(
  pages: DashboardPages,
  config: Config,
  { logo }: Branding,
  closers: Foundation["closers"],
): Promise<DashboardOptions> {
  closers.push(() => pages.close());
  const mapTiles = await openMapTiles(config);
  if (mapTiles?.archive !== undefined) closers.push(mapTiles.archive.close);
  return { ...pages, frameAncestors: config.frameAncestors, mapTiles, logo };
}

/** If the service itself serves HTTPS, makes it use a renewed certificate within half a minute after its files change. */
function renewCertificate(app: App, { tls }: Config, parts: ServiceParts): void {
  const { certificate, closers } = parts;
  if (tls === undefined || certificate === undefined) return;
  const following = followCertificate(app.http.server, tls, certificate, parts);
  closers.push(() => Promise.resolve(following.close()));
}

async function listen(app: App, config: Config): Promise<string> {
  try {
    return await app.http.listen({ host: config.host, port: config.port });
  } catch (error) {
    throw explainListenFailure(error, requestsAt(config));
  }
}

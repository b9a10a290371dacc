import { setTimeout as sleep } from "node:timers/promises";
import { type App, buildApp } from "./app.ts";
import { type Concerns, createConcerns } from "./concerns.ts";
import { type Conditions, createConditions } from "./conditions/lasting-conditions.ts";
import { watchConditions } from "./conditions/watch.ts";
import { type Config, ConfigError } from "./config.ts";
import { type Database, STATEMENT_TIMEOUT } from "./db/database.ts";
import { requireNotifications } from "./db/listener.ts";
import { openStore, type Store } from "./db/open.ts";
import { ping } from "./db/ping.ts";
import { allFeedAges, watchFeeds } from "./feeds/gbfs/feed-watch.ts";
import { warnOfPlainListener } from "./http/proxy-warnings.ts";
import { stopAnswering } from "./http/stopping.ts";
import type { Ids } from "./ids.ts";
import { createLogger, type Logger } from "./logger.ts";
import { watchFeedAges } from "./metrics/feed-metrics.ts";
import { createMetrics, type Metrics } from "./metrics/registry.ts";
import { watchReservations } from "./metrics/reservation-metrics.ts";
import { startMetricsServer } from "./metrics/server.ts";
import { largestHolders } from "./reservations/largest-holders.ts";
import type { AllSecrets } from "./secrets.ts";
import { startWork } from "./start-work.ts";
import type { Certificate } from "./startup/certificate.ts";
import { checkBeforeWork, requestsAt } from "./startup/checks.ts";
import { explainDatabaseFailure } from "./startup/database-failure.ts";
import { followCertificate } from "./startup/follow-certificate.ts";
import { explainListenFailure } from "./startup/listening.ts";
import { serviceSecrets } from "./startup/service-secrets.ts";
import { warnOfMissingFacts } from "./systems/missing-facts.ts";
import { systemsOf } from "./systems/service.ts";
import { readVersion } from "./version.ts";
import { watchForWorkers } from "./webhooks/worker-watch.ts";
import { startReservationSweeper } from "./workers.ts";

export interface ServeOptions {
  readonly config: Config;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Makes the first system where there is none. */
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
  /** `api` answers requests, `worker` does the work beside them, `all` both. */
  readonly role: "all" | "api" | "worker";
  /** The old secrets file is gone for good: goes on with a new one. */
  readonly newSecrets?: boolean;
  /** Nobody else depends on the service: it stops without waiting for load balancers. By default: on a terminal. */
  readonly isForTrying?: boolean;
  /** Runs after the database is open and before requests are taken. */
  readonly prepare?: (db: Database) => Promise<void>;
}

/** A service that takes requests. */
export interface Service {
  /** The base address that callers use; undefined for a process that takes no requests. */
  readonly url: string | undefined;
  /** Takes nothing new, answers what has begun, then closes everything. */
  close(): Promise<void>;
}

/** Milliseconds that requests have to end when the service stops: what orchestrators commonly grant is 30 s. */
const REQUESTS_MS = 20_000;
/** Milliseconds that idle connections have to be used once more. Longer and a stop on a terminal feels stuck. */
const IDLE_MS = 1_000;
/** Milliseconds in which load balancers notice `/readyz`: most ask every 2 to 5 s. */
const DRAIN_DELAY_MS = 5_000;

/** Opens the database, starts what the role asks for, and listens. */
export async function serve(options: ServeOptions): Promise<Service> {
  const { config, clock, ids, role } = options;
  const logger = createLogger(config);
  for (const warning of config.warnings) logger.warn(warning);
  const certificate = await checkBeforeWork(config, role);
  const store = await openDatabaseFor(config, logger);
  // What is open, to be closed in the opposite order: first no new requests, last the database.
  const open: (() => Promise<void>)[] = [() => store.close()];
  let isStopping = false;
  const close = async () => {
    isStopping = true;
    logger.info("stopping");
    for (const step of open.toReversed()) await step();
    logger.info("stopped");
  };
  const conditions = createConditions({ monotonic: () => performance.now(), log: logger });
  const watch = watchConditions(conditions, () => ping(store.db));
  open.push(() => watch.close());
  try {
    const secrets = await prepareDatabase(store, options, logger);
    if (role !== "worker") await warnOfMissingFacts(store.db, logger);
    const metrics = createMetrics({ version: readVersion() });
    const concerns = createConcerns();
    const kit: Kit = {
      logger,
      secrets,
      conditions,
      concerns,
      isStopping: () => isStopping,
      metrics,
      certificate,
      open,
    };
    await showMetrics(store.db, config, kit);
    watchFeedAges(metrics.registry, () => allFeedAges(store.db, clock()));
    watchReservations(metrics.registry, () => largestHolders(store.db, clock()));
    const feeds = watchFeeds(store.db, { clock, conditions, concerns });
    open.push(() => feeds.close());
    const sweeper = startReservationSweeper({ db: store.db, clock, ids, conditions });
    open.push(() => sweeper.close());
    if (role === "api") {
      const workers = watchForWorkers(store.db, { conditions, concerns });
      open.push(() => workers.close());
    } else open.push(...(await startWork({ ...options, ...kit, db: store.db })));
    const url = role === "worker" ? undefined : await answerRequests(store.db, options, kit);
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Makes sure that the database can serve this configuration. @returns the secrets that belong to it */
async function prepareDatabase({ db, applied }: Store, options: ServeOptions, logger: Logger): Promise<AllSecrets> {
  const { config, clock, ids, newSecrets = false } = options;
  if (config.databaseUrl !== undefined) {
    await requireNotifications({ connectionString: config.databaseUrl, notifier: db });
  }
  if (applied.length > 0) logger.info({ applied }, "schema migrated");
  await ensureSystem(db, options);
  const secrets = await serviceSecrets({ db, config, clock, ids, logger }, newSecrets);
  await options.prepare?.(db);
  return secrets;
}

/** Shows metrics and health on a port of their own, where one is configured. */
async function showMetrics(db: Database, config: Config, kit: Kit): Promise<void> {
  if (config.metricsPort === undefined) return;
  const server = await startMetricsServer({
    host: config.metricsHost,
    port: config.metricsPort,
    metrics: kit.metrics,
    logger: kit.logger,
    ready: async () => {
      if (kit.isStopping()) throw new Error("The process is shutting down.");
      await ping(db);
      return concernsOf(kit);
    },
  });
  kit.open.push(() => server.close());
}

/** What `/readyz` tells of although it is 200: with a full disk everything can still be read, on every process alike. */
function concernsOf({ concerns, conditions }: Pick<Kit, "concerns" | "conditions">): string[] {
  const isFull = conditions.isLasting("disk_full");
  return [
    ...(isFull ? ["the disk of the database is full: nothing can be stored until there is room"] : []),
    ...concerns.list(),
  ];
}

/** What the parts of a service are made with. */
interface Kit {
  readonly logger: Logger;
  readonly secrets: AllSecrets;
  readonly conditions: Conditions;
  readonly concerns: Concerns;
  readonly isStopping: () => boolean;
  readonly metrics: Metrics;
  readonly certificate: Certificate | undefined;
  /** What is open, to be closed in the opposite order. */
  readonly open: (() => Promise<void>)[];
}

/** Builds the app and listens; adds its closing to `open`. @returns the base address that callers use */
async function answerRequests(
  db: Database,
  { config, clock, ids, isForTrying = process.stderr.isTTY }: ServeOptions,
  kit: Kit,
): Promise<string> {
  const { logger, secrets, conditions, metrics, certificate, open } = kit;
  let url = config.publicUrl ?? "";
  const drainDelay = config.drainDelay ?? (isForTrying ? 0 : DRAIN_DELAY_MS);
  const app = await buildApp({
    db,
    clock,
    ids,
    logger,
    secrets,
    version: readVersion(),
    baseUrl: () => url,
    metrics: metrics.http,
    concerns: () => concernsOf(kit),
    onUnavailable: conditions.of("answering requests").failed,
    rateLimit: config.rateLimit,
    trustedProxies: config.trustedProxies,
    publicRateLimit: config.publicRateLimit,
    maxConnections: config.maxConnections,
    corsOrigins: config.corsOrigins,
    docs: config.docs,
    https: certificate,
  });
  if (config.tls !== undefined && certificate !== undefined) {
    const watch = followCertificate(app.http.server, config.tls, certificate, { logger, conditions });
    open.push(() => Promise.resolve(watch.close()));
  }
  open.push(() =>
    stopAnswering({
      http: app.http,
      drain: app.drain,
      delay: async () => {
        await sleep(drainDelay);
      },
      idleMs: IDLE_MS,
      requestsMs: REQUESTS_MS,
    }),
  );
  warnOfPlainListener({ ...config, hasTls: config.tls !== undefined }, logger);
  const address = await listen(app, config);
  url = config.publicUrl ?? address;
  return url;
}

async function listen(app: App, config: Config): Promise<string> {
  try {
    return await app.http.listen({ host: config.host, port: config.port });
  } catch (error) {
    throw explainListenFailure(error, requestsAt(config));
  }
}

/** Opens what the configuration names, or our own. */
async function openDatabaseFor(config: Config, logger: Logger): Promise<Store> {
  try {
    return await openStore({
      databaseUrl: config.databaseUrl,
      dataDir: config.dataDir,
      statementTimeout: STATEMENT_TIMEOUT,
      onEmbeddedEvent: (event) => logger.info(event, "embedded PostgreSQL"),
      // What comes of it is reported by whoever needs the database; here it says nothing that one could act on.
      onConnectionLost: (error) => logger.debug({ reason: error.message }, "idle database connection lost"),
    });
  } catch (error) {
    throw explainDatabaseFailure(error, config);
  }
}

/** A deployment has a system from its first start on; where there are several, none needs to be chosen here. */
async function ensureSystem(db: Database, { config, resolveSystem }: ServeOptions): Promise<void> {
  const ids = (await systemsOf(db)).map((system) => system.system_id);
  if (ids.length === 0) await resolveSystem(db, undefined);
  else if (config.isSystemIdSet && !ids.includes(config.systemId)) {
    throw new ConfigError(
      `SYSTEM_ID=${config.systemId}: names the first system of a new database; this one has ${ids.join(", ")}, and a system keeps its id. ` +
        `Unset SYSTEM_ID, or make another system: \`systems create ${config.systemId}\`.`,
    );
  }
}

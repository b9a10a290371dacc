import { setTimeout as sleep } from "node:timers/promises";
import { type App, buildApp } from "./app.ts";
import { type Conditions, createConditions } from "./conditions/lasting-conditions.ts";
import { watchConditions } from "./conditions/watch.ts";
import { type Config, ConfigError } from "./config.ts";
import { type Database, STATEMENT_TIMEOUT } from "./db/database.ts";
import { requireNotifications } from "./db/listener.ts";
import { openStore, type Store } from "./db/open.ts";
import { ping } from "./db/ping.ts";
import { logRounds } from "./feeds/gbfs/follow-log.ts";
import { startFollowing } from "./feeds/gbfs/follow.ts";
import { stopAnswering } from "./http/stopping.ts";
import type { Ids } from "./ids.ts";
import { createLogger, type Logger } from "./logger.ts";
import { createMetrics, type Metrics } from "./metrics/registry.ts";
import { startMetricsServer } from "./metrics/server.ts";
import type { AllSecrets } from "./secrets.ts";
import type { Certificate } from "./startup/certificate.ts";
import { checkBeforeWork, requestsAt } from "./startup/checks.ts";
import { explainDatabaseFailure } from "./startup/database-failure.ts";
import { followCertificate } from "./startup/follow-certificate.ts";
import { explainListenFailure } from "./startup/listening.ts";
import { serviceSecrets } from "./startup/service-secrets.ts";
import { systemsOf } from "./systems/service.ts";
import { readVersion } from "./version.ts";
import { createSecretSealer } from "./webhooks/endpoints/secret.ts";
import { createMailer } from "./webhooks/warnings/mailer.ts";
import type { WebhookSettings } from "./webhooks/worker.ts";
import { startReservationSweeper, startWorkers } from "./workers.ts";

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
  const logger = createLogger(config.logLevel);
  for (const warning of config.warnings) logger.warn(warning);
  const certificate = await checkBeforeWork(config, role);
  const store = await openDatabaseFor(config, logger);
  // What is open, to be closed in the opposite order: first no new requests, last the database.
  const open: (() => Promise<void>)[] = [() => store.close()];
  const close = async () => {
    logger.info("stopping");
    for (const step of open.toReversed()) await step();
    logger.info("stopped");
  };
  const conditions = createConditions({ monotonic: () => performance.now(), log: logger });
  const watch = watchConditions(conditions, () => ping(store.db));
  open.push(() => watch.close());
  try {
    if (config.databaseUrl !== undefined) {
      await requireNotifications({ connectionString: config.databaseUrl, notifier: store.db });
    }
    if (store.applied.length > 0) logger.info({ applied: store.applied }, "schema migrated");
    await ensureSystem(store.db, options);
    const secrets = await serviceSecrets({ db: store.db, config, clock, ids, logger }, options.newSecrets === true);
    await options.prepare?.(store.db);
    const metrics = createMetrics({ version: readVersion() });
    if (config.metricsPort !== undefined) {
      const server = await startMetricsServer({ host: config.metricsHost, port: config.metricsPort, metrics, logger });
      open.push(() => server.close());
    }
    const sweeper = startReservationSweeper({ db: store.db, clock, ids, conditions });
    open.push(() => sweeper.close());
    if (role !== "api") {
      const webhooks = webhookSettings(config, secrets, metrics);
      const workers = startWorkers({ db: store.db, clock, ids, logger, webhooks, conditions });
      open.push(() => workers.close());
      const following = await followFeed(store.db, options, logger);
      if (following !== undefined) open.push(() => following.close());
    }
    const kit = { logger, secrets, conditions, metrics, certificate, open };
    const url = role === "worker" ? undefined : await answerRequests(store.db, options, kit);
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the parts of a service are made with. */
interface Kit {
  readonly logger: Logger;
  readonly secrets: AllSecrets;
  readonly conditions: Conditions;
  readonly metrics: Metrics;
  readonly certificate: Certificate | undefined;
  /** What is open, to be closed in the opposite order. */
  readonly open: (() => Promise<void>)[];
}

/** Builds the app and listens; adds its closing to `open`. @returns the base address that callers use */
async function answerRequests(
  db: Database,
  { config, clock, ids, isForTrying = process.stderr.isTTY }: ServeOptions,
  { logger, secrets, conditions, metrics, certificate, open }: Kit,
): Promise<string> {
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
    onUnavailable: conditions.of("answering requests").failed,
    rateLimit: config.rateLimit,
    trustedProxies: config.trustedProxies,
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
  const address = await listen(app, config);
  url = config.publicUrl ?? address;
  return url;
}

function webhookSettings(config: Config, secrets: AllSecrets, metrics: Metrics): WebhookSettings {
  const { mail } = config;
  return {
    rules: config.webhooks,
    sealer: createSecretSealer(secrets.webhookKeys),
    metrics,
    mailer: mail && createMailer(mail.smtpUrl, { from: mail.from }),
    version: readVersion(),
  };
}

interface Following {
  close(): Promise<void>;
}

/** Follows the configured feed, which belongs to the deployment's one system. */
async function followFeed(
  db: Database,
  { config, clock, ids, resolveSystem }: ServeOptions,
  logger: Logger,
): Promise<Following | undefined> {
  if (config.gbfsSync === undefined) return undefined;
  const systemId = await resolveSystem(db, undefined);
  return startFollowing({ db, clock, ids, ...config.gbfsSync, systemId, source: "gbfs", log: logRounds(logger) });
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
      onEmbeddedEvent: (event) => logger.info(event, "own PostgreSQL"),
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

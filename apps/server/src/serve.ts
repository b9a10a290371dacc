import { readFile } from "node:fs/promises";
import { type App, buildApp } from "./app.ts";
import { type Conditions, createConditions } from "./conditions/lasting-conditions.ts";
import { watchConditions } from "./conditions/watch.ts";
import type { Config } from "./config.ts";
import { type Database, STATEMENT_TIMEOUT } from "./db/database.ts";
import { codeOf } from "./db/errors.ts";
import { requireNotifications } from "./db/listener.ts";
import { openStore } from "./db/open.ts";
import { ping } from "./db/ping.ts";
import { logRounds } from "./feeds/gbfs/follow-log.ts";
import { startFollowing } from "./feeds/gbfs/follow.ts";
import type { Ids } from "./ids.ts";
import { createLogger, type Logger } from "./logger.ts";
import { createMetrics, type Metrics } from "./metrics/registry.ts";
import { startMetricsServer } from "./metrics/server.ts";
import { type AllSecrets, loadSecrets, secretsPath } from "./secrets.ts";
import { systemsOf } from "./systems/service.ts";
import { readVersion } from "./version.ts";
import { createSecretSealer } from "./webhooks/endpoints/secret.ts";
import { createMailer } from "./webhooks/warnings/mailer.ts";
import type { WebhookSettings } from "./webhooks/worker.ts";
import { startWorkers } from "./workers.ts";

export interface ServeOptions {
  readonly config: Config;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Makes the first system where there is none. */
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
  /** `api` answers requests, `worker` does the work beside them, `all` both. */
  readonly role: "all" | "api" | "worker";
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
const DRAIN_TIMEOUT = 20_000;

/** Opens the database, starts what the role asks for, and listens. */
export async function serve(options: ServeOptions): Promise<Service> {
  const { config, clock, ids, role } = options;
  const logger = createLogger(config.logLevel);
  const store = await openStore({
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    statementTimeout: STATEMENT_TIMEOUT,
    onEmbeddedEvent: (event) => logger.info(event, "own PostgreSQL"),
    onConnectionLost: (error) => logger.warn({ err: error }, "idle database connection lost"),
  });
  // What is open, to be closed in the opposite order: first no new requests, last the database.
  const open: (() => Promise<void>)[] = [() => store.close()];
  const close = async () => {
    for (const step of open.toReversed()) await step();
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
    const secrets = await loadSecrets(secretsPath(config), (bytes) => ids.randomBytes(bytes));
    await options.prepare?.(store.db);
    const metrics = createMetrics({ version: readVersion() });
    if (config.metricsPort !== undefined) {
      const server = await startMetricsServer({ host: config.host, port: config.metricsPort, metrics, logger });
      open.push(() => server.close());
    }
    if (role !== "api") {
      const webhooks = webhookSettings(config, secrets, metrics);
      const workers = startWorkers({ db: store.db, clock, ids, logger, webhooks, conditions });
      open.push(() => workers.close());
      const following = await followFeed(store.db, options, logger);
      if (following !== undefined) open.push(() => following.close());
    }
    const kit = { logger, secrets, conditions, metrics, open };
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
  /** What is open, to be closed in the opposite order. */
  readonly open: (() => Promise<void>)[];
}

/** Builds the app and listens; adds its closing to `open`. @returns the base address that callers use */
async function answerRequests(
  db: Database,
  { config, clock, ids }: ServeOptions,
  { logger, secrets, conditions, metrics, open }: Kit,
): Promise<string> {
  let url = config.publicUrl ?? "";
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
    https: config.tls && { cert: await readFile(config.tls.certFile), key: await readFile(config.tls.keyFile) },
  });
  open.push(() => {
    app.drain();
    return within(DRAIN_TIMEOUT, app.http.close(), () => app.http.server.closeAllConnections());
  });
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

async function listen(app: App, { host, port }: Config): Promise<string> {
  try {
    return await app.http.listen({ host, port });
  } catch (error) {
    if (codeOf(error) !== "EADDRINUSE") throw error;
    throw new Error(`${host}:${port} is in use. Stop what listens there, or set PORT to another port.`, {
      cause: error,
    });
  }
}

/** A deployment has a system from its first start on; where there are several, none needs to be chosen here. */
async function ensureSystem(db: Database, { resolveSystem }: ServeOptions): Promise<void> {
  if ((await systemsOf(db)).length === 0) await resolveSystem(db, undefined);
}

async function within(milliseconds: number, work: Promise<void>, onTimeout: () => void): Promise<void> {
  const timer = setTimeout(onTimeout, milliseconds);
  try {
    await work;
  } finally {
    clearTimeout(timer);
  }
}

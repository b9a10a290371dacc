import { flushCompileCache } from "node:module";
import type { Config } from "../config.ts";
import { checkConditions, type Conditions, createConditions } from "../health/conditions/conditions.ts";
import { type ActivityTracker, createActivityTracker } from "../health/tracing/activity.ts";
import { createLogger, isLogForPeople, logConsoleWarnings, type Logger } from "../logger.ts";
import { watchForHangs } from "../storage/background/hang-watch.ts";
import { openStore, type Store } from "../storage/db/connections.ts";
import { ping, STATEMENT_TIMEOUT_MS } from "../storage/db/database.ts";
import { auditLogOwner } from "../storage/partitions/service.ts";
import type { ServeOptions } from "./running-service.ts";
import { checkBeforeStart, explainDatabaseFailure } from "./startup/checks.ts";

/*
 * Opens what a service depends on, such as its log and its database, and starts it by `runService` (running-service.ts).
 * That module is large, so it is loaded while an embedded PostgreSQL starts.
 */

/** A running service. */
export interface Service {
  /** The base URL for callers; undefined for a process that answers no requests. */
  readonly url: string | undefined;
  /** The port at which it listens; undefined for a process that answers no requests. */
  readonly port: number | undefined;
  /** Stops accepting, answers running requests, then closes everything. */
  close(): Promise<void>;
}

/** Delay after a start before compiled modules are written to disk, which may take 50 ms and must not delay a request. */
const KEEP_COMPILED_AFTER_MS = 1_000;

/** Opens the database, starts the work of the role, and listens. */
export async function serve(options: ServeOptions): Promise<Service> {
  const { config, role } = options;
  const logger = await createLogger(config);
  for (const warning of config.warnings) logger.warn(warning);
  const certificate = await checkBeforeStart(config, role);
  const activities = createActivityTracker();
  const store = await openDatabaseFor(config, logger, activities);
  // In the order of opening. Called in reverse: requests end before what they need is closed, and the database is last.
  const closers: (() => Promise<void>)[] = [() => store.close()];
  const stopLoggingWarnings = logConsoleWarnings(logger);
  closers.push(() => Promise.resolve(stopLoggingWarnings()));
  let isStopping = false;
  const close = async () => {
    isStopping = true;
    logger.info("stopping");
    // A part that cannot be closed must not keep the others open.
    for (const closeOne of closers.toReversed())
      await closeOne().catch((error: unknown) => logger.error({ err: error }, "while stopping"));
    logger.info("stopped");
  };
  const conditions = createConditions({ monotonic: () => performance.now(), log: logger });
  const checking = checkConditions(conditions, () => ping(store.db));
  closers.push(() => checking.close());
  try {
    const { runService } = await loadService();
    const foundation = { store, logger, conditions, certificate, activities, isStopping: () => isStopping, closers };
    const listening = await runService(options, foundation);
    endIfHanging(options, foundation);
    // Node writes compiled modules when the process ends by itself, but not when it is killed.
    setTimeout(flushCompileCache, KEEP_COMPILED_AFTER_MS).unref();
    return { url: listening?.url, port: listening?.port, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Loads the modules of a service, which takes most of a start's processor time. */
function loadService() {
  return import("./running-service.ts");
}

/** Opens the configured database, or the embedded one. */
async function openDatabaseFor(config: Config, logger: Logger, observer: ActivityTracker): Promise<Store> {
  try {
    return await openStore({
      databaseUrl: config.databaseUrl,
      dataDir: config.dataDir,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      observer,
      auditLog: auditLogOwner,
      onEmbeddedEvent: (event) => {
        logger.info(event, "embedded PostgreSQL");
        // Loads the modules while PostgreSQL starts in processes of its own. `serve` calls `loadService` again and gets any
        // error.
        if (event.event === "creating_cluster" || event.event === "starting") loadService().catch(() => undefined);
      },
      onMigrating: (message) => logger.info(message),
      // Only a debug line, because the callers of the database report its failures.
      onConnectionLost: (error) => logger.debug({ reason: error.message }, "idle database connection lost"),
    });
  } catch (error) {
    throw explainDatabaseFailure(error, config);
  }
}

/** The parts of a service that the watch for hangs uses. */
interface WatchedService {
  readonly logger: Logger;
  readonly conditions: Conditions;
  readonly closers: (() => Promise<void>)[];
}

/** Watches this process for hangs, if `onHang` is given. `onHang` ends it, so that its supervisor starts another one. */
function endIfHanging(
  { config, onHang }: { readonly config: Config; readonly onHang?: () => void },
  { logger, conditions, closers }: WatchedService,
): void {
  if (onHang === undefined) return;
  const format = isLogForPeople(config) ? "text" : "json";
  const watch = watchForHangs({
    timeoutMs: config.hangTimeoutMs,
    conditions,
    lastLine: { format: config.logLevel === "silent" ? "none" : format },
    onHang: (work, seconds) => {
      const message = `${work} hangs; this process ends, so that its supervisor starts another one`;
      logger.fatal({ condition: "process_hangs", work, seconds }, message);
      onHang();
    },
  });
  closers.push(() => watch.close());
}

import { join } from "node:path";
import type { Conditions } from "./conditions/lasting-conditions.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { logRounds } from "./feeds/gbfs/follow-log.ts";
import { startFollowing } from "./feeds/gbfs/follow.ts";
import type { Ids } from "./ids.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics/registry.ts";
import type { AllSecrets } from "./secrets.ts";
import { readVersion } from "./version.ts";
import { createSecretSealer } from "./webhooks/endpoints/secret.ts";
import { createMailer } from "./webhooks/warnings/mailer.ts";
import type { WebhookSettings } from "./webhooks/worker.ts";
import { startWorkers } from "./workers.ts";

interface StartWorkOptions {
  readonly db: Database;
  readonly config: Config;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
  readonly logger: Logger;
  readonly secrets: AllSecrets;
  readonly conditions: Conditions;
  readonly metrics: Metrics;
}

/** Starts what a worker does beside requests. @returns how to end it, to be called in the opposite order */
export async function startWork(options: StartWorkOptions): Promise<(() => Promise<void>)[]> {
  const { db, config, clock, ids, logger, conditions } = options;
  const webhooks = webhookSettings(config, options.secrets, options.metrics);
  const workers = startWorkers({ db, clock, ids, logger, webhooks, conditions });
  const following = await followFeed(options);
  return [() => workers.close(), ...(following === undefined ? [] : [() => following.close()])];
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

/** Follows the configured feed, which belongs to the deployment's one system. */
async function followFeed({
  db,
  config,
  clock,
  ids,
  logger,
  conditions,
  resolveSystem,
}: StartWorkOptions): Promise<{ close(): Promise<void> } | undefined> {
  if (config.gbfsSync === undefined) return undefined;
  const systemId = await resolveSystem(db, undefined);
  const source = "gbfs";
  const log = logRounds(logger, conditions, { system: systemId, source });
  const reportDirectory = join(config.dataDir, "reports");
  return startFollowing({ db, clock, ids, ...config.gbfsSync, systemId, source, reportDirectory, log });
}

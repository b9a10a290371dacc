import { startAlertSweeper, startPastAlertsSweeper } from "../city/alerts/service.ts";
import { startPublicIdSweeper } from "../city/bikes/service.ts";
import { startRemovedBikesSweeper } from "../city/changes/service.ts";
import { startReservationSweeper as startSweepingReservations } from "../city/fleet/reservation-commands.ts";
import { startVehicleLogSweeper } from "../city/fleet/vehicle-log.ts";
import { startPastSumsSweeper, startSumming } from "../city/history/sums.ts";
import { systemsAtWork } from "../city/systems/service.ts";
import type { Config } from "../config.ts";
import { createSequencer } from "../events/sequencer.ts";
import { exportsDirectory } from "../feeds/exports/service.ts";
import { reportsDirectory, spoolDirectory } from "../feeds/report-files.ts";
import type { Conditions, WorkOptions } from "../health/conditions/conditions.ts";
import type { Metrics } from "../health/metrics/metrics.ts";
import type { Tracer } from "../health/tracing/tracer.ts";
import { startIdempotencySweeper } from "../http/idempotency/service.ts";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";
import { createMailer } from "../outbound/mail/mailer.ts";
import { startUsageSweeper } from "../partners/request-log/service.ts";
import { startEmptyingSandboxes, startSandboxRides } from "../sandbox/riding.ts";
import type { Database } from "../storage/db/database.ts";
import { openListener } from "../storage/db/listener.ts";
import { startPartitionKeeper } from "../storage/partitions/service.ts";
import { type AllSecrets, secretsPath } from "../storage/secrets/secrets.ts";
import { startTableCare } from "../storage/table-care/service.ts";
import { readVersion } from "../version.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import { startStationNotices } from "../webhooks/notices.ts";
import { startThresholds } from "../webhooks/thresholds.ts";
import { startWebhookWorker, type WebhookSettings } from "../webhooks/worker.ts";

/*
 * Starts the background work of a process. Each piece reports its failures and runs as a condition with a name
 * (health/conditions). `quietMs` is how long after its last failure it counts as recovered.
 */

/** Background work of a process. Any number of processes may do the same. */
interface Work {
  /** Starts no more runs. Resolves when the current run has ended. */
  close(): Promise<void>;
}

interface WorkersOptions {
  readonly db: Database;
  readonly config: Config;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
  readonly logger: Logger;
  readonly secrets: AllSecrets;
  readonly conditions: Conditions;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
}

/**
 * Starts the sweep of overdue reservations. Every process runs it, whatever its role, because readers must see that a bike
 * is free again even if no worker runs. A sweep that finds nothing reads only one index.
 */
export function startReservationSweeper({
  db,
  clock,
  ids,
  conditions,
}: Pick<WorkersOptions, "db" | "clock" | "ids" | "conditions">): Work {
  const reports = reportingTo(conditions)("sweeping overdue reservations");
  return startSweepingReservations({ db, clock, ids, systems: () => idsAtWork(db, clock), ...reports });
}

/** Starts the background work, such as events, webhooks, sums and clean-up, and follows a feed if one is configured. */
export async function startWorkers(options: WorkersOptions): Promise<Work> {
  const { db, clock, conditions } = options;
  const reporting = reportingTo(conditions);
  const works: Work[] = [
    startEventWork(options),
    startStationNotices({
      ...options,
      systems: () => idsAtWork(db, clock),
      ...reporting("notifying of changed stations"),
    }),
    startThresholds({
      ...options,
      systems: () => idsAtWork(db, clock),
      ...reporting("comparing stations with thresholds"),
    }),
    startPartitionKeeper({
      db,
      clock,
      warn: (detail, message) => options.logger.warn(detail, message),
      ...reporting("keeping partitions", { quietMs: 2 * 60_000 }),
    }),
    startTableCare({
      db,
      monotonic: () => performance.now(),
      ...reporting("keeping lists fast", { quietMs: 2 * 60_000 }),
    }),
    ...startSweepers(options),
    ...startAlertWork(options),
    ...startSums(options),
    startSandboxRides({ ...options, ...reporting("riding in sandboxes", { quietMs: 2 * 60_000 }) }),
    startEmptyingSandboxes({ ...options, ...reporting("emptying sandboxes", { quietMs: 2 * 3_600_000 }) }),
  ];
  /** Work that is closed before the rest, because it uses the rest. */
  const closedFirst: Work[] = [];
  const close = async () => {
    await Promise.all(closedFirst.map((work) => work.close()));
    await Promise.all(works.map((work) => work.close()));
  };
  try {
    for (const start of [followFeed, startBackups, startExports, startUploads]) {
      const work = await start(options);
      if (work !== undefined) closedFirst.push(work);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

/** Ends alerts whose times are over, and deletes old ones. */
function startAlertWork({ db, clock, ids, conditions }: WorkersOptions): Work[] {
  const systems = () => idsAtWork(db, clock);
  const reporting = reportingTo(conditions);
  return [
    startAlertSweeper({ db, clock, ids, systems, ...reporting("ending alerts") }),
    startPastAlertsSweeper({ db, clock, systems, ...reporting("deleting old alerts", { quietMs: 15 * 60_000 }) }),
  ];
}

/** Keeps the sums of rides, stations and the fleet over time, and deletes old ones. */
function startSums({ db, clock, conditions }: WorkersOptions): Work[] {
  const systems = () => idsAtWork(db, clock);
  const reporting = reportingTo(conditions);
  const monotonic = () => performance.now();
  return [
    startSumming({ db, clock, monotonic, systems, ...reporting("summing history", { quietMs: 5 * 60_000 }) }),
    startPastSumsSweeper({ db, clock, systems, ...reporting("deleting old sums", { quietMs: 2 * 3_600_000 }) }),
  ];
}

/** Starts the sweepers that delete rows of no more use, and the one that begins missing vehicle logs. */
function startSweepers({ db, clock, ids, conditions }: WorkersOptions): Work[] {
  const reporting = reportingTo(conditions);
  return [
    startIdempotencySweeper({
      db,
      clock,
      systems: () => idsAtWork(db, clock),
      ...reporting("deleting old answers", { quietMs: 15 * 60_000 }),
    }),
    startRemovedBikesSweeper({
      db,
      clock,
      systems: () => idsAtWork(db, clock),
      ...reporting("deleting old removed bikes", { quietMs: 15 * 60_000 }),
    }),
    startPublicIdSweeper({
      db,
      clock,
      systems: () => idsAtWork(db, clock),
      ...reporting("deleting retired public ids", { quietMs: 5 * 60_000 }),
    }),
    startUsageSweeper({
      db,
      clock,
      systems: () => idsAtWork(db, clock),
      ...reporting("deleting old usage of keys", { quietMs: 15 * 60_000 }),
    }),
    startVehicleLogSweeper({
      db,
      clock,
      ids,
      systems: () => idsAtWork(db, clock),
      ...reporting("beginning vehicle logs", { quietMs: 5 * 60_000 }),
    }),
  ];
}

/** Numbers events and sends webhooks. Both are woken by the database's notifications of new events. */
function startEventWork(options: WorkersOptions): Work {
  const { db, clock, ids, logger, conditions, config, secrets, metrics, tracer } = options;
  const sequencer = createSequencer({ db, clock, ...reportingTo(conditions)("numbering events") });
  const webhooks = webhookSettings(config, secrets, metrics);
  const dispatcher = startWebhookWorker({ db, clock, ids, logger, ...webhooks, conditions, tracer });
  const listener = openListener({
    connectionString: db.connectionString,
    notifier: db,
    on: {
      event_outbox: (systemId) => {
        sequencer.wake(systemId);
        dispatcher.wake(systemId);
      },
      webhook_endpoints: (systemId) => dispatcher.reload(systemId),
    },
    // Missed notifications do not matter, because the sequencer and the dispatcher also poll: for events every second, for
    // changes of endpoints every 15 s.
    onGap: () => undefined,
  });
  return {
    close: async () => {
      await listener.close();
      await Promise.all([dispatcher.close(), sequencer.close()]);
    },
  };
}

function webhookSettings(config: Config, secrets: AllSecrets, metrics: Metrics): WebhookSettings {
  const { mail } = config;
  return {
    rules: config.webhooks,
    cipher: createSecretCipher(() => secrets.webhookKeys),
    metrics,
    mailer: mail && createMailer(mail.smtpUrl, { from: mail.from }),
    version: readVersion(),
    publicUrl: config.publicUrl,
  };
}

/** Follows the configured feed, if there is one. It belongs to the only system: if there are several, the start fails. */
async function followFeed(options: WorkersOptions): Promise<Work | undefined> {
  const { db, config, clock, ids, logger, conditions } = options;
  if (config.gbfsSync === undefined) return undefined;
  const { url, intervalMs } = config.gbfsSync;
  const systemId = await options.resolveSystem(db, undefined);
  // Imported only here, because most services follow no feed and need no HTTP client for it.
  const { logPolls, startFollowing } = await import("../feeds/gbfs/follow.ts");
  const source = "gbfs";
  const log = logPolls(logger, conditions, { system: systemId, source });
  const reportDirectory = reportsDirectory(config);
  const { watch } = conditions.of("following the feed");
  const { gbfsStaleAfterMs: staleAfterMs, stationStaleAfterMs } = config;
  const polling = { url, intervalMs, staleAfterMs, stationStaleAfterMs, reportDirectory };
  return startFollowing({ db, clock, ids, systemId, source, log, watch, ...polling });
}

/** Makes the export files (open data) that people and schedules request. */
async function startExports({ db, config, clock, ids, logger, conditions }: WorkersOptions): Promise<Work> {
  // Imported only here, so that a process without background work starts faster.
  const { startExportWork } = await import("../feeds/exports/work.ts");
  return startExportWork({
    db,
    clock,
    ids,
    systems: () => idsAtWork(db, clock),
    directory: exportsDirectory(config),
    version: readVersion(),
    onMade: (system, { file_name: file, rows, bytes }) => logger.info({ system, file, rows, bytes }, "made an export"),
    ...reportingTo(conditions)("making exports", { quietMs: 5 * 60_000 }),
  });
}

/** Checks and imports the trip files that people upload in the dashboard. */
async function startUploads({ db, config, clock, ids, conditions }: WorkersOptions): Promise<Work> {
  // Imported only here, so that a process without background work starts faster.
  const { startUploadWork } = await import("../feeds/uploads/work.ts");
  return startUploadWork({
    db,
    clock,
    ids,
    systems: () => idsAtWork(db, clock),
    spoolDirectory: spoolDirectory(config),
    reportsDirectory: reportsDirectory(config),
    ...reportingTo(conditions)("importing files", { quietMs: 5 * 60_000 }),
  });
}

/** Makes scheduled backups if a directory for them is configured. */
async function startBackups({ db, config, clock, logger, conditions }: WorkersOptions): Promise<Work | undefined> {
  if (config.backups === undefined) return undefined;
  const { startScheduledBackups } = await import("../storage/backup/schedule.ts");
  return startScheduledBackups({
    ...config.backups,
    connectionString: db.connectionString,
    secretsPath: secretsPath(config),
    version: readVersion(),
    clock,
    onBackup: (path, { bytes, rows }) => logger.info({ path, bytes, rows }, "made a backup, and read it back"),
    ...reportingTo(conditions)("making a backup", { quietMs: 5 * 60_000 }),
  });
}

/** Returns the ids of the systems that background work is for: those of the operator, and the sandboxes in use. */
async function idsAtWork(db: Database, clock: () => number): Promise<string[]> {
  return (await systemsAtWork(db, clock())).map(({ systemId }) => systemId);
}

/**
 * Returns a function that gives a piece of background work, by its name, what it reports to: its failures to `onError`, and
 * how its runs go to `watch`. Both lead to the condition of that name.
 */
function reportingTo(conditions: Conditions) {
  return (work: string, options?: WorkOptions) => {
    const { failed, watch } = conditions.of(work, options);
    const onError = (error: unknown, systemId?: string) =>
      failed(error, systemId === undefined ? undefined : { systemId });
    return { onError, watch };
  };
}

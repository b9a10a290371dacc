import type { Database } from "./db/database.ts";
import { openListener } from "./db/listener.ts";
import { createSequencer } from "./events/sequencer.ts";
import { startIdempotencySweeper } from "./idempotency/service.ts";
import type { Ids } from "./ids.ts";
import { startPartitionKeeper } from "./partitions/keeper.ts";
import { createReservationSweeper } from "./reservations/sweeper.ts";
import { systemsOf } from "./systems/service.ts";
import { startStationNotices } from "./webhooks/notices.ts";
import { startWebhookWorker, type WebhookSettings } from "./webhooks/worker.ts";

/** The work that goes on beside requests. Any number of processes may do it. */
export interface Workers {
  /** Begins nothing more; resolves when what is under way has ended. */
  close(): Promise<void>;
}

export interface WorkersOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly logger: { warn(detail: object, message: string): void };
  readonly webhooks: WebhookSettings;
}

/** Starts numbering events, sending webhooks, sweeping lapsed reservations and old answers, telling of changed stations, and keeping partitions. */
export function startWorkers({ db, clock, ids, logger, webhooks }: WorkersOptions): Workers {
  const onError = (work: string) => (error: unknown) => logger.warn({ err: error }, `${work} failed; tried again soon`);
  const sequencer = createSequencer({ db, clock, onError: onError("numbering events") });
  const dispatcher = startWebhookWorker({ db, clock, ids, logger, ...webhooks });
  const listener = openListener({
    connectionString: db.connectionString,
    on: {
      new_events: (systemId) => {
        sequencer.wake(systemId);
        dispatcher.wake(systemId);
      },
      webhook_endpoints: (systemId) => dispatcher.reload(systemId),
    },
    // Both look by themselves every second.
    onGap: () => undefined,
  });
  const partitions = startPartitionKeeper({
    db,
    clock,
    warn: (detail, message) => logger.warn(detail, message),
    onError: onError("keeping partitions"),
  });
  const systems = async () => (await systemsOf(db)).map((system) => system.system_id);
  const reservations = createReservationSweeper({ db, clock, ids, systems, log: logger });
  const stations = startStationNotices({ db, clock, ids, systems, onError: onError("telling of changed stations") });
  const answers = startIdempotencySweeper({ db, clock, onError: onError("forgetting old answers") });
  return {
    close: async () => {
      await listener.close();
      await Promise.all([
        dispatcher.close(),
        sequencer.close(),
        partitions.close(),
        reservations.close(),
        stations.close(),
        answers.close(),
      ]);
    },
  };
}

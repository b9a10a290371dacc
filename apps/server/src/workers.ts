import type { Conditions, WorkOptions } from "./conditions/lasting-conditions.ts";
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
  /** Hears of what goes wrong for longer. */
  readonly conditions: Conditions;
}

/**
 * Starts sweeping lapsed reservations. Every process does, whatever its role: that a bike is free again is for readers,
 * and must not hang on a worker being there. A sweep that finds nothing is one look at an index.
 */
export function startReservationSweeper({
  db,
  clock,
  ids,
  conditions,
}: Pick<WorkersOptions, "db" | "clock" | "ids" | "conditions">): Workers {
  const onError = reportingTo(conditions)("sweeping lapsed reservations");
  return createReservationSweeper({ db, clock, ids, systems: () => systemIds(db), onError });
}

/** Starts numbering events, sending webhooks, sweeping old answers, telling of changed stations, and keeping partitions. */
export function startWorkers({ db, clock, ids, logger, webhooks, conditions }: WorkersOptions): Workers {
  const reporting = reportingTo(conditions);
  const sequencer = createSequencer({ db, clock, onError: reporting("numbering events") });
  const dispatcher = startWebhookWorker({ db, clock, ids, logger, ...webhooks, conditions });
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
    // Both look by themselves every second.
    onGap: () => undefined,
  });
  const partitions = startPartitionKeeper({
    db,
    clock,
    warn: (detail, message) => logger.warn(detail, message),
    onError: reporting("keeping partitions", { quietMs: 2 * 60_000 }),
  });
  const systems = () => systemIds(db);
  const stations = startStationNotices({ db, clock, ids, systems, onError: reporting("telling of changed stations") });
  const answers = startIdempotencySweeper({
    db,
    clock,
    onError: reporting("forgetting old answers", { quietMs: 15 * 60_000 }),
  });
  const working = [dispatcher, sequencer, partitions, stations, answers];
  return {
    close: async () => {
      await listener.close();
      await Promise.all(working.map((work) => work.close()));
    },
  };
}

async function systemIds(db: Database): Promise<string[]> {
  return (await systemsOf(db)).map((system) => system.system_id);
}

/** Has the failures of a work reported. */
function reportingTo(conditions: Conditions) {
  return (work: string, options?: WorkOptions) => {
    const condition = conditions.of(work, options);
    return (error: unknown, systemId?: string) =>
      condition.failed(error, systemId === undefined ? undefined : { systemId });
  };
}

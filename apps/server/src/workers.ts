import type { Database } from "./db/database.ts";
import { openListener } from "./db/listener.ts";
import { startPartitionKeeper } from "./events/partitions.ts";
import { createSequencer } from "./events/sequencer.ts";
import { startIdempotencySweeper } from "./idempotency/service.ts";
import type { Ids } from "./ids.ts";
import { createReservationSweeper } from "./reservations/sweeper.ts";
import { systemsOf } from "./systems/service.ts";

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
}

/** Starts numbering events, sweeping lapsed reservations and old answers, and keeping the partitions of events. */
export function startWorkers({ db, clock, ids, logger }: WorkersOptions): Workers {
  const onError = (work: string) => (error: unknown) => logger.warn({ err: error }, `${work} failed; tried again soon`);
  const sequencer = createSequencer({ db, clock, onError: onError("numbering events") });
  const listener = openListener({
    connectionString: db.connectionString,
    on: { new_events: (systemId) => sequencer.wake(systemId) },
    // The sequencer looks by itself every second.
    onGap: () => undefined,
  });
  const partitions = startPartitionKeeper({ db, clock, onError: onError("keeping partitions") });
  const reservations = createReservationSweeper({
    db,
    clock,
    ids,
    systems: async () => (await systemsOf(db)).map((system) => system.system_id),
    log: logger,
  });
  const answers = startIdempotencySweeper({ db, clock, onError: onError("forgetting old answers") });
  return {
    close: async () => {
      await listener.close();
      await Promise.all([sequencer.close(), partitions.close(), reservations.close(), answers.close()]);
    },
  };
}

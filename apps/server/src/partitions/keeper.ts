import { type PeriodicWork, startPeriodic } from "../background/periodic.ts";
import { type DailyTable, dailyTables, dayOf } from "./partition.rules.ts";
import {
  createPartitions,
  createPartitionsBesideDefault,
  dropPastDays,
  emptyDefault,
  type PartitionContext,
} from "./service.ts";

/** Time between two runs. Longer than a day, and midnight would find no partition. */
const INTERVAL_MS = 60_000;

export interface PartitionKeeperOptions extends PartitionContext {
  /** The partitions of a table could not be maintained; the others were, and it is tried again with the next run. */
  readonly onError: (error: unknown) => void;
}

/** Keeps the partitions of every table by day in order: at once, and every minute. Any number of processes may. */
export function startPartitionKeeper(options: PartitionKeeperOptions): PeriodicWork {
  const { db, clock, warn, onError } = options;
  // Days in default partitions that were reported: `webhook_bodies 2026-01-31`.
  const reported = new Set<string>();
  let isClosed = false;

  const make = async (table: DailyTable, today: string) => {
    if (!table.hasDefault) return createPartitions(db, table, today);
    for (const day of await createPartitionsBesideDefault(db, table, today)) {
      const name = `${table.name} ${day}`;
      if (reported.has(name)) continue;
      reported.add(name);
      warn({ table: table.name, day }, "the day stays in the default partition, which has rows of it");
    }
  };
  const keepAll = async () => {
    const today = dayOf(clock());
    // First what will be needed, for every table: dropping can wait.
    for (const table of dailyTables) await make(table, today).catch(onError);
    for (const table of dailyTables) {
      if (isClosed) return;
      await dropPastDays(options, table).catch(onError);
      if (table.hasDefault) await emptyDefault(options, table).catch(onError);
    }
  };
  const keeping = startPeriodic({ intervalMs: INTERVAL_MS, work: keepAll, onError, immediately: true });
  return {
    runOnce: () => keeping.runOnce(),
    close() {
      isClosed = true;
      return keeping.close();
    },
  };
}

import { type DailyTable, dailyTables, dayOf } from "./partition.rules.ts";
import {
  createPartitions,
  createPartitionsBesideDefault,
  dropPastDays,
  emptyDefault,
  type PartitionContext,
} from "./service.ts";

/** Milliseconds between two passes. Longer than a day, and midnight would find no partition. */
const INTERVAL_MS = 60_000;

/** Partitions that are kept in order until closed. */
export interface PartitionKeeper {
  /** Runs now, after the current pass: creates what will be needed, drops what is past. */
  runOnce(): Promise<void>;
  close(): Promise<void>;
}

export interface PartitionKeeperOptions extends PartitionContext {
  /** A table failed; the others were kept, and it is tried again with the next pass. */
  readonly onError: (error: unknown) => void;
}

/** Keeps the partitions of every table by day in order: at once, and every minute. Any number of processes may. */
export function startPartitionKeeper(options: PartitionKeeperOptions): PartitionKeeper {
  const { db, clock, warn, onError } = options;
  // Days in default partitions that were logged: `webhook_bodies 2026-01-31`.
  const logged = new Set<string>();
  let isClosed = false;

  const make = async (table: DailyTable, today: string) => {
    if (!table.hasDefault) return createPartitions(db, table, today);
    for (const day of await createPartitionsBesideDefault(db, table, today)) {
      const name = `${table.name} ${day}`;
      if (logged.has(name)) continue;
      logged.add(name);
      warn({ table: table.name, day }, "the day stays in the default partition, which has rows of it");
    }
  };
  const keepAll = async () => {
    const today = dayOf(clock());
    // What will be needed first, for every table: dropping can wait.
    for (const table of dailyTables) await make(table, today).catch(onError);
    for (const table of dailyTables) {
      if (isClosed) return;
      await dropPastDays(options, table).catch(onError);
      if (table.hasDefault) await emptyDefault(options, table).catch(onError);
    }
  };
  let current = keepAll().catch(onError);
  const runOnce = () => (current = current.then(keepAll).catch(onError));
  const timer = setInterval(() => void runOnce(), INTERVAL_MS);
  return {
    runOnce,
    close: () => {
      isClosed = true;
      clearInterval(timer);
      return current;
    },
  };
}

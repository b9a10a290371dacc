import type { Database } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import { systemsOf } from "../systems/service.ts";
import {
  deleteDayCounts,
  dropPartition,
  insertPartition,
  lockPartitions,
  readPartitions,
} from "./partition-queries.ts";
import { dayOf, daysAhead, daysPast, daysWithout } from "./partition.ts";

export interface PartitionContext {
  readonly db: Database;
  readonly clock: () => number;
}

/** Milliseconds that readers may have to wait for the dropping of a day. Lower fails on a busy machine, again and again. */
const DROP_PATIENCE = 100;
/** Milliseconds between two looks. Longer than a day and midnight would find no partition. */
const LOOK = 60_000;

/** Makes the partitions for a day and the one after it, where they are missing. Any number of processes may. */
export async function makePartitions(db: Database, today: string): Promise<void> {
  const days = daysAhead(today);
  if (daysWithout(await readPartitions(db), days).length === 0) return;
  await db.transaction(async (tx) => {
    await lockPartitions(tx);
    // Asked again: another process may have made them before the lock was ours.
    for (const day of daysWithout(await readPartitions(tx), days)) await insertPartition(tx, day);
  });
}

/** Drops the days whose events are no longer kept, with their counts. A day that is in use is left for the next time. */
export async function dropPastDays({ db, clock }: PartitionContext): Promise<void> {
  const past = daysPast(await readPartitions(db), dayOf(clock()));
  if (past.length === 0) return;
  const systems = await systemsOf(db);
  for (const day of past) {
    try {
      await db.transaction(async (tx) => {
        for (const system of systems) await deleteDayCounts(tx, system.system_id, day);
        await dropPartition(tx, day, DROP_PATIENCE);
      });
    } catch (error) {
      if (codeOf(error) !== sqlState.lockNotAvailable) throw error;
    }
  }
}

/** Partitions that are kept in order until closed. */
export interface PartitionKeeper {
  close(): Promise<void>;
}

/** Keeps the partitions of events in order: at once, and every minute. */
export function startPartitionKeeper(
  context: PartitionContext & { readonly onError: (error: unknown) => void },
): PartitionKeeper {
  let current = Promise.resolve();
  const look = () => {
    current = current.then(() => keepPartitions(context)).catch(context.onError);
  };
  look();
  const timer = setInterval(look, LOOK);
  return {
    close: () => {
      clearInterval(timer);
      return current;
    },
  };
}

/** One look: makes what will be needed, drops what is past. */
export async function keepPartitions(context: PartitionContext): Promise<void> {
  await makePartitions(context.db, dayOf(context.clock()));
  await dropPastDays(context);
}

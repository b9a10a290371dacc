import { everySystemOf } from "../../city/systems/service.ts";
import { type PeriodicWork, startPeriodic } from "../background/periodic.ts";
import type { WorkWatch } from "../background/work-watch.ts";
import type { AuditLogOwner } from "../db/connections.ts";
import type { Database, Queryable, Transaction } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import { findIsProtected, LENDING, PROTECTION } from "./audit-owner-queries.ts";
import {
  deletePartition,
  deleteRowsOfDay,
  deleteSomePastRows,
  deleteSomeRowsOfDay,
  findFirstDay,
  findHasOwnFunctions,
  findHasRows,
  insertPartition,
  listPartitions,
  lockDefault,
  lockPartitions,
  updateLockTimeout,
  updateStatementTimeout,
} from "./partition-queries.ts";
import {
  type DailyTable,
  dailyTables,
  type DayColumn,
  dayOf,
  dayOfPartition,
  daysAhead,
  daysPast,
  daysWithout,
  defaultOf,
  endOf,
  firstDayOf,
  hasYesterday,
  oldestKept,
} from "./partition.rules.ts";

/*
 * Maintains the partitions of the daily tables, which are partitioned by day or month. Creates the partitions for today and
 * tomorrow, and drops those whose rows are no longer kept. Rows of a day without a partition go into a table's default
 * partition, if it has one.
 */

interface PartitionContext {
  readonly db: Database;
  readonly clock: () => number;
  /** Logs warnings for the operator. */
  readonly warn: (detail: object, message: string) => void;
}

/**
 * Milliseconds that this process waits for a lock. Other statements wait behind it meanwhile. Too low: fails again and again
 * on a busy machine.
 */
const LOCK_TIMEOUT_MS = 100;
/** Milliseconds for which a new partition may block writes to the default one. Too low: fails on a busy machine. */
const ATTACH_TIMEOUT_MS = 1_000;
/** Rows deleted in one statement. Too low: takes more statements. Too high: holds their locks for longer. */
const BATCH_ROWS = 1000;
/** Limits the consecutive batches. Too high: a table full of old rows delays the next run for minutes. */
const MAX_BATCHES = 100;
/** Milliseconds between two runs. Too high (more than a day): the new day's partition is missing at midnight. */
const INTERVAL_MS = 60_000;

interface PartitionKeeperOptions extends PartitionContext {
  /** The partitions of one table could not be maintained. The other tables were; the next run tries this one again. */
  readonly onError: (error: unknown) => void;
  readonly watch?: WorkWatch | undefined;
}

const WAITS_A_DAY = "yesterday has no partition: the clock may have jumped, so past days are kept for another day";

/**
 * Creates and drops partitions of all daily tables, now and every minute. Any number of processes may do so. Drops nothing
 * on a day after one without a partition: a clock that jumps ahead would otherwise make it drop all rows at once.
 */
export function startPartitionKeeper(options: PartitionKeeperOptions): PeriodicWork {
  const { db, clock, warn, onError, watch } = options;
  // What was reported already, by table and day: each is logged once.
  const reported = new Set<string>();
  const reportOnce = (table: DailyTable, day: string, message: string) => {
    const name = `${message} ${table.name} ${day}`;
    if (reported.has(name)) return;
    reported.add(name);
    warn({ table: table.name, day }, message);
  };
  let isClosed = false;

  const create = async (table: DailyTable, today: string) => {
    if (!table.hasDefault) return createPartitions(db, table, today);
    for (const day of await createPartitionsBesideDefault(db, table, today))
      reportOnce(table, day, "the day stays in the default partition, which has rows of it");
  };
  const drop = async (table: DailyTable, today: string) => {
    const partitions = await listPartitions(db, table);
    if (!hasYesterday(table, partitions, today)) {
      if (daysPast(table, partitions, today).length > 0) reportOnce(table, today, WAITS_A_DAY);
      return;
    }
    await dropPastDays(options, table);
    if (table.hasDefault) await emptyDefault(options, table);
  };
  const keepAll = async () => {
    const today = dayOf(clock());
    // Creates partitions of every table first: dropping can wait.
    for (const table of dailyTables) await create(table, today).catch(onError);
    for (const table of dailyTables) {
      if (isClosed) return;
      await drop(table, today).catch(onError);
    }
  };
  const keeping = startPeriodic({ intervalMs: INTERVAL_MS, work: keepAll, onError, immediately: true, watch });
  return {
    runOnce: () => keeping.runOnce(),
    close() {
      isClosed = true;
      return keeping.close();
    },
  };
}

/**
 * Creates the partitions that a process needs before it writes its first row. Without them the row would be refused, or go
 * into a default partition, and then all later rows of that day would have to go there, too.
 */
export async function createFirstPartitions(db: Database, clock: () => number): Promise<void> {
  const today = dayOf(clock());
  for (const table of dailyTables)
    await (table.hasDefault ? createPartitionsBesideDefault(db, table, today) : createPartitions(db, table, today));
}

/** Creates a table's missing partitions for today and tomorrow. Any number of processes may do so. */
export async function createPartitions(db: Queryable, table: DailyTable, today: string): Promise<void> {
  const days = daysAhead(today);
  if (daysWithout(table, await listPartitions(db, table), days).length === 0) return;
  // `createPartitionsOf` lists the partitions again: another process may have created some before this one gets the lock.
  await db.transaction((tx) => createPartitionsOf(tx, table, days));
}

/** Tells whether a day has rows in the default partition already, so that it cannot get a partition of its own. */
export async function staysInDefault(db: Queryable, table: DailyTable, day: string): Promise<boolean> {
  return table.hasDefault && (await hasRowsInDefault(db, table, firstDayOf(table, day)));
}

/** Returns the first day of each partition of a table. */
export async function partitionedDays(db: Queryable, table: DailyTable): Promise<string[]> {
  return (await listPartitions(db, table)).flatMap((name) => dayOfPartition(table, name) ?? []);
}

/** Creates the missing partitions for `days`. The table's default partition, if it has one, must be empty. */
export async function createPartitionsOf(tx: Transaction, table: DailyTable, days: readonly string[]): Promise<void> {
  await lockPartitions(tx, table);
  for (const day of daysWithout(table, await listPartitions(tx, table), days)) await insertPartition(tx, table, day);
}

/**
 * Creates the missing partitions for today and tomorrow, of a table whose default partition may have rows. If the table is
 * in use, leaves a partition to the next call. Skips a day that has rows in the default partition: its rows stay there until
 * they are no longer kept.
 * @returns the days that stay in the default partition
 */
export async function createPartitionsBesideDefault(
  db: Queryable,
  table: DailyTable,
  today: string,
): Promise<string[]> {
  const days = daysWithout(table, await listPartitions(db, table), daysAhead(today));
  const stay: string[] = [];
  for (const day of days) {
    const result = await unlessInUse(async () => {
      if (await hasRowsInDefault(db, table, day)) return "stays in default";
      return db.transaction((tx) => attachBesideDefault(tx, table, day));
    });
    if (result === "stays in default") stay.push(day);
  }
  return stay;
}

/** Creates the partition of a day in a table with a default partition, unless that has rows of the day. */
async function attachBesideDefault(
  tx: Transaction,
  table: DailyTable,
  day: string,
): Promise<"exists" | "stays in default"> {
  await updateLockTimeout(tx, LOCK_TIMEOUT_MS);
  await updateStatementTimeout(tx, ATTACH_TIMEOUT_MS);
  await lockPartitions(tx, table);
  if (daysWithout(table, await listPartitions(tx, table), [day]).length === 0) return "exists";
  await lockDefault(tx, table);
  // Searches for rows again, now that the lock blocks writes.
  if (await hasRowsInDefault(tx, table, day)) return "stays in default";
  await insertPartition(tx, table, day);
  return "exists";
}

/** Tells whether a table's default partition has rows of the days from `day` to the end of that day's partition. */
async function hasRowsInDefault(db: Queryable, table: DailyTable, day: string): Promise<boolean> {
  for (const system of await everySystemOf(db))
    if (await findHasRows(db, defaultColumnOf(table), system.system_id, day, endOf(table, day))) return true;
  return false;
}

/** Returns a table's default partition, and its column with a row's day. */
function defaultColumnOf(table: DailyTable): DayColumn {
  return { table: defaultOf(table), day: table.day };
}

/** Drops a table's partitions whose rows are no longer kept. Leaves a partition that is in use to the next call. */
export async function dropPastDays(context: PartitionContext, table: DailyTable): Promise<void> {
  const { db, clock } = context;
  const past = daysPast(table, await listPartitions(db, table), dayOf(clock()));
  if (past.length === 0) return;
  const systems = (await everySystemOf(db)).map((system) => system.system_id);
  for (const day of past) {
    await deleteLost(context, table, systems, day);
    await unlessInUse(() => db.transaction((tx) => dropDay(tx, table, systems, day)));
  }
}

/** Drops the partition that begins on a day, with the rows of other tables that belong to the day. */
async function dropDay(tx: Transaction, table: DailyTable, systems: readonly string[], day: string): Promise<void> {
  await updateLockTimeout(tx, LOCK_TIMEOUT_MS);
  await deletePartition(tx, table, day);
  // Delete the dependents of the day, including those inserted while this transaction waited for the lock.
  for (const dependent of table.dependents)
    for (const systemId of systems) await deleteRowsOfDay(tx, dependent, systemId, day);
}

/**
 * Deletes from a table's default partition, batch by batch, each system's rows of its earliest day beyond the retention
 * period.
 */
export async function emptyDefault(context: PartitionContext, table: DailyTable): Promise<void> {
  const { db, clock } = context;
  const oldest = oldestKept(dayOf(clock()), table.retentionDays);
  // If another role owns the audit log, only that role's function may delete rows.
  const byFunction = await findHasOwnFunctions(db, table);
  for (const { system_id: systemId } of await everySystemOf(db)) {
    const day = await findFirstDay(db, defaultColumnOf(table), systemId, oldest);
    // One day in each run is enough: only one more day passes each day.
    if (day === null) continue;
    await deleteLost(context, table, [systemId], day);
    await inBatches((limit) =>
      byFunction
        ? deleteSomePastRows(db, table, systemId, day, limit)
        : deleteSomeRowsOfDay(db, defaultColumnOf(table), systemId, day, limit),
    );
  }
}

/** Deletes rows that refer to a day and are lost with it (`Dependent.loss`), before the day itself, and logs how many. */
async function deleteLost(
  { db, warn }: PartitionContext,
  { name, dependents }: DailyTable,
  systems: readonly string[],
  day: string,
): Promise<void> {
  for (const dependent of dependents.filter(({ loss }) => loss !== undefined)) {
    for (const systemId of systems) {
      const n = await inBatches((limit) => deleteSomeRowsOfDay(db, dependent, systemId, day, limit));
      if (n > 0) warn({ systemId, table: name, day, n }, `the day is past, and with it ${dependent.loss}`);
    }
  }
}

/** Deletes batch by batch until no row is left, at most MAX_BATCHES times. @returns how many rows */
async function inBatches(deleteSome: (limit: number) => Promise<number>): Promise<number> {
  let deleted = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const n = await deleteSome(BATCH_ROWS);
    deleted += n;
    if (n < BATCH_ROWS) break;
  }
  return deleted;
}

/** Does work with a lock timeout. @returns "skipped" if the table was in use, or if another role owns the table */
async function unlessInUse<Result>(work: () => Promise<Result>): Promise<Result | "skipped"> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    // `queryCanceled`: a statement took too long, such as longer than `ATTACH_TIMEOUT_MS`.
    if (code === sqlState.lockNotAvailable || code === sqlState.queryCanceled) return "skipped";
    // The operator has given the audit log to another role, which then keeps its partitions.
    if (code === sqlState.insufficientPrivilege) return "skipped";
    throw error;
  }
}

/**
 * Protects the audit log in our own PostgreSQL from changes by the service's role. `lend` lets that role change the audit log
 * while migrations run.
 */
export const auditLogOwner: AuditLogOwner = {
  async protect(db, asSuperuser) {
    if (!(await findIsProtected(db))) await asSuperuser(PROTECTION);
  },
  lend: (asSuperuser) => asSuperuser(LENDING),
};

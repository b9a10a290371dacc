import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { closeWithin, connectionSettings, type Database } from "../database.ts";
import { codeOf, isRetryable, nameConnectionError, sqlState } from "../errors.ts";
import { statement } from "../statement.ts";
import { runStatement } from "../transaction.ts";
import {
  assertCompatible,
  findIncompatible,
  pendingMigrations,
  type RecordedMigration,
} from "./compatibility.rules.ts";
import { assertKnownSchema } from "./known-schema.ts";
import { lockWaitMs } from "./lock-wait.rules.ts";
import { type Migration, type Program, readProgram } from "./program.ts";
import {
  createMigrations,
  findDeadlockTimeout,
  findIndexState,
  findWhetherDistributed,
  insertProgress,
  listLockHolders,
  listRecordedMigrations,
  lockAsMigrator,
  type LockHolder,
  type Runner,
} from "./queries.ts";
import { BATCH_CONDITION, lockedTables, splitStatements, type Step } from "./schema-change.rules.ts";

/*
 * Applies the migrations that a program has (`Program`) and the database lacks. One process at a time does so, over a
 * separate connection. It records each step, so that the next process continues after a crash. It waits only briefly for
 * locks that block requests, because requests for the same tables queue up behind it.
 */

/** Options for applying one step of a migration (schema-change.rules.ts says what a step is). */
interface StepOptions {
  /** Writes to the log why a step, or the whole migration, waits. */
  readonly report?: (message: string) => void;
  /**
   * Limits how long a transaction of a step waits for a lock, and so how long later requests for the lock wait. Some
   * attempts wait longer for an autovacuum (`lockWaitMs`).
   */
  readonly lockTimeoutMs?: number;
  /** The most attempts of a step, or of each batch of a backfill, to get its locks. */
  readonly lockAttempts?: number;
  /** Rows of a batch. Too low: costs more transactions. Too high: locks their rows for longer. */
  readonly batchRows?: number;
}

/** Options for applying all pending migrations. */
export interface MigrateOptions extends StepOptions {
  /** The number of the last migration to apply; all when left out. */
  readonly last?: number | undefined;
  /** The program whose migrations are applied; this one by default. */
  readonly program?: Program;
}

/** Milliseconds between two attempts to become the one process that migrates. */
const WAIT_INTERVAL_MS = 200;
/** Milliseconds between two lines about waiting. */
const REPORT_INTERVAL_MS = 10_000;

/**
 * Brings the database's schema up to date, step by step. Applied steps stay: after a failure or a crash, the next call
 * continues with the step that was not completed. Safe when several processes start at once, and while others use the
 * database.
 * @throws UnknownSchemaError
 * @returns the file names of the migrations that this call completed
 */
export async function migrate(
  { connectionString }: Pick<Database, "connectionString">,
  options: MigrateOptions = {},
): Promise<string[]> {
  const program = options.program ?? (await readProgram());
  const session = await openMigrationSession(connectionString);
  try {
    const isMigrator = await becomeMigrator(session, program, options);
    return isMigrator ? await applyPending(session, program, options) : [];
  } finally {
    await session.close();
  }
}

/**
 * Tells whether a program can work on the present schema.
 * @throws UnknownSchemaError when the program's migrations cannot be applied to this schema
 */
export async function isMigrated(db: Runner, program?: Program): Promise<boolean> {
  const known = program ?? (await readProgram());
  const recorded = await listRecordedMigrations(db);
  if (pendingMigrations(known, recorded).length === 0) return findIncompatible(known, recorded) === undefined;
  await assertKnownSchema(db, known, recorded);
  return false;
}

/** Returns the numbers of the migrations that were applied or begun. */
export async function appliedMigrations(db: Runner): Promise<number[]> {
  return (await listRecordedMigrations(db)).map(({ number }) => number);
}

/** Returns the numbers of all migrations of this program. */
export async function knownMigrations(): Promise<number[]> {
  return (await readProgram()).migrations.map(({ number }) => number);
}

/**
 * Waits until no other process migrates. Polls, because a waiting statement would prevent the other process from building
 * an index.
 * @returns false when the other process has meanwhile applied everything that this program needs
 */
async function becomeMigrator(
  session: MigrationSession,
  program: Program,
  { last, report }: MigrateOptions,
): Promise<boolean> {
  for (let waits = 0; ; waits++) {
    if (await lockAsMigrator(session)) return true;
    if (last === undefined && (await isMigrated(session, program))) return false;
    if (waits % (REPORT_INTERVAL_MS / WAIT_INTERVAL_MS) === 0) report?.("waits for another process that migrates");
    await sleep(WAIT_INTERVAL_MS);
  }
}

/** Applies the migrations that the database lacks, up to `last`. @returns their file names */
async function applyPending(
  session: MigrationSession,
  program: Program,
  { last = Number.POSITIVE_INFINITY, ...options }: MigrateOptions,
): Promise<string[]> {
  const recorded = await listRecordedMigrations(session);
  assertCompatible(program, recorded);
  await assertKnownSchema(session, program, recorded);
  await session.run(createMigrations);
  const names: string[] = [];
  for (const migration of pendingMigrations(program, recorded)) {
    if (migration.number > last) continue;
    await apply(session, migration, recorded, options);
    names.push(migration.name);
  }
  return names;
}

/** Applies the steps of one migration that are not applied yet. */
async function apply(
  session: MigrationSession,
  migration: Migration,
  recorded: readonly RecordedMigration[],
  options: StepOptions,
): Promise<void> {
  const { name, number, steps } = migration;
  const begun = recorded.find((record) => record.number === number);
  const first = begun?.steps_done ?? 0;
  for (let index = first; index < steps.length; index++) {
    const where = steps.length === 1 ? name : `${name}, step ${index + 1} of ${steps.length}`;
    const report = (message: string) => options.report?.(`${where}: ${message}`);
    try {
      // Only the interrupted step continues at a recorded position; later steps begin at the first row.
      const position = index === first ? (begun?.position ?? null) : null;
      await runStep(session, migration, index, position, { ...options, report });
    } catch (error) {
      throw new Error(
        `Migration ${where} failed. What was applied before stays. Remove the cause and run \`bikeshare migrate\`, which goes on here.`,
        { cause: error },
      );
    }
  }
}

/**
 * How long an attempt waits for its locks. Too low: finds no gap between transactions. Too high: stalls other users
 * longer.
 */
const LOCK_TIMEOUT_MS = 200;
/**
 * Attempts that take five minutes with their pauses: longer than any of our transactions except imports and backups.
 */
const LOCK_ATTEMPTS = 65;
/** The pause after the first attempt to get a lock, which doubles with each attempt up to the maximum. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
const BATCH_ROWS = 1_000;

type Backfill = Extract<Step, { readonly kind: "backfill" }>;

/**
 * The position of a backfill, as it is recorded: the last system with finished rows, then the rest of the primary key of
 * the last finished row (`RowKey`). Only the system, once all rows of the system are done.
 */
type Position = readonly string[];

/**
 * Work of a step that takes locks. In a transaction it fails when it waits for a lock for longer than `lockTimeoutMs`;
 * outside of one it waits without a limit (`runAlone`).
 */
type LockingWork = (lockTimeoutMs: number) => Promise<void>;

/**
 * Applies a step of a migration and records it. A call after a crash continues the interrupted step.
 * @param position where an interrupted backfill continues; null: at the first row, or the step is no backfill
 */
async function runStep(
  session: MigrationSession,
  migration: Migration,
  index: number,
  position: Position | null,
  options: StepOptions,
): Promise<void> {
  const step = migration.steps[index];
  if (step === undefined) return;
  const retried = (work: LockingWork) => untilLocked(session, step, work, options);
  if (step.kind === "transaction") {
    await retried((lockTimeoutMs) =>
      session.transaction(lockTimeoutMs, async () => {
        await runTogether(session, step.sql);
        await insertProgress(session, migration, index + 1);
      }),
    );
    return;
  }
  // Records the migration as begun before the step runs, so that programs of the previous version learn of it.
  // Writes the position of an interrupted backfill again, because the record would otherwise lose it.
  await insertProgress(session, migration, index, position);
  if (step.kind === "autocommit") await retried(() => runAlone(session, step.sql));
  else {
    const record = (end: Position) => insertProgress(session, migration, index, end);
    await runBackfill(session, step, position, record, retried, options);
  }
  await insertProgress(session, migration, index + 1);
}

/** Runs statements in the open transaction: all at once, or one by one in a distributed database, which requires that. */
async function runTogether(session: MigrationSession, sql: string): Promise<void> {
  const statements = splitStatements(sql);
  if (statements.length < 2 || !(await findWhetherDistributed(session))) return session.run(sql);
  for (const { source } of statements) await session.run(source);
}

/**
 * Runs a statement outside of a transaction. Its locks do not block reads and writes, so it waits for them without a limit.
 * First drops the remains of an interrupted index build.
 */
async function runAlone(session: MigrationSession, sql: string): Promise<void> {
  const index = /\bcreate (?:unique )?index concurrently (?:if not exists )?(\w+)/i.exec(sql)?.[1];
  if (index !== undefined) {
    const state = await findIndexState(session, index);
    if (state === "valid") return;
    if (state === "invalid") await session.run(`drop index concurrently if exists ${index}`);
  }
  await session.run(sql);
}

/**
 * Runs a backfill, batch by batch.
 * @param record records the position after a batch, in the batch's transaction
 * @param retried repeats work until it gets its locks
 */
async function runBackfill(
  session: MigrationSession,
  backfill: Backfill,
  start: Position | null,
  record: (end: Position) => Promise<void>,
  retried: (work: LockingWork) => Promise<void>,
  { batchRows = BATCH_ROWS }: StepOptions,
): Promise<void> {
  let position = start;
  for (;;) {
    const startedAt = performance.now();
    const batch = await findBatch(session, backfill, position, batchRows);
    if (batch === undefined) return;
    await retried((lockTimeoutMs) =>
      session.transaction(lockTimeoutMs, async () => {
        await session.query(statement("", batch.sql), batch.values);
        await record(batch.end);
      }),
    );
    position = batch.end;
    // Pauses for as long as the batch took, but not for longer than 5 s, so that the backfill uses about half of the time.
    await sleep(Math.min(performance.now() - startedAt, MAX_PAUSE_MS));
  }
}

/** Repeats `work` with growing pauses while it does not get a lock, or fails as `isRetryable`, such as by a deadlock. */
async function untilLocked(
  session: MigrationSession,
  step: Step,
  work: LockingWork,
  { report, lockTimeoutMs = LOCK_TIMEOUT_MS, lockAttempts = LOCK_ATTEMPTS }: StepOptions,
): Promise<void> {
  let holders: readonly LockHolder[] = [];
  for (let attempt = 1; ; attempt++) {
    try {
      // `lockWaitMs` needs it only to wait for an autovacuum, so it is not queried before a first failure.
      const deadlockTimeoutMs = holders.length === 0 ? 0 : await findDeadlockTimeout(session);
      await work(lockWaitMs({ attempt, holders, lockTimeoutMs, deadlockTimeoutMs }));
      return;
    } catch (error) {
      if (codeOf(error) !== sqlState.lockNotAvailable && !isRetryable(error)) throw error;
      holders = await listLockHolders(session, lockedTables(step.sql));
      const described = describeHolders(holders);
      if (attempt >= lockAttempts) throw new Error(`A lock was not to be had: ${described}`, { cause: error });
      // Reports only attempts 1, 2, 4, 8, …, because the wait may be long.
      if (Number.isInteger(Math.log2(attempt))) report?.(`waits for a lock: ${described}`);
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS));
    }
  }
}

/** Describes who holds the locks that a step waits for. */
function describeHolders(holders: readonly LockHolder[]): string {
  if (holders.length === 0) return "whoever held it has ended by now";
  return holders
    .map(
      ({ pid, who, state, seconds, statement: text }) =>
        `process ${pid} of PostgreSQL (${who}, ${state ?? "unknown"}, for ${seconds ?? 0} s: ${text.replaceAll(/\s+/g, " ")})`,
    )
    .join("; ");
}

/** One batch of a backfill. */
interface Batch {
  readonly sql: string;
  readonly values: readonly string[];
  /** The position after the batch. */
  readonly end: Position;
}

/** The columns of a table's primary key after `system_id`. */
interface Key {
  readonly table: string;
  /** The columns, each with the table's name: `rides.id`. */
  readonly columns: readonly string[];
}

/** A row's values in the columns of `Key`. */
type RowKey = readonly string[];

/** The rows of one system that a backfill has not done yet. */
interface RemainingRows {
  readonly system: string;
  /** They follow the row with this key; undefined: no row of the system is done. */
  readonly afterKey: RowKey | undefined;
}

/**
 * Returns the next batch of a backfill; undefined at its end. Batches follow the primary key, one system after the other. A
 * batch has rows of one system only, which its statement names, because a distributed database keeps a system's rows on one
 * node.
 * @param position the end of the previous batch; null: no batch is done
 */
async function findBatch(
  db: Runner,
  backfill: Backfill,
  position: Position | null,
  batchRows: number,
): Promise<Batch | undefined> {
  const key = await findKey(db, backfill.table);
  const [lastSystem, ...afterKey] = position ?? [];
  // A position without a row's key means that all rows of the system are done: then the next system comes.
  if (lastSystem !== undefined && afterKey.length > 0) {
    const batch = await findBatchIn(db, backfill, key, { system: lastSystem, afterKey }, batchRows);
    if (batch !== undefined) return batch;
  }
  for (let system = await findSystem(db, lastSystem); system !== null; system = await findSystem(db, system)) {
    const batch = await findBatchIn(db, backfill, key, { system, afterKey: undefined }, batchRows);
    if (batch !== undefined) return batch;
  }
  return undefined;
}

/** Returns the next batch within a system; undefined if no row of the system remains. */
async function findBatchIn(
  db: Runner,
  { sql }: Backfill,
  key: Key,
  remaining: RemainingRows,
  batchRows: number,
): Promise<Batch | undefined> {
  if ((await findRow(db, key, remaining, 0)) === undefined) return undefined;
  // Undefined when fewer rows are left: then the batch contains all remaining rows of the system.
  const lastKey = await findRow(db, key, remaining, batchRows - 1);
  const values = valuesOf(remaining);
  // The values of `lastKey` follow `values` among the parameters.
  const upTo = lastKey === undefined ? "" : ` and ${comparison(key, "<=", values.length + 1)}`;
  return {
    sql: sql.replaceAll(BATCH_CONDITION, `(${conditionOn(remaining, key)}${upTo})`),
    values: [...values, ...(lastKey ?? [])],
    end: [remaining.system, ...(lastKey ?? [])],
  };
}

/** Returns the key of the first remaining row, after skipping `offset` rows; undefined if there are no more rows. */
async function findRow(db: Runner, key: Key, remaining: RemainingRows, offset: number): Promise<RowKey | undefined> {
  const { table, columns } = key;
  const text = `select array[${columns.map((column) => `${column}::text`).join(", ")}] as key from ${table}
    where ${conditionOn(remaining, key)} order by ${columns.join(", ")} offset ${offset} limit 1`;
  const [row] = await db.query<{ key: string[] }>(statement("", text), valuesOf(remaining));
  return row?.key;
}

/** Returns the condition on remaining rows. Its first parameters are `valuesOf` the rows. */
function conditionOn({ afterKey }: RemainingRows, key: Key): string {
  const inSystem = `${key.table}.system_id = $1`;
  return afterKey === undefined ? inSystem : `${inSystem} and ${comparison(key, ">", 2)}`;
}

/** Returns the values of the parameters of `conditionOn`. */
function valuesOf({ system, afterKey }: RemainingRows): readonly string[] {
  return [system, ...(afterKey ?? [])];
}

/** Returns SQL that compares a row's key with parameters. @param firstParameter the number of the first one */
function comparison({ columns }: Key, operator: string, firstParameter: number): string {
  const parameters = columns.map((_, index) => `$${firstParameter + index}`);
  return `(${columns.join(", ")}) ${operator} (${parameters.join(", ")})`;
}

/** Returns the id of the system that follows another one (undefined: of the first system); null: there is none. */
async function findSystem(db: Runner, after: string | undefined): Promise<string | null> {
  const next = statement("", "select min(system_id) as id from systems where system_id > $1");
  const [row] = await db.query<{ id: string | null }>(next, [after ?? ""]);
  return row?.id ?? null;
}

const keyColumns = statement(
  "",
  `select attname as name from pg_index i
     cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
   where i.indrelid = $1::text::regclass and i.indisprimary order by k.n`,
);

/** Returns the primary key of a table. @throws Error if it is not the system followed by other columns */
async function findKey(db: Runner, table: string): Promise<Key> {
  const [first, ...rest] = (await db.query<{ name: string }>(keyColumns, [table])).map(({ name }) => name);
  if (first !== "system_id" || rest.length === 0) {
    throw new Error(`A backfill needs a primary key of system_id and more; update ${table} in a transaction instead.`);
  }
  return { table, columns: rest.map((name) => `${table}.${name}`) };
}

/**
 * A separate connection whose statements have no time limit. PostgreSQL releases the migrator's lock when the connection
 * ends.
 */
interface MigrationSession extends Runner {
  /** Runs text that cannot be prepared: several statements, or one that must not run in a transaction. */
  run(text: string): Promise<void>;
  /** Runs `work` in a transaction whose statements wait for a lock for at most `lockTimeoutMs`. */
  transaction(lockTimeoutMs: number, work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * How often PostgreSQL checks during a statement whether this process still lives. Without the setting, which not every
 * operating system supports, PostgreSQL notices a dead process only when the statement ends, and the next migrator waits
 * until then.
 */
const CLIENT_CHECK = "set client_connection_check_interval = '2s'";

/** Connects to the database, to migrate it. */
async function openMigrationSession(connectionString: string): Promise<MigrationSession> {
  const client = new pg.Client({ ...connectionSettings(connectionString), statement_timeout: 0 });
  // Ignored here: the running statement, or the next one, fails with the same error.
  client.on("error", () => undefined);
  const run = async (text: string) => {
    await client.query(text).catch((error: unknown) => {
      throw nameConnectionError(error);
    });
  };
  await client.connect().catch((error: unknown) => {
    throw nameConnectionError(error);
  });
  await run(CLIENT_CHECK).catch(() => undefined);
  return {
    query: (query, values) => runStatement(client, query, values),
    run,
    async transaction(lockTimeoutMs, work) {
      await run(`begin; set local lock_timeout = ${lockTimeoutMs}`);
      try {
        await work();
        await run("commit");
      } catch (error) {
        // If this fails as well, the connection is gone, and PostgreSQL has rolled back by itself.
        await run("rollback").catch(() => undefined);
        throw error;
      }
    },
    close: () => closeWithin(client.end()),
  };
}

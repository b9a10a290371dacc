import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, isRetryable, sqlState } from "../errors.ts";
import { statement } from "../statement.ts";
import { type Backfill, findBatch, type Position } from "./backfill.ts";
import { lockWaitMs } from "./lock-wait.rules.ts";
import type { Migration } from "./program.ts";
import {
  findDeadlockTimeout,
  findIndexState,
  findWhetherDistributed,
  insertProgress,
  listLockHolders,
  type LockHolder,
} from "./queries.ts";
import { lockedTables } from "./schema-change.rules.ts";
import type { MigrationSession } from "./session.ts";
import { splitStatements } from "./sql-statements.rules.ts";
import type { Step } from "./steps.rules.ts";

/** What of applying migrations can be chosen. */
export interface StepOptions {
  /** What is worth a line of the log. */
  readonly report?: (message: string) => void;
  /** How long a step waits for a lock, and makes all those wait that want it after it. */
  readonly lockTimeoutMs?: number;
  /** Attempts to get a lock, of each step. */
  readonly lockAttempts?: number;
  /** Rows of a batch. More hold the locks on their rows for longer; fewer cost more transactions. */
  readonly batchRows?: number;
}

/** Shorter finds no gap between transactions; longer is a longer stall for whoever wants the table meanwhile. */
const LOCK_TIMEOUT_MS = 200;
/** With the pauses between them five minutes: longer than any transaction of ours but imports and backups. */
const LOCK_ATTEMPTS = 65;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
const BATCH_ROWS = 1_000;

/** Applies a step of a migration and records it. Repeated after a crash, it goes on where it was interrupted. */
export async function runStep(
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
  // Programs of the previous version learn of it before it begins.
  await insertProgress(session, migration, index, position);
  if (step.kind === "autocommit") await retried(() => runAlone(session, step.sql));
  else {
    const record = (end: Position) => insertProgress(session, migration, index, end);
    await runBackfill(session, step, position, record, retried, options);
  }
  await insertProgress(session, migration, index + 1);
}

/** Runs statements in the open transaction: at once, but for a distributed database, which takes one at a time. */
async function runTogether(session: MigrationSession, sql: string): Promise<void> {
  const statements = splitStatements(sql);
  if (statements.length < 2 || !(await findWhetherDistributed(session))) return session.run(sql);
  for (const { source } of statements) await session.run(source);
}

/**
 * Runs a statement in no transaction. Its locks make nobody wait, so it waits for them as long as it takes. What a crash
 * leaves of building an index is dropped first.
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
    // A pause as long as the batch took leaves half of the database to requests.
    await sleep(Math.min(performance.now() - startedAt, MAX_PAUSE_MS));
  }
}

type LockingWork = (lockTimeoutMs: number) => Promise<void>;

/** Repeats `work` with growing pauses while it does not get a lock, or loses a deadlock. */
async function untilLocked(
  session: MigrationSession,
  step: Step,
  work: LockingWork,
  { report, lockTimeoutMs = LOCK_TIMEOUT_MS, lockAttempts = LOCK_ATTEMPTS }: StepOptions,
): Promise<void> {
  let holders: readonly LockHolder[] = [];
  for (let attempt = 1; ; attempt++) {
    try {
      const deadlockTimeoutMs = holders.length === 0 ? 0 : await findDeadlockTimeout(session);
      await work(lockWaitMs({ attempt, holders, lockTimeoutMs, deadlockTimeoutMs }));
      return;
    } catch (error) {
      if (codeOf(error) !== sqlState.lockNotAvailable && !isRetryable(error)) throw error;
      holders = await listLockHolders(session, lockedTables(step.sql));
      const described = describeHolders(holders);
      if (attempt >= lockAttempts) throw new Error(`A lock was not to be had: ${described}`, { cause: error });
      // Attempt 1, 2, 4, 8, …: the wait may be long.
      if (Number.isInteger(Math.log2(attempt))) report?.(`waits for a lock: ${described}`);
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS));
    }
  }
}

function describeHolders(holders: readonly LockHolder[]): string {
  if (holders.length === 0) return "whoever held it has ended by now";
  return holders
    .map(
      ({ pid, who, state, seconds, statement: text }) =>
        `process ${pid} of PostgreSQL (${who}, ${state ?? "unknown"}, for ${seconds ?? 0} s: ${text.replaceAll(/\s+/g, " ")})`,
    )
    .join("; ");
}

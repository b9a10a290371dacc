import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database.ts";
import {
  assertCompatible,
  findIncompatible,
  pendingMigrations,
  type RecordedMigration,
} from "./compatibility.rules.ts";
import { assertKnownSchema } from "./known-schema.ts";
import { type Migration, type Program, readProgram } from "./program.ts";
import { createMigrations, listRecordedMigrations, lockAsMigrator, type Runner } from "./queries.ts";
import { runStep, type StepOptions } from "./run-step.ts";
import { type MigrationSession, openMigrationSession } from "./session.ts";

export interface MigrateOptions extends StepOptions {
  /** The number of the last migration to apply; all when left out. */
  readonly last?: number | undefined;
  /** Whose migrations; this program's when left out. */
  readonly program?: Program;
}

const WAIT_INTERVAL_MS = 200;
/** Between two lines about waiting. */
const REPORT_INTERVAL_MS = 10_000;

/**
 * Brings the database's schema up to date, step by step. What is applied stays: whoever calls it after a failure or a
 * crash goes on where it ended. Safe when several processes start at once, and while others use the database.
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
 * Whether a program can work on the schema as it is.
 * @throws UnknownSchemaError when its migrations cannot make it so
 */
export async function isMigrated(db: Runner, program?: Program): Promise<boolean> {
  const known = program ?? (await readProgram());
  const recorded = await listRecordedMigrations(db);
  if (pendingMigrations(known, recorded).length === 0) return findIncompatible(known, recorded) === undefined;
  await assertKnownSchema(db, known, recorded);
  return false;
}

/** The numbers of the migrations that the schema has seen. */
export async function appliedMigrations(db: Runner): Promise<number[]> {
  return (await listRecordedMigrations(db)).map(({ number }) => number);
}

/** The numbers of all migrations of this program. */
export async function knownMigrations(): Promise<number[]> {
  return (await readProgram()).migrations.map(({ number }) => number);
}

/**
 * Waits until no other process migrates. Asks again and again, because a statement that waits would keep the other's from
 * building an index.
 * @returns false when the other has done meanwhile what this program needs
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
      await runStep(session, migration, index, index === first ? (begun?.position ?? null) : null, {
        ...options,
        report,
      });
    } catch (error) {
      throw new Error(
        `Migration ${where} failed. What was applied before stays. Remove the cause and run \`bikeshare migrate\`, which goes on here.`,
        { cause: error },
      );
    }
  }
}

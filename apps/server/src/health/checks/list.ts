import { systemsOf } from "../../city/systems/service.ts";
import type { Config } from "../../config.ts";
import { START_REDIS } from "../../http/rate-limits/rate-limits.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { type Check, checked, type CheckName, type CheckResult, failure, isCheckName, ok } from "./check.ts";
import {
  checkBackgroundWork,
  checkCertificate,
  checkConnections,
  checkDatabaseSize,
  checkDataDirectory,
  checkLatestBackup,
  checkPartitions,
  checkRateLimit,
  checkRedisMemory,
  checkReplicas,
  checkTransactions,
} from "./machine-checks.ts";
import { type ProcessReports, reportedChecks } from "./stored-checks.ts";
import { type SystemCheckContext, systemCheckFinders } from "./system-checks.ts";

/* The checks of a machine, of a process, of PostgreSQL and of a system, and a function that runs them. */

/** The remedy when a statement of a check fails although the schema is known. */
export const FAILED_CHECK = "Look at the log of PostgreSQL.";

/** Returns the checks of a machine. @param of its name */
export function machineChecks(config: Config, clock: () => number, of = ""): Check[] {
  return [
    {
      name: "data directory",
      of,
      fix: "Create it, owned by the account of the service.",
      find: () => checkDataDirectory(config),
    },
    {
      name: "certificate",
      of,
      fix: "Correct TLS_CERT_FILE and TLS_KEY_FILE.",
      find: () => checkCertificate(config, clock()),
    },
    { name: "redis memory", of, fix: START_REDIS, find: () => checkRedisMemory(config) },
    {
      name: "latest backup",
      of,
      fix: "Correct BACKUP_DIR.",
      find: () => checkLatestBackup(config, clock()),
    },
  ];
}

/** The state of a process, which only the process itself knows. */
export interface ProcessState {
  readonly reports: ProcessReports;
  readonly conditions: { isOngoing(name: string): boolean; works(): readonly WorkStatus[] };
  /** Tells whether requests wait at present because the database is away. */
  readonly outages: { isHolding(): boolean };
}

/** Returns results about the process itself, from memory: they cost nothing. */
export function processResults({ reports, conditions, outages }: ProcessState): CheckResult[] {
  const reported = reports.list();
  return [
    outages.isHolding()
      ? failure("database away", "the database is away for a moment: requests wait for it", "Look at PostgreSQL.")
      : ok("database away", "it answers"),
    // The full disk is that of the database, so every process reports it. Reads still work.
    conditions.isOngoing("disk_full")
      ? failure("disk full", "the disk of the database is full: nothing can be stored", "Free space on it.")
      : ok("disk full", "there is room on the disk of the database"),
    ...reportedChecks.map((name) => reported.find(({ check }) => check === name) ?? ok(name, "well")),
    ...checkBackgroundWork(conditions.works()),
  ];
}

/** Returns the checks of a process. @param of the machine that it runs on */
export function processChecks(state: ProcessState, of: string): Check[] {
  const names = new Set(processResults(state).map(({ check }) => check));
  return [...names].filter(isCheckName).map((name) => ({
    name,
    of,
    fix: "Look at the log of the process.",
    find: () => Promise.resolve(processResults(state).filter(({ check }) => check === name)),
  }));
}

/** Returns the checks of PostgreSQL. */
export function databaseChecks(db: Database, config: Config, clock: () => number): Check[] {
  const check = (name: CheckName, find: Check["find"]): Check => ({ name, of: "", fix: FAILED_CHECK, find });
  return [
    check("database size", () => checkDatabaseSize(db, config)),
    check("connections in use", () => checkConnections(db)),
    check("long transactions", () => checkTransactions(db)),
    check("replicas", () => checkReplicas(db)),
    // The configuration permits processes that count separately.
    { ...check("rate limit", () => checkRateLimit(db, config)), isMailedOnce: true },
    check("partitions", () => checkPartitions(db, clock())),
  ];
}

/** Returns the checks of a system. */
export function systemChecks(context: SystemCheckContext, systemId: string): Check[] {
  return (Object.keys(systemCheckFinders) as (keyof typeof systemCheckFinders)[]).map((name) => ({
    name,
    of: systemId,
    fix: FAILED_CHECK,
    // What planners lose can wait until somebody has time.
    isMailedOnce: name === "planners",
    find: () => systemCheckFinders[name](context, systemId),
  }));
}

/** Returns the checks of all systems. */
export async function allSystemChecks(context: SystemCheckContext): Promise<Check[]> {
  return (await systemsOf(context.db)).flatMap(({ system_id: systemId }) => systemChecks(context, systemId));
}

/** A check with what it has found. */
export interface RunCheck {
  readonly check: Check;
  readonly results: readonly CheckResult[];
}

/** Runs checks one after the other. A check that throws has a failure as its result (`checked`). */
export async function runChecks(checks: readonly Check[]): Promise<RunCheck[]> {
  const run: RunCheck[] = [];
  for (const check of checks) run.push({ check, results: await checked(check.name, check.fix, check.find) });
  return run;
}

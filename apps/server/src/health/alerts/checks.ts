import type { Config } from "../../config.ts";
import { START_REDIS } from "../../http/rate-limits/redis-remedies.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import {
  checkConnections,
  checkDatabaseSize,
  checkEvents,
  checkFeeds,
  checkImports,
  checkLongRides,
  checkPartitions,
  checkRateLimit,
  checkReplicas,
  checkSetAside,
  checkTransactions,
  checkWebhooks,
  checkWorkers,
} from "./database-checks.ts";
import type { Finding } from "./finding.ts";
import {
  checkBackgroundWork,
  checkCertificate,
  checkDataDirectory,
  checkLatestBackup,
  checkRedis,
} from "./machine-checks.ts";

/** One thing that is looked at, by `doctor` and for alerts. */
export interface AlertCheck {
  /** As `doctor` prints it and a mail begins. */
  readonly name: string;
  /** What to do where it cannot even be looked at. */
  readonly fix: string;
  /** `machine`: what is found is true of the machine that looks; else of the whole deployment. */
  readonly scope: "machine" | "deployment";
  /** Whether something else already lists it among the concerns of `/readyz`. */
  readonly isConcernElsewhere?: boolean;
  /** The configuration permits what it finds: one mail tells of it, and no reminder follows. */
  readonly isPermitted?: boolean;
  readonly find: () => Promise<Finding | readonly Finding[]>;
}

/** What is looked at on this machine. */
export function machineChecks(config: Config, clock: () => number): AlertCheck[] {
  const scope = "machine";
  return [
    {
      ...{ name: "data directory", scope, fix: "Create it, owned by the account of the service." },
      find: () => checkDataDirectory(config),
    },
    {
      ...{ name: "certificate", scope, fix: "Correct TLS_CERT_FILE and TLS_KEY_FILE." },
      find: () => checkCertificate(config, clock()),
    },
    {
      ...{ name: "redis", scope, isConcernElsewhere: true },
      fix: START_REDIS,
      find: () => checkRedis(config),
    },
    {
      ...{ name: "latest backup", scope, fix: "Correct BACKUP_DIR." },
      find: () => checkLatestBackup(config, clock()),
    },
  ];
}

/** The work of a process, which it alone can look at; `doctor` reads what it has found. */
export const BACKGROUND_WORK = "background work";

/** What is looked at in this process. */
export function processChecks(works: () => readonly WorkStatus[]): AlertCheck[] {
  return [
    {
      ...{ name: BACKGROUND_WORK, scope: "machine", fix: "Restart the process." },
      find: () => Promise.resolve(checkBackgroundWork(works())),
    },
  ];
}

/** Where a statement of ours fails on a schema that it knows. */
const FAILED_CHECK = "Look at the log of PostgreSQL.";

/** What is looked at in the database. */
export function databaseChecks(db: Database, config: Config, clock: () => number): AlertCheck[] {
  const check = (name: string, find: AlertCheck["find"], isConcernElsewhere = false): AlertCheck => ({
    ...{ name, find, isConcernElsewhere, scope: "deployment", fix: FAILED_CHECK },
  });
  return [
    check("database size", () => checkDatabaseSize(db, config)),
    check("connections in use", () => checkConnections(db)),
    check("long transactions", () => checkTransactions(db)),
    check("replicas", () => checkReplicas(db)),
    { ...check("rate limit", () => checkRateLimit(db, config)), isPermitted: true },
    check("partitions", () => checkPartitions(db, clock())),
    check("workers", () => checkWorkers(db), true),
    check("events", () => checkEvents(db)),
    check("webhooks", () => checkWebhooks(db, clock())),
    check("set aside", () => checkSetAside(db)),
    check("imports", () => checkImports(db)),
    check("long rides", () => checkLongRides(db, config, clock())),
    check("feeds", () => checkFeeds(db, clock()), true),
  ];
}

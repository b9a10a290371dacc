/**
 * The list of everything that can be wrong with a deployment. `doctor`, `/readyz`, mails, overviews and metrics show these
 * checks, each those of certain scopes (`outletsOf`).
 */
import { codeOf, isDiskFull, sqlState } from "../../storage/db/errors.ts";

/**
 * What a check looks at:
 * - setup: what people alone change
 * - process, machine: what only the process or the machine itself can see
 * - database, system: what is the same for every process
 * - partner: what a partner must fix
 * - partner page: the same for one partner at a time, because counting for all partners would cost too much
 */
type CheckScope = "setup" | "process" | "machine" | "database" | "system" | "partner" | "partner page";

/** A place that shows results of checks. */
export type Outlet = "doctor" | "readyz" | "mail" | "operator overview" | "partner overview" | "metric";

const ALL_OF_THE_OPERATOR: readonly Outlet[] = ["doctor", "readyz", "mail", "operator overview", "metric"];

/** The outlets that show the checks of each scope. */
export const outletsOf: Readonly<Record<CheckScope, readonly Outlet[]>> = {
  // Only people change the setup, and they run `doctor` after a change.
  setup: ["doctor"],
  process: ALL_OF_THE_OPERATOR,
  machine: ALL_OF_THE_OPERATOR,
  database: ALL_OF_THE_OPERATOR,
  system: ALL_OF_THE_OPERATOR,
  // Partners fix these, so they do not alert the operator. webhooks/warnings sends mails to partners.
  partner: ["operator overview", "partner overview", "metric"],
  "partner page": ["partner overview"],
};

/** Every check that runs by itself, with its scope. */
export const checkScopes = {
  "background work": "process",
  "database away": "process",
  "disk full": "process",
  "data directory": "machine",
  certificate: "machine",
  "latest backup": "machine",
  redis: "machine",
  "redis memory": "machine",
  clock: "machine",
  replica: "machine",
  "database size": "database",
  "connections in use": "database",
  "long transactions": "database",
  replicas: "database",
  partitions: "database",
  "rate limit": "database",
  workers: "system",
  events: "system",
  "late webhooks": "system",
  "held webhooks": "system",
  "set aside": "system",
  imports: "system",
  "long rides": "system",
  feeds: "system",
  exports: "system",
  planners: "system",
  "webhook address": "partner page",
  "webhook paused": "partner",
  "webhook failing": "partner",
  "webhooks given up": "partner page",
  "webhooks retried": "partner page",
  "unreadable events": "partner page",
  "compromised keys": "partner",
  "replaced keys": "partner",
  "expiring keys": "partner",
  "rate-limited keys": "partner",
  "refused keys": "partner",
  "failing requests": "partner page",
} as const satisfies Record<string, CheckScope>;

export type CheckName = keyof typeof checkScopes;

/** Tells whether a check runs by itself. `doctor` has further checks, under other names. */
export function isCheckName(name: string): name is CheckName {
  return Object.hasOwn(checkScopes, name);
}

/** The page of the dashboard on which somebody can examine and fix the problem. */
export interface CheckLink {
  readonly page: "overview" | "webhook" | "deliveries" | "keys" | "requests" | "feeds" | "feed-quality" | "rides";
  readonly query: Readonly<Record<string, string>>;
}

/** The result of one check. */
export interface CheckResult {
  /** The check's name. */
  readonly check: string;
  /**
   * `failure`: something does not work, or data are in danger. `warning`: it works, but somebody should look. `info`: a
   * partner may want to know.
   */
  readonly status: "ok" | "info" | "warning" | "failure";
  readonly detail: string;
  /** The remedy, if there is one. */
  readonly fix?: string;
  /** The subject within the scope, such as a source of feeds. Each subject is acknowledged separately. */
  readonly subject?: string;
  /** The number of affected things, for checks that count. An acknowledged result is worse once the number doubles. */
  readonly count?: number;
  /** When the problem began, or when it will. */
  readonly at?: Date | null;
  readonly link?: CheckLink;
}

type More = Pick<CheckResult, "subject" | "count" | "at" | "link">;

export function ok(check: string, detail: string): CheckResult {
  return { check, status: "ok", detail };
}

export function warning(check: string, detail: string, fix: string, more: More = {}): CheckResult {
  return { check, status: "warning", detail, fix, ...more };
}

export function failure(check: string, detail: string, fix: string, more: More = {}): CheckResult {
  return { check, status: "failure", detail, fix, ...more };
}

/** A check for the operator. */
export interface Check {
  readonly name: CheckName;
  /** The machine or the system that the check examines; empty: the deployment. */
  readonly of: string;
  /** The remedy when the check itself fails. */
  readonly fix: string;
  /**
   * True: one mail reports the finding, and no reminder follows, because the configuration permits the finding or it can
   * wait.
   */
  readonly isMailedOnce?: boolean;
  readonly find: () => Promise<CheckResult | readonly CheckResult[]>;
}

const FREE_CONNECTIONS =
  "See in pg_stat_activity who holds them; stop what needs none, or raise PostgreSQL's max_connections.";

/** Runs a check, and turns an exception into a failure. @param fix the remedy of that failure */
export async function checked(
  check: string,
  fix: string,
  work: () => Promise<CheckResult | readonly CheckResult[]>,
): Promise<CheckResult[]> {
  try {
    return [await work()].flat();
  } catch (error) {
    if (codeOf(error) === sqlState.tooManyConnections)
      return [failure(check, "PostgreSQL has no connection left for this command", FREE_CONNECTIONS)];
    if (isDiskFull(error))
      return [
        failure(check, `a disk is full: ${String(error)}`, "Free space on the disk of the database, or of DATA_DIR."),
      ];
    return [failure(check, error instanceof Error ? error.message : String(error), fix)];
  }
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The thresholds of the checks. docs/runbook.md repeats them, and a test compares. */
export const thresholds = {
  /** Minimum free space of a data directory with and without a database. Less than a tenth of it is a failure. */
  freeGib: { withDatabase: 2, without: 0.2 },
  /** Renewals begin 30 days before the end. A shorter time means that they have failed. */
  certificateMs: 14 * DAY_MS,
  /** Shares of DATABASE_SIZE_LIMIT_GB. */
  databaseSize: { warning: 0.85, failure: 0.95 },
  /** Share of max_connections. Too high: the next process finds no free connection. */
  connections: 0.9,
  /** Exceeds the longest transaction of the service, except imports, backups and migrations. */
  transactionMs: 30 * MINUTE_MS,
  /** A replica that keeps up lags less. A failover to one that lags more takes longer. */
  replicaLagMs: 30_000,
  /** The sequencer numbers events within a second or two. */
  eventWaitMs: MINUTE_MS,
  /**
   * How long the oldest delivery may wait to be sent. Workers that keep up send within a second. Longer: there are too few
   * workers, or an endpoint hangs.
   */
  dueMs: 15 * MINUTE_MS,
  /** A running import reads and writes all the time; its largest statement takes a minute. */
  importIdleMs: 15 * MINUTE_MS,
  /** Time to ask for a new key and to deploy it. */
  keyExpiryMs: { warning: 14 * DAY_MS, failure: 3 * DAY_MS },
  /** Share of a key's limit. Above it, the next busy minute may exceed the limit. */
  nearLimit: 0.8,
  /** Minimum share and number of failed requests in an hour. Too low: a single mistyped id raises a warning. */
  failingRequests: { share: 0.1, least: 20 },
} as const;

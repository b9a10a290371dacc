import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import { allLongRides } from "../../city/fleet/long-rides.ts";
import { systemsOf } from "../../city/systems/service.ts";
import type { Config } from "../../config.ts";
import { allFeedAges, isTooOld } from "../../feeds/gbfs/feed-watch.ts";
import { runningImports } from "../../feeds/imports/progress.ts";
import { START_REDIS } from "../../http/rate-limits/redis-remedies.ts";
import { countApiProcesses } from "../../http/rate-limits/service.ts";
import { utcMinute } from "../../iso-instant.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { dailyTables, dayOf, firstDayOf } from "../../storage/partitions/partition.rules.ts";
import { partitionedDays } from "../../storage/partitions/service.ts";
import { failingWork } from "../../storage/set-aside/service.ts";
import { listShownEndpoints } from "../../webhooks/endpoints/endpoint-view.ts";
import { isStranded } from "../../webhooks/endpoints/endpoint.rules.ts";
import { countLiveWorkers, oldestDueAt } from "../../webhooks/worker-watch.ts";
import {
  findIsCommitWaiting,
  findServerUse,
  listLongTransactions,
  listMissingReplicas,
} from "../database-health/service.ts";
import { failure, type Finding, ok, warning } from "./finding.ts";
import {
  checkBackgroundWork,
  checkCertificate,
  checkDataDirectory,
  checkLatestBackup,
  checkRedis,
} from "./machine-checks.ts";
import { findEventWait } from "./queries.ts";

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

/** What is looked at in the database, by `doctor` and for alerts. */

const GB = 1e9;
/** Parts of the size that the database may have. */
const SIZE_WARNING = 0.85;
const SIZE_FAILURE = 0.95;

export async function checkDatabaseSize(
  db: Database,
  { databaseSizeLimitGb: limit }: Pick<Config, "databaseSizeLimitGb">,
): Promise<Finding> {
  const size = (await findServerUse(db)).size_bytes / GB;
  if (limit === undefined) return ok("database size", `${size.toFixed(1)} GB; DATABASE_SIZE_LIMIT_GB is not set`);
  const detail = `the database has ${size.toFixed(1)} of the ${limit} GB that it may have`;
  const fix =
    "Enlarge its disk and DATABASE_SIZE_LIMIT_GB, or undo imports that nobody needs: `bikeshare import list`.";
  if (size > limit * SIZE_FAILURE) return failure("database size", detail, fix);
  return size > limit * SIZE_WARNING ? warning("database size", detail, fix) : ok("database size", detail);
}

/** With fewer free connections the next process that starts gets none. */
const MAX_CONNECTION_SHARE = 0.9;

async function checkConnections(db: Database): Promise<Finding> {
  const { connections, max_connections: max } = await findServerUse(db);
  const detail = `${connections} of the ${max} connections of PostgreSQL are in use`;
  if (connections <= max * MAX_CONNECTION_SHARE) return ok("connections in use", detail);
  return warning("connections in use", detail, "Raise max_connections, or stop what holds them: pg_stat_activity.");
}

/** Longer than any of ours but an import, a backup or a migration. */
const LONG_TRANSACTION_S = 1_800;

export async function checkTransactions(db: Database, longSeconds = LONG_TRANSACTION_S): Promise<readonly Finding[]> {
  const open = await listLongTransactions(db, longSeconds);
  if (open.length === 0) return [ok("long transactions", "none")];
  return open.map(({ pid, seconds, program }) =>
    warning(
      "long transactions",
      `${program || "a connection"} (pid ${pid}) has had a transaction open for ${Math.round(seconds / 60)} min: deleted rows keep their space`,
      `Unless it is an import or a backup: select pg_terminate_backend(${pid})`,
    ),
  );
}

export async function checkReplicas(db: Database): Promise<readonly Finding[]> {
  const found = (await listMissingReplicas(db)).map(({ name, kept_bytes: bytes }) =>
    failure(
      "replicas",
      `no replica uses the slot ${name}, for which ${(bytes / GB).toFixed(1)} GB of WAL are kept`,
      `Start the replica again; if it is gone for good: select pg_drop_replication_slot('${name}')`,
    ),
  );
  if (await findIsCommitWaiting(db)) {
    const detail = "synchronous_standby_names asks for a replica and none is there: each commit waits for ever";
    found.push(failure("replicas", detail, "Start the replica, or empty synchronous_standby_names and reload."));
  }
  return found.length === 0 ? [ok("replicas", "none is missing")] : found;
}

async function checkRateLimit(db: Database, { redisUrl }: Pick<Config, "redisUrl">): Promise<Finding> {
  const n = await countApiProcesses(db);
  if (n > 1 && redisUrl === undefined) {
    return warning(
      "rate limit",
      `${n} processes answer requests, and each counts by itself`,
      "Set REDIS_URL on all of them.",
    );
  }
  return ok("rate limit", n > 1 ? `counted for ${n} processes together` : "counted by the one process");
}

export async function checkPartitions(db: Database, now: number): Promise<Finding> {
  const today = dayOf(now);
  const missing: string[] = [];
  for (const table of dailyTables)
    if (table.hasDefault && !(await partitionedDays(db, table)).includes(firstDayOf(table, today)))
      missing.push(table.name);
  if (missing.length === 0) return ok("partitions", "today's are there");
  return warning(
    "partitions",
    `today's are missing of ${missing.join(", ")}`,
    "Start `serve --role worker`, which makes them.",
  );
}

async function checkWorkers(db: Database): Promise<readonly Finding[]> {
  // A deployment that is stopped as a whole lacks no worker.
  if ((await countApiProcesses(db)) === 0) return [];
  const idle: string[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    if ((await countLiveWorkers(db, systemId)) === 0) idle.push(systemId);
  }
  if (idle.length === 0) return [ok("workers", "each system has one")];
  const fix = "Start `serve --role worker`. If one runs, its log says what stops it.";
  const detail = `no worker runs for ${idle.slice(0, 3).join(", ")}: no events are listed and no webhooks are sent`;
  return [failure("workers", detail, fix)];
}

/** The sequencer numbers events within a second or two. */
const MAX_EVENT_WAIT_S = 60;

async function checkEvents(db: Database): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    const wait = await findEventWait(db, systemId);
    if (wait === null || wait <= MAX_EVENT_WAIT_S) continue;
    const fix = "Start `serve --role worker`, or look at the log of the one that runs.";
    found.push(failure("events", `the oldest event of ${systemId} waits for its number since ${wait} s`, fix));
  }
  return found.length === 0 ? [ok("events", "none waits for its number")] : found;
}

/** Deliveries are sent within a second while workers keep up; a few endpoints that hang delay only their own. */
const MAX_DUE_MS = 15 * 60_000;

export async function checkWebhooks(db: Database, now: number): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    found.push(...(await strandedAt(db, systemId, now)));
    const due = await oldestDueAt(db, systemId, new Date(now));
    if (due === null || now - due.getTime() <= MAX_DUE_MS) continue;
    const minutes = Math.round((now - due.getTime()) / 60_000);
    const fix =
      "`bikeshare webhooks list` says where they wait; start another worker, or pause an endpoint that hangs.";
    found.push(warning("webhooks", `a webhook of ${systemId} has been due for ${minutes} min`, fix));
  }
  return found.length === 0
    ? [ok("webhooks", "none has been due for long, and none is held but at paused endpoints")]
    : found;
}

/** Deliveries that are held at an endpoint that was resumed: nobody sends them until somebody decides. */
async function strandedAt(db: Database, systemId: string, now: number): Promise<Finding[]> {
  const { endpoints } = await listShownEndpoints({ db, clock: () => now }, systemId);
  return endpoints.filter(isStranded).map(({ partner_id: partner, held }) => {
    const count = held < MAX_COUNTED_DELIVERIES ? `${held}` : `${held} or more`;
    const fix = `\`bikeshare webhooks send-held --partner ${partner}\` sends them, \`webhooks drop-held\` gives them up.`;
    return warning(
      "webhooks",
      `${count} deliveries of ${systemId} are held for ${partner}, whose endpoint is not paused`,
      fix,
    );
  });
}

export async function checkSetAside(db: Database): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { systemId, setAside, failing } of await failingWork(db)) {
    const fix = `\`bikeshare set-aside list --system ${systemId}\` says what and why; \`set-aside release\` tries it again.`;
    if (setAside > 0) {
      const detail = `${setAside} units of background work of ${systemId} ended three processes each, and are not tried any more`;
      found.push(failure("set aside", detail, fix));
    }
    if (failing > 0)
      found.push(warning("set aside", `${failing} units of background work of ${systemId} fail at each try`, fix));
  }
  return found.length === 0 ? [ok("set aside", "nothing is")] : found;
}

/** An import reads and writes all the time; a large statement of one takes a minute. */
const MAX_IMPORT_IDLE_S = 900;

async function checkImports(db: Database): Promise<readonly Finding[]> {
  const idle = (await runningImports(db)).filter(({ idle_seconds: seconds }) => seconds > MAX_IMPORT_IDLE_S);
  if (idle.length === 0) return [ok("imports", "none that runs stands still")];
  const fix =
    "Look at what it prints, then end its process and begin it again: what it has stored stays, and is left out.";
  return idle.map(({ systemId, kind, idle_seconds: seconds }) =>
    warning("imports", `an import (${kind}) of ${systemId} has not got on for ${Math.round(seconds / 60)} min`, fix),
  );
}

export async function checkFeeds(db: Database, now: number): Promise<readonly Finding[]> {
  const found = (await allFeedAges(db, now)).filter((each) => isTooOld(each) || each.staleness !== undefined);
  if (found.length === 0) return [ok("feeds", "none that is followed is too old or stale")];
  return found.map((each) => {
    const { systemId, source, feed, ageMs, staleness } = each;
    if (staleness !== undefined && !isTooOld(each)) {
      const fix = "Ask the publisher whether the feed is still made; raise GBFS_STALE_AFTER if it is.";
      return warning("feeds", `the feed ${feed} of "${source}" of ${systemId} is stale: ${staleness}`, fix);
    }
    const age = ageMs === undefined ? "was never good" : `was last good ${Math.round(ageMs / 60_000)} min ago`;
    const fix = "The log of the worker says why it fails; `bikeshare import gbfs <URL>` tries it by hand.";
    return warning("feeds", `the feed ${feed} of "${source}" of ${systemId} ${age}`, fix);
  });
}

/** Rides that nobody ended: their bikes are hidden from everybody. */
export async function checkLongRides(
  db: Database,
  { longRideAfterMs }: Pick<Config, "longRideAfterMs">,
  now: number,
): Promise<readonly Finding[]> {
  const hours = Math.round(longRideAfterMs / 3_600_000);
  const all = await allLongRides(db, new Date(now - longRideAfterMs));
  const found = all.filter(({ n }) => n > 0);
  if (found.length === 0) return [ok("long rides", `none is under way for longer than ${hours} h`)];
  return found.map(({ systemId, n, oldest }) => {
    const since = oldest === undefined ? "" : `, the oldest (${oldest.id}) since ${utcMinute(oldest.started_at)}`;
    const rides = `${n} ${n === 1 ? "ride" : "rides"} of ${systemId} ${n === 1 ? "is" : "are"}`;
    const detail = `${rides} under way for longer than ${hours} h${since}: ${n === 1 ? "its bike is" : "their bikes are"} hidden`;
    const end = ["bikeshare", ...(all.length > 1 ? ["--system", systemId] : []), "rides end"].join(" ");
    const fix = `\`${end} <id>\` ends one whose end was never reported, \`${end} --older-than ${hours}h --yes\` all of them.`;
    return warning("long rides", detail, fix);
  });
}

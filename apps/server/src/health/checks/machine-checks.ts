import { access, constants, statfs } from "node:fs/promises";
import type { Config } from "../../config.ts";
import { redisRemedy } from "../../http/rate-limits/rate-limits.ts";
import { countApiProcesses } from "../../http/rate-limits/service.ts";
import { CHECK_REQUEST, type RateStore } from "../../http/rate-limits/shared-windows.ts";
import { shellWord } from "../../printable.ts";
import { expiryOf, readCertificate } from "../../runtime/startup/certificate.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import { latestBackup, maxBackupAgeMs } from "../../storage/backup/schedule.ts";
import type { Database } from "../../storage/db/database.ts";
import { addDays, dailyTables, dayOf, firstDayOf, isPast } from "../../storage/partitions/partition.rules.ts";
import { partitionedDays, staysInDefault } from "../../storage/partitions/service.ts";
import {
  databaseHealth,
  findIsCommitWaiting,
  findServerUse,
  listLongTransactions,
  listMissingReplicas,
} from "../database-health/service.ts";
import { type CheckResult, failure, ok, thresholds, warning } from "./check.ts";

/* Checks of PostgreSQL, of the processes that share it, of a machine, and of what only that machine reaches. */

const GB = 1e9;

export async function checkDatabaseSize(
  db: Database,
  { databaseSizeLimitGb: limit }: Pick<Config, "databaseSizeLimitGb">,
): Promise<CheckResult> {
  const name = "database size";
  const size = (await findServerUse(db)).size_bytes / GB;
  if (limit === undefined) return ok(name, `${size.toFixed(1)} GB; DATABASE_SIZE_LIMIT_GB is not set`);
  const detail = `the database has ${size.toFixed(1)} of the ${limit} GB that it may have`;
  const fix =
    "Enlarge its disk and DATABASE_SIZE_LIMIT_GB, or undo imports that nobody needs: `bikeshare import list`.";
  if (size > limit * thresholds.databaseSize.failure) return failure(name, detail, fix);
  return size > limit * thresholds.databaseSize.warning ? warning(name, detail, fix) : ok(name, detail);
}

export async function checkConnections(db: Database): Promise<CheckResult> {
  const { connections, max_connections: max } = await findServerUse(db);
  const detail = `${connections} of the ${max} connections of PostgreSQL are in use`;
  if (connections <= max * thresholds.connections) return ok("connections in use", detail);
  return warning("connections in use", detail, "Raise max_connections, or stop what holds them: pg_stat_activity.");
}

export async function checkTransactions(
  db: Database,
  longMs: number = thresholds.transactionMs,
): Promise<readonly CheckResult[]> {
  const open = await listLongTransactions(db, Math.round(longMs / 1_000));
  if (open.length === 0) return [ok("long transactions", "none")];
  return open.map(({ pid, seconds, program }) =>
    warning(
      "long transactions",
      `${program || "a connection"} (pid ${pid}) has had a transaction open for ${Math.round(seconds / 60)} min: deleted rows keep their space`,
      `Unless it is an import or a backup: select pg_terminate_backend(${pid})`,
      { subject: `${pid}` },
    ),
  );
}

/** Checks for replicas that have disconnected, that lag, or that commits wait for. */
export async function checkReplicas(db: Database): Promise<readonly CheckResult[]> {
  const name = "replicas";
  const found = (await listMissingReplicas(db)).map(({ name: slot, kept_bytes: bytes }) =>
    failure(
      name,
      `no replica uses the slot ${slot}, for which ${(bytes / GB).toFixed(1)} GB of WAL are kept`,
      `Start the replica again; if it is gone for good: select pg_drop_replication_slot('${slot}')`,
      { subject: slot },
    ),
  );
  for (const { replica, lag_seconds: seconds } of (await databaseHealth(db)).replicas) {
    if (seconds * 1_000 <= thresholds.replicaLagMs) continue;
    const fix = "Look at its processor, its disk and its long statements, and at the network to it.";
    found.push(warning(name, `${replica} is ${Math.round(seconds)} s behind`, fix, { subject: replica }));
  }
  if (await findIsCommitWaiting(db)) {
    const detail = "synchronous_standby_names asks for a replica and none is there: each commit waits for ever";
    const fix = "Start the replica, or empty synchronous_standby_names and reload.";
    found.push(failure(name, detail, fix, { subject: "synchronous" }));
  }
  return found.length === 0 ? [ok(name, "none is missing or late")] : found;
}

export async function checkRateLimit(db: Database, { redisUrl }: Pick<Config, "redisUrl">): Promise<CheckResult> {
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

/**
 * Checks that no partitioned table has a partition that should have been dropped two days ago, and that each has the
 * partition of today, except the events list, whose sequencer creates it.
 */
export async function checkPartitions(db: Database, now: number): Promise<CheckResult> {
  const today = dayOf(now);
  const missing: string[] = [];
  // Today's rows of these tables are in the default partition already, so that today's partition cannot be made any more.
  const staying: string[] = [];
  const overdue: string[] = [];
  for (const table of dailyTables) {
    const days = await partitionedDays(db, table);
    const [oldest] = days.filter((day) => isPast(table, day, addDays(today, -2))).toSorted();
    if (oldest !== undefined) overdue.push(`${table.name} of ${oldest}`);
    if (!table.hasDefault || days.includes(firstDayOf(table, today))) continue;
    if (await staysInDefault(db, table, today)) staying.push(table.name);
    else missing.push(table.name);
  }
  if (missing.length > 0) {
    return warning(
      "partitions",
      `today's are missing of ${missing.join(", ")}`,
      "Start `serve --role worker`, which makes them.",
    );
  }
  if (overdue.length > 0) {
    return warning(
      "partitions",
      `no longer kept, and still there: ${overdue.join(", ")}`,
      "Look for the oldest `xact_start` in `pg_stat_activity`: while a transaction reads such a table, nothing of it is " +
        "dropped. After a jump of the clock, or a pause of the workers, it goes a day later.",
    );
  }
  // Rows were stored before their partition was created, for example after a clock jumped. They are deleted from the default
  // partition once they are old enough.
  const detail = `rows of ${staying.join(", ")} came before today's, and stay in the default partition`;
  return ok("partitions", staying.length === 0 ? "today's are there" : detail);
}

const GIB = 1024 ** 3;

/** Checks the free space of the data directory. Throws if it cannot be written to: `checked` makes that a failure. */
export async function checkDataDirectory({ dataDir, databaseUrl }: Config): Promise<CheckResult> {
  await access(dataDir, constants.W_OK);
  const { bavail, bsize } = await statfs(dataDir);
  return judgeFreeSpace({ dataDir, free: (bavail * bsize) / GIB, hasDatabase: databaseUrl === undefined });
}

/** @param free free GiB on the disk of the data directory; `hasDatabase`: the directory has the database */
export function judgeFreeSpace({
  dataDir,
  free,
  hasDatabase,
}: {
  readonly dataDir: string;
  readonly free: number;
  readonly hasDatabase: boolean;
}): CheckResult {
  const detail = `${dataDir} has ${free.toFixed(1)} GiB free`;
  const enough = hasDatabase ? thresholds.freeGib.withDatabase : thresholds.freeGib.without;
  if (free < enough / 10) return failure("data directory", detail, "Free space now: without it nothing can be stored.");
  if (free < enough) return warning("data directory", detail, "Free space, or move DATA_DIR to a larger disk.");
  return ok("data directory", detail);
}

export async function checkCertificate({ tls }: Config, now: number): Promise<readonly CheckResult[]> {
  if (tls === undefined) return [];
  const expiry = expiryOf(await readCertificate(tls));
  const left = expiry.getTime() - now;
  const detail = `${tls.certFile} expires on ${expiry.toISOString().slice(0, 10)}`;
  const fix = "Renew it; the service takes the new one within a minute.";
  if (left < 0) return [failure("certificate", `${tls.certFile} has expired`, fix)];
  return [left < thresholds.certificateMs ? warning("certificate", detail, fix) : ok("certificate", detail)];
}

const EVICTION_REMEDY =
  "Set maxmemory-policy to noeviction. When Redis forgets a count, that caller can use its limit again, and no process notices.";

/** Checks whether Redis counts. Only `doctor` calls this, because a process that counts in Redis reports failures itself. */
export async function checkRedis({ redisUrl }: Config): Promise<readonly CheckResult[]> {
  if (redisUrl === undefined) return [];
  try {
    // Counts a request, because a Redis that answers may be unable to count: a replica, for example.
    await inRedis(redisUrl, (store) => store.count(CHECK_REQUEST));
    return [ok("redis", "counts")];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [
      failure("redis", message, `${redisRemedy(message)} Meanwhile each process counts with its share of the limit.`),
    ];
  }
}

/** Warns if Redis may evict counts when its memory is full. The check "redis" reports a Redis that does not answer. */
export async function checkRedisMemory({ redisUrl }: Config): Promise<readonly CheckResult[]> {
  if (redisUrl === undefined) return [];
  const name = "redis memory";
  const policy = await inRedis(redisUrl, (store) => store.evictionPolicy()).catch(() => undefined);
  if (policy === undefined) return [ok(name, "no sign that it forgets counts when it is full")];
  const detail = `Redis forgets counts when its memory is full: maxmemory-policy is ${policy}`;
  return [warning(name, detail, EVICTION_REMEDY)];
}

/** The operations of Redis that the checks use. */
interface AskedRedis extends RateStore {
  /** Returns the policy by which Redis evicts counts; undefined: it evicts none, or does not say. */
  evictionPolicy(): Promise<string | undefined>;
}

async function inRedis<Result>(url: string, use: (store: AskedRedis) => Promise<Result>): Promise<Result> {
  const { openRedisStore } = await import("../../http/rate-limits/redis-store.ts");
  const connected = Promise.withResolvers<void>();
  const store = openRedisStore({
    url,
    onConnected: () => connected.resolve(),
    onLost: (error) => connected.reject(error),
  });
  try {
    await connected.promise;
    return await use(store);
  } finally {
    store.close();
  }
}

export async function checkLatestBackup({ backups }: Config, now: number): Promise<readonly CheckResult[]> {
  if (backups === undefined) return [];
  const newest = await latestBackup(backups, now);
  const fix = `Look for "making a backup" in the log of a worker, or make one by hand: \`bikeshare backup ${shellWord(backups.directory)}\`.`;
  // Only a warning: a new deployment has none until its first is written, which may take hours.
  if (newest === undefined) return [warning("latest backup", `there is none in ${backups.directory}`, fix)];
  const age = now - newest.madeAt;
  const detail = `${newest.name}, ${(age / 3_600_000).toFixed(1)} h old`;
  return [age > maxBackupAgeMs(backups) ? failure("latest backup", detail, fix) : ok("latest backup", detail)];
}

/** Checks for background work that no longer succeeds in a process. */
export function checkBackgroundWork(works: readonly WorkStatus[]): readonly CheckResult[] {
  const still = works.filter(({ standsStill }) => standsStill);
  if (still.length === 0) return [ok("background work", "all of it goes on")];
  return still.map(({ work, successAgeMs }) => {
    const since = successAgeMs === undefined ? "since the start" : `for ${Math.round(successAgeMs / 60_000)} min`;
    const fix = `Its log says why, under "${work}". If it says nothing, restart the process.`;
    return failure("background work", `a process has not succeeded in ${work} ${since}`, fix, { subject: work });
  });
}

/** Returns when the certificate expires, and the age of the latest backup, for metrics. */
export async function machineFigures({ tls, backups }: Pick<Config, "tls" | "backups">, now: number) {
  const certificate = tls && (await readCertificate(tls).catch(() => undefined));
  const newest = backups && (await latestBackup(backups, now).catch(() => undefined));
  return {
    certificateExpiresAt: certificate && expiryOf(certificate).getTime(),
    latestBackupAgeMs: newest && now - newest.madeAt,
  };
}

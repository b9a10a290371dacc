import { access, constants, statfs } from "node:fs/promises";
import type { Config } from "../../config.ts";
import { redisRemedy } from "../../http/rate-limits/rate-limits.ts";
import { CHECK_REQUEST, type RateStore } from "../../http/rate-limits/shared-windows.ts";
import { shellWord } from "../../printable.ts";
import { expiryOf, readCertificate } from "../../runtime/startup/certificate.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import { latestBackup, maxBackupAgeMs } from "../../storage/backup/schedule.ts";
import { type CheckResult, failure, ok, thresholds, warning } from "./check.ts";

/** What is wrong with a machine, and with what it alone reaches. */

const GIB = 1024 ** 3;

export async function checkDataDirectory({ dataDir, databaseUrl }: Config): Promise<CheckResult> {
  await access(dataDir, constants.W_OK);
  const { bavail, bsize } = await statfs(dataDir);
  return judgeFreeSpace({ dataDir, free: (bavail * bsize) / GIB, hasDatabase: databaseUrl === undefined });
}

/** @param free GiB on the disk of the data directory, in which the database is or not */
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

const EVICTS =
  "Set maxmemory-policy to noeviction. What it forgets, callers may use a second time, and no process notices.";

/** Whether Redis counts. Of a process that counts in it `doctor` looks at the same: a process reports it itself. */
export async function checkRedis({ redisUrl }: Config): Promise<readonly CheckResult[]> {
  if (redisUrl === undefined) return [];
  try {
    // One that answers may count nothing: a replica, for example.
    await inRedis(redisUrl, (store) => store.count(CHECK_REQUEST));
    return [ok("redis", "counts")];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [
      failure("redis", message, `${redisRemedy(message)} Meanwhile each process counts with its share of the limit.`),
    ];
  }
}

/** Whether Redis keeps what it has counted. One that cannot be asked is the check above. */
export async function checkRedisMemory({ redisUrl }: Config): Promise<readonly CheckResult[]> {
  if (redisUrl === undefined) return [];
  const name = "redis memory";
  const policy = await inRedis(redisUrl, (store) => store.evictionPolicy()).catch(() => undefined);
  if (policy === undefined) return [ok(name, "forgets nothing when it is full")];
  const detail = `Redis forgets counts when its memory is full: maxmemory-policy is ${policy}`;
  return [warning(name, detail, EVICTS)];
}

/** What is asked of Redis. */
interface AskedRedis extends RateStore {
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
  if (newest === undefined) return [warning("latest backup", `there is none in ${backups.directory}`, fix)];
  const age = now - newest.madeAt;
  const detail = `${newest.name}, ${(age / 3_600_000).toFixed(1)} h old`;
  return [age > maxBackupAgeMs(backups) ? failure("latest backup", detail, fix) : ok("latest backup", detail)];
}

/** What stands still in a process. */
export function checkBackgroundWork(works: readonly WorkStatus[]): readonly CheckResult[] {
  const still = works.filter(({ standsStill }) => standsStill);
  if (still.length === 0) return [ok("background work", "all of it goes on")];
  return still.map(({ work, successAgeMs }) => {
    const since = successAgeMs === undefined ? "since the start" : `for ${Math.round(successAgeMs / 60_000)} min`;
    const fix = `Its log says why, under "${work}". If it says nothing, restart the process.`;
    return failure("background work", `a process has not succeeded in ${work} ${since}`, fix, { subject: work });
  });
}

/** The end of the certificate and the age of the latest backup, for metrics. */
export async function machineFigures({ tls, backups }: Pick<Config, "tls" | "backups">, now: number) {
  const certificate = tls && (await readCertificate(tls).catch(() => undefined));
  const newest = backups && (await latestBackup(backups, now).catch(() => undefined));
  return {
    certificateExpiresAt: certificate && expiryOf(certificate).getTime(),
    latestBackupAgeMs: newest && now - newest.madeAt,
  };
}

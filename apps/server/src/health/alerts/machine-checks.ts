import { access, constants, statfs } from "node:fs/promises";
import type { Config } from "../../config.ts";
import { redisRemedy } from "../../http/rate-limits/redis-remedies.ts";
import { CHECK_REQUEST } from "../../http/rate-limits/shared-windows.ts";
import { expiryOf, readCertificate } from "../../runtime/startup/certificate.ts";
import { shellWord } from "../../shell-word.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import { latestBackup, maxBackupAgeMs } from "../../storage/backup/schedule.ts";
import { failure, type Finding, ok, warning } from "./finding.ts";

/** What is looked at on a machine, by `doctor` and for alerts. */

const DAY_MS = 86_400_000;
const GIB = 1024 ** 3;

export async function checkDataDirectory({ dataDir, databaseUrl }: Config): Promise<Finding> {
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
}): Finding {
  const detail = `${dataDir} has ${free.toFixed(1)} GiB free`;
  const enough = hasDatabase ? 2 : 0.2;
  if (free < enough / 10) return failure("data directory", detail, "Free space now: without it nothing can be stored.");
  if (free < enough) return warning("data directory", detail, "Free space, or move DATA_DIR to a larger disk.");
  return ok("data directory", detail);
}

export async function checkCertificate({ tls }: Config, now: number): Promise<readonly Finding[]> {
  if (tls === undefined) return [];
  const expiry = expiryOf(await readCertificate(tls));
  const days = Math.floor((expiry.getTime() - now) / DAY_MS);
  const detail = `${tls.certFile} expires on ${expiry.toISOString().slice(0, 10)}`;
  const fix = "Renew it; the service takes the new one within a minute.";
  if (days < 0) return [failure("certificate", `${tls.certFile} has expired`, fix)];
  return [days < 14 ? warning("certificate", detail, fix) : ok("certificate", detail)];
}

const EVICTS =
  "Set maxmemory-policy to noeviction. What it forgets, callers may use a second time, and no process notices.";

export async function checkRedis({ redisUrl }: Config): Promise<readonly Finding[]> {
  if (redisUrl === undefined) return [];
  const { openRedisStore } = await import("../../http/rate-limits/redis-store.ts");
  const connected = Promise.withResolvers<void>();
  const store = openRedisStore({
    url: redisUrl,
    onConnected: () => connected.resolve(),
    onLost: (error) => connected.reject(error),
  });
  try {
    await connected.promise;
    // One that answers may count nothing: a replica, for example.
    await store.count(CHECK_REQUEST);
    const policy = await store.evictionPolicy();
    if (policy === undefined) return [ok("redis", "counts")];
    return [
      warning("redis", `counts, but forgets counts when its memory is full: maxmemory-policy is ${policy}`, EVICTS),
    ];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const fix = `${redisRemedy(message)} Meanwhile each process counts with its share of the limit.`;
    return [failure("redis", message, fix)];
  } finally {
    store.close();
  }
}

export async function checkLatestBackup({ backups }: Config, now: number): Promise<readonly Finding[]> {
  if (backups === undefined) return [];
  const newest = await latestBackup(backups, now);
  const fix = `Look for "making a backup" in the log of a worker, or make one by hand: \`bikeshare backup ${shellWord(backups.directory)}\`.`;
  if (newest === undefined) return [warning("latest backup", `there is none in ${backups.directory}`, fix)];
  const age = now - newest.madeAt;
  const detail = `${newest.name}, ${(age / 3_600_000).toFixed(1)} h old`;
  return [age > maxBackupAgeMs(backups) ? failure("latest backup", detail, fix) : ok("latest backup", detail)];
}

/** What no process can find of another one, but for what it has told as an alert. */
export function checkBackgroundWork(works: readonly WorkStatus[]): readonly Finding[] {
  const still = works.filter(({ standsStill }) => standsStill);
  if (still.length === 0) return [ok("background work", "all of it goes on")];
  return still.map(({ work, successAgeMs }) => {
    const since = successAgeMs === undefined ? "since the start" : `for ${Math.round(successAgeMs / 60_000)} min`;
    const fix = `Its log says why, under "${work}". If it says nothing, restart the process.`;
    return failure("background work", `a process has not succeeded in ${work} ${since}`, fix);
  });
}

/** The certificate's end, the latest backup's age and the age that it may have, for metrics. */
export async function machineFigures({ tls, backups }: Pick<Config, "tls" | "backups">, now: number) {
  const certificate = tls && (await readCertificate(tls).catch(() => undefined));
  const newest = backups && (await latestBackup(backups, now).catch(() => undefined));
  return {
    certificateExpiresAt: certificate && expiryOf(certificate).getTime(),
    latestBackupAgeMs: newest && now - newest.madeAt,
    maxBackupAgeMs: backups && maxBackupAgeMs(backups),
  };
}

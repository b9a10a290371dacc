import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type PeriodicWork, startPeriodic } from "../background/periodic.ts";
import type { WorkWatch } from "../background/work-watch.ts";
import { codeOf } from "../db/errors.ts";
import { claimDraft, draftOf } from "./archive.ts";
import { type BackupOptions, type BackupSummary, writeBackup } from "./backup.ts";

export interface BackupSchedule {
  readonly directory: string;
  /** From one backup to the next. */
  readonly intervalMs: number;
  /** The number of newest backups to keep. */
  readonly keep: number;
}

interface ScheduledBackupOptions extends BackupSchedule, Omit<BackupOptions, "signal"> {
  readonly clock: () => number;
  readonly onBackup: (path: string, summary: BackupSummary) => void;
  readonly onError: (error: unknown) => void;
  readonly watch?: WorkWatch | undefined;
}

/** Returns the age from which the latest backup is too old. */
export function maxBackupAgeMs({ intervalMs }: Pick<BackupSchedule, "intervalMs">): number {
  return 2 * intervalMs;
}

/** Milliseconds between two checks whether a backup is due. Too high: a failed one is tried again later. */
const CHECK_INTERVAL_MS = 60_000;

/** A draft to which nothing was written for so long has been left behind by a process that was killed. */
const MAX_DRAFT_SILENCE_MS = 3_600_000;

/**
 * Makes a backup whenever the newest in the directory is older than the interval, then removes those beyond the newest few.
 * Leaves other files alone, and makes none while another process makes one there. Closing it ends a running backup, which
 * may need hours.
 */
export function startScheduledBackups(options: ScheduledBackupOptions): PeriodicWork {
  const { directory, keep, clock, onBackup, watch } = options;
  const closed = new AbortController();
  const isDue = async () => {
    const newest = await latestBackup(options, clock());
    return newest === undefined || clock() - newest.madeAt >= options.intervalMs;
  };
  const work = async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (!(await isDue())) return;
    const path = await claimPath(directory, clock());
    // If several processes have begun one, the first continues; it may have ended before ours was listed.
    const [first] = await listDrafts(directory, clock());
    const isFirst = first === undefined || join(directory, first) === draftOf(path);
    if (!isFirst || !(await isDue())) return rm(draftOf(path), { force: true });
    const summary = await writeBackup({ ...options, signal: closed.signal }, path);
    onBackup(path, summary);
    const backups = await datedBackups(options, clock());
    for (const { name } of backups.slice(0, Math.max(0, backups.length - keep)))
      await rm(join(directory, name), { force: true });
  };
  const onError = (error: unknown) => {
    if (!closed.signal.aborted) options.onError(error);
  };
  // One backup of a large database may take hours.
  const maxSilenceMs = maxBackupAgeMs(options);
  const runs = startPeriodic({ intervalMs: CHECK_INTERVAL_MS, work, onError, immediately: true, watch, maxSilenceMs });
  const close = () => {
    closed.abort(new Error("The service is stopped."));
    return runs.close();
  };
  return { ...runs, close };
}

/**
 * Makes a backup in a directory, with a name of its time, or of the first second after it that no other backup has, which may
 * be under way in another process.
 * @param instant milliseconds since 1970
 */
export async function createBackupIn(
  directory: string,
  options: BackupOptions,
  instant: number,
): Promise<{ readonly path: string; readonly summary: BackupSummary }> {
  const path = await claimPath(directory, instant);
  return { path, summary: await writeBackup(options, path) };
}

/**
 * Returns the drafts that are being written in a directory, the first to begin first. Removes those that a killed process
 * has left.
 */
async function listDrafts(directory: string, now: number): Promise<string[]> {
  const drafts: string[] = [];
  for (const name of (await readdir(directory)).toSorted()) {
    if (!/^bikeshare-\d{8}T\d{6}Z\.zip\.part$/.test(name)) continue;
    const path = join(directory, name);
    const found = await stat(path).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
    });
    // The draft has just become a backup.
    if (found === undefined) continue;
    if (now - found.mtimeMs > MAX_DRAFT_SILENCE_MS) await rm(path, { force: true });
    else drafts.push(name);
  }
  return drafts;
}

/** Takes a name that is free by making its draft, which of two processes only one can. */
async function claimPath(directory: string, from: number): Promise<string> {
  for (let instant = from; ; instant += 1_000) {
    const path = join(directory, backupName(instant));
    if (!(await claimDraft(path))) continue;
    if (!(await readdir(directory)).includes(backupName(instant))) return path;
    await rm(draftOf(path));
  }
}

/** Returns the name of a backup's file: `bikeshare-20260131T235959Z.zip`. @param instant milliseconds since 1970 */
function backupName(instant: number): string {
  return `bikeshare-${new Date(instant).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.zip`;
}

/** The backups that have a name of `backupName` in a directory, the oldest first. @returns when they were begun, as named */
export async function listBackups(directory: string): Promise<{ readonly name: string; readonly madeAt: number }[]> {
  return (await readdir(directory)).toSorted().flatMap((name) => {
    const [, date, time] = /^bikeshare-(\d{8})T(\d{6})Z\.zip$/.exec(name) ?? [];
    if (date === undefined || time === undefined) return [];
    const madeAt = Date.parse(
      `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`,
    );
    return Number.isNaN(madeAt) ? [] : [{ name, madeAt }];
  });
}

/**
 * Returns the backups of a schedule, the oldest first. Ignores those with a name from a clock that was far ahead: they
 * would count as the newest backups, and each new one would be pruned.
 */
async function datedBackups({ directory, intervalMs }: Dated, now: number) {
  return (await listBackups(directory)).filter(({ madeAt }) => madeAt <= now + intervalMs);
}

type Dated = Pick<BackupSchedule, "directory" | "intervalMs">;

/** Returns the newest backup of a schedule. */
export async function latestBackup(
  schedule: Dated,
  now: number,
): Promise<{ readonly name: string; readonly madeAt: number } | undefined> {
  return (await datedBackups(schedule, now)).at(-1);
}

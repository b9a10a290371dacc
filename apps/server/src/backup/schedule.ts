import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type PeriodicWork, startPeriodic } from "../background/periodic.ts";
import { type BackupOptions, type BackupSummary, createBackup } from "./backup.ts";

export interface BackupSchedule {
  readonly directory: string;
  /** From one backup to the next. */
  readonly intervalMs: number;
  /** How many of the newest stay. */
  readonly keep: number;
}

interface ScheduledBackupOptions extends BackupSchedule, BackupOptions {
  readonly clock: () => number;
  readonly onBackup: (path: string, summary: BackupSummary) => void;
  readonly onError: (error: unknown) => void;
}

/** Between two looks whether a backup is due. Longer, and a failed one is tried again later. */
const CHECK_INTERVAL_MS = 60_000;

/**
 * Makes a backup whenever the newest in the directory is older than the interval, whatever was restarted meanwhile, and
 * then removes those beyond the newest few. Other files of the directory are left alone.
 */
export function startScheduledBackups(options: ScheduledBackupOptions): PeriodicWork {
  const { directory, intervalMs, keep, clock, onBackup, onError } = options;
  const work = async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const newest = (await listBackups(directory)).at(-1);
    if (newest !== undefined && clock() - newest.madeAt < intervalMs) return;
    const path = join(directory, backupName(clock()));
    onBackup(path, await createBackup(options, path));
    const backups = await listBackups(directory);
    for (const { name } of backups.slice(0, Math.max(0, backups.length - keep))) await rm(join(directory, name));
  };
  return startPeriodic({ intervalMs: CHECK_INTERVAL_MS, work, onError, immediately: true });
}

/** The name of a backup's file: `bikeshare-20260131T235959Z.zip`. @param instant milliseconds since 1970 */
export function backupName(instant: number): string {
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

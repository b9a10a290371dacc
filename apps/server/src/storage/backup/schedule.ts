import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type PeriodicWork, startPeriodic } from "../background/periodic.ts";
import type { WorkWatch } from "../background/work-watch.ts";
import { codeOf } from "../db/errors.ts";
import { claimDraft, draftOf } from "./archive.ts";
import { type BackupOptions, type BackupSummary, writeBackup } from "./backup.ts";

/** The backups that the service makes by itself: where, how often, and how many it keeps. */
export interface BackupSchedule {
  readonly directory: string;
  /** Milliseconds from one backup to the next. */
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

/** Milliseconds between two checks whether a backup is due. Too high: a failed backup is repeated later. */
const CHECK_INTERVAL_MS = 60_000;

/** A draft to which nothing was written for this long is taken for one that a killed process has left behind. */
const MAX_DRAFT_SILENCE_MS = 3_600_000;

/**
 * Makes a backup whenever the newest one in the directory is older than the interval, then removes all but the newest
 * `keep` backups. Also removes drafts of killed processes, and touches no other files. Makes no backup while another process
 * makes one in the same directory. `close` aborts a running backup, which may need hours.
 */
export function startScheduledBackups(options: ScheduledBackupOptions): PeriodicWork {
  const { directory, keep, clock, onBackup, watch } = options;
  const closed = new AbortController();
  const isDue = async () => {
    const newest = await latestBackup(options, clock());
    return newest === undefined || clock() - newest.madeAt >= options.intervalMs;
  };
  /** Claims the draft of a due backup. @returns the path; undefined: none is due, or another process makes the backup */
  const claimDue = async (): Promise<string | undefined> => {
    if (!(await isDue())) return undefined;
    const path = await claimPath(directory, clock());
    // The time of a file that was written just now: the machine that stores the directory may have another clock than ours.
    const { mtimeMs: now } = await stat(draftOf(path));
    // If several processes have begun a backup, only the first one goes on. It may have finished already, so `isDue` is
    // called again.
    const [first] = await listDrafts(directory, now);
    const isFirst = first === undefined || join(directory, first) === draftOf(path);
    if (isFirst && (await isDue())) return path;
    await rm(draftOf(path), { force: true });
    return undefined;
  };
  const removeOld = async () => {
    const backups = await datedBackups(options, clock());
    for (const { name } of backups.slice(0, Math.max(0, backups.length - keep)))
      await rm(join(directory, name), { force: true });
  };
  const work = async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = await claimDue();
    if (path === undefined) return;
    const summary = await writeBackup({ ...options, signal: closed.signal }, path);
    onBackup(path, summary);
    await removeOld();
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
 * Makes a backup in a directory. The file is named after `instant`, or after the first later second whose name no other
 * backup has, neither a finished one nor one that another process is writing.
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
 * Returns the drafts that are being written in a directory, the earliest first. Removes drafts that a killed process has
 * left behind.
 * @param now milliseconds since 1970 by the clock that dates the files
 */
async function listDrafts(directory: string, now: number): Promise<string[]> {
  const drafts: string[] = [];
  for (const name of (await readdir(directory)).toSorted()) {
    if (!/^bikeshare-\d{8}T\d{6}Z\.zip\.part$/.test(name)) continue;
    const path = join(directory, name);
    const found = await stat(path).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
    });
    // The draft has just been renamed to a backup.
    if (found === undefined) continue;
    if (now - found.mtimeMs > MAX_DRAFT_SILENCE_MS) await rm(path, { force: true });
    else drafts.push(name);
  }
  return drafts;
}

/** Claims the first free name, from the time `from` on, by creating its draft. Only one process can claim a name. */
async function claimPath(directory: string, from: number): Promise<string> {
  for (let instant = from; ; instant += 1_000) {
    const path = join(directory, backupName(instant));
    if (!(await claimDraft(path))) continue;
    // Looks for a finished backup only now: before the claim, another process could still have finished one.
    if (!(await readdir(directory)).includes(backupName(instant))) return path;
    await rm(draftOf(path));
  }
}

/** Returns the name of a backup's file: `bikeshare-20260131T235959Z.zip`. @param instant milliseconds since 1970 */
function backupName(instant: number): string {
  return `bikeshare-${new Date(instant).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.zip`;
}

/** Lists the files in a directory that are named by `backupName`, the oldest first, with the times in their names. */
export async function listBackups(directory: string): Promise<{ readonly name: string; readonly madeAt: number }[]> {
  return (await readdir(directory)).toSorted().flatMap((name) => {
    const madeAt = timeInName(name);
    return madeAt === undefined ? [] : [{ name, madeAt }];
  });
}

/** Returns the time in a name of `backupName`, in milliseconds since 1970; undefined: the name has another form. */
function timeInName(name: string): number | undefined {
  const parts = /^bikeshare-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.zip$/.exec(name);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}

/**
 * Returns the backups of a schedule, the oldest first. Ignores backups whose names come from a clock that was far ahead:
 * they would always count as the newest, and each new backup would be removed as an older one.
 */
async function datedBackups({ directory, intervalMs }: Dated, now: number) {
  return (await listBackups(directory)).filter(({ madeAt }) => madeAt <= now + intervalMs);
}

/** The settings that finding the backups of a schedule needs. */
type Dated = Pick<BackupSchedule, "directory" | "intervalMs">;

/** Returns the newest backup of a schedule. */
export async function latestBackup(
  schedule: Dated,
  now: number,
): Promise<{ readonly name: string; readonly madeAt: number } | undefined> {
  return (await datedBackups(schedule, now)).at(-1);
}

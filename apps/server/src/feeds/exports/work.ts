import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { exportFacts, type ExportManifest } from "@bikeshare/contract";
import { timeZoneOfSystem } from "../../city/descriptions/service.ts";
import type { Ids } from "../../ids.ts";
import { type PeriodicWork, startSystemSteps } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { isUnavailable } from "../../storage/db/errors.ts";
import { explainFileError, ExportFileError } from "./file-writer.ts";
import { makeExportApart } from "./make-apart.ts";
import { manifestOf } from "./make-file.ts";
import { monthOf } from "./months.rules.ts";
import {
  type Attempt,
  claimExport,
  deletePastExports,
  type ExportFacts,
  findExport,
  listFileOwners,
  type StoredExport,
  updateFailed,
  updateFinished,
  updateProgress,
  updateReleased,
} from "./queries.ts";
import { requestScheduledExports, storedNameOf, storedPathOf } from "./service.ts";

/*
 * The background work on exports. An attempt is one process's try to make a file. While a process makes a file, it writes
 * signs of life. If they cease, another process claims the export.
 */

/** The dependencies of the background work on exports. */
export interface ExportWorkOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly systems: () => Promise<readonly string[]>;
  readonly directory: string;
  /** This program's version. */
  readonly version: string;
  readonly onMade?: (systemId: string, manifest: ExportManifest) => void;
  /** @param systemId undefined: the systems could not be listed */
  readonly onError: (error: unknown, systemId?: string) => void;
  readonly watch?: WorkWatch | undefined;
  /** Milliseconds without a sign of life after which the process of a running export counts as ended. */
  readonly silenceMs?: number;
  /** Milliseconds between two signs of life. */
  readonly signMs?: number;
}

/** Milliseconds between two polls for waiting exports. Too high: people wait longer than making the file takes. */
const INTERVAL_MS = 5_000;
/** Milliseconds between two passes that request scheduled exports, and delete old exports and stray files. */
const CARE_INTERVAL_MS = 10 * 60_000;
/**
 * Default of `silenceMs`. Too low: a process that hangs for a moment loses its export. Too high: the export of a killed
 * process waits for long.
 */
const SILENCE_MS = 120_000;
/** Default of `signMs`. Several fit into `SILENCE_MS`, so that one that fails does no harm. */
const SIGN_MS = 10_000;
/** Attempts at an export. If each of them ended its process, the export fails. */
const MAX_ATTEMPTS = 3;
/** Days for which failed exports are shown. */
const FAILED_DAYS = 30;
const DAY_MS = 86_400_000;
/** Least age of a file that is deleted as a stray, from the last write. A younger file may belong to a running export. */
const MIN_STRAY_AGE_MS = 10 * 60_000;
/** Exports that one statement deletes. Too high: the statement takes long. */
const DELETE_BATCH_SIZE = 100;

/**
 * Makes the exports that people and schedules request, one at a time, and deletes old ones. Any number of processes may do
 * this work: each export is made by one of them. Closing the work interrupts the current export. Another process then makes
 * it from the start.
 */
export function startExportWork(options: ExportWorkOptions): PeriodicWork {
  // Calls `next` for each system in turn until no export waits, and `care` at its longer interval.
  return startSystemSteps({
    ...options,
    intervalMs: INTERVAL_MS,
    next: (systemId, closed) => makeNext(options, systemId, closed),
    care: async (eachSystem) => {
      await eachSystem((systemId) => takeCare(options, systemId));
      await removeStrayFiles(options);
    },
    careIntervalMs: CARE_INTERVAL_MS,
  });
}

/** Requests the exports that schedules want, and deletes old exports. @returns false: nothing is left to do */
async function takeCare(options: ExportWorkOptions, systemId: string): Promise<boolean> {
  await requestScheduledExports(options, systemId);
  const now = options.clock();
  const month = monthOf(now, await timeZoneOfSystem(options.db, systemId));
  const range = { failedBefore: new Date(now - FAILED_DAYS * DAY_MS), month, limit: DELETE_BATCH_SIZE };
  // Deletes batch by batch until a batch is not full.
  let deleted: number;
  do {
    deleted = await deletePastExports(options.db, systemId, range);
  } while (deleted === DELETE_BATCH_SIZE);
  return false;
}

/** Makes the earliest requested export of a system. @returns whether there was one */
async function makeNext(options: ExportWorkOptions, systemId: string, closed: AbortSignal): Promise<boolean> {
  const { db, clock, silenceMs = SILENCE_MS } = options;
  const id = await claimExport(db, systemId, silenceMs);
  const stored = id === undefined ? undefined : await findExport(db, systemId, id);
  if (stored === undefined) return false;
  const attempt: Attempt = { systemId, id: stored.id, attempts: stored.attempts };
  const fail = (problem: string) => updateFailed(db, attempt, problem, new Date(clock()));
  if (stored.attempts > MAX_ATTEMPTS) {
    await fail(`${MAX_ATTEMPTS} processes ended while they made it. Look into their logs, then have it made again.`);
    return true;
  }
  try {
    await make(options, attempt, stored, closed);
  } catch (error) {
    if (closed.aborted || isUnavailable(error)) {
      await updateReleased(db, attempt);
      // An interrupted export is no failure; an unavailable database is reported.
      if (!closed.aborted) throw error;
    } else if (error instanceof ExportFileError) await fail(error.message);
    else {
      await fail("It failed in a way that was not foreseen. The service's log says more.");
      throw error;
    }
  }
  return true;
}

/** Another process has claimed the export, or somebody deleted it. */
class AttemptLost extends Error {}

/** Makes the file of an export while it writes signs of life. A lost attempt ends without an error. */
async function make(
  options: ExportWorkOptions,
  attempt: Attempt,
  stored: StoredExport,
  closed: AbortSignal,
): Promise<void> {
  const { db, clock, directory, version, watch, onMade, signMs = SIGN_MS } = options;
  const lost = new AbortController();
  let rows = 0;
  const sign = async () => {
    // A sign that cannot be written does not end the attempt: the export itself reports an unavailable database.
    const isMine = await updateProgress(db, attempt, rows).catch(() => true);
    if (!isMine) lost.abort(new AttemptLost());
  };
  const timer = setInterval(() => void sign(), signMs);
  try {
    await mkdir(directory, { recursive: true, mode: 0o750 }).catch((error: unknown) => {
      throw explainFileError(error, directory);
    });
    const manifest = await makeExportApart({
      systemId: attempt.systemId,
      kind: stored.kind,
      month: stored.month,
      format: stored.format,
      privacy: stored.privacy,
      connectionString: db.connectionString,
      directory,
      baseName: storedNameOf(attempt),
      version,
      onProgress: (written) => {
        rows = written;
        watch?.gotOn();
      },
      signal: AbortSignal.any([closed, lost.signal]),
    });
    if (await updateFinished(db, attempt, factsOf(manifest), new Date(clock()))) onMade?.(attempt.systemId, manifest);
    // Another process has claimed the export, or somebody deleted it: nobody needs this attempt's file.
    else await removeFilesOf(directory, stored);
  } catch (error) {
    if (!(error instanceof AttemptLost)) throw error;
  } finally {
    clearInterval(timer);
  }
}

const factNames = Object.keys(exportFacts) as (keyof ExportFacts)[];

/** Returns the facts of a file's manifest that partners see in the list. */
function factsOf(manifest: ExportManifest): ExportFacts {
  return Object.fromEntries(factNames.map((name) => [name, manifest[name]])) as unknown as ExportFacts;
}

/** Removes the file and the manifest of an attempt. */
async function removeFilesOf(directory: string, stored: StoredExport): Promise<void> {
  const path = storedPathOf(directory, stored);
  for (const each of [manifestOf(path), path]) await rm(each, { force: true });
}

/** The names of exported files, their manifests and drafts: the export's id, the number of the attempt, then endings. */
const FILE_NAME = /^(export_[A-Za-z0-9]+)-(\d+)\.(?:csv\.gz|parquet)(?:\.manifest\.json)?(?:\.part)?$/;

/** Deletes files that belong to no export, such as drafts of killed processes. Files with other names are left alone. */
async function removeStrayFiles({ db, systems, directory, clock, onError }: ExportWorkOptions): Promise<void> {
  try {
    const names = await readdir(directory).catch(() => []);
    const files = names.flatMap((name) => {
      const [, id, attempts] = FILE_NAME.exec(name) ?? [];
      return id === undefined ? [] : [{ name, id, attempts: Number(attempts) }];
    });
    if (files.length === 0) return;
    const ids = [...new Set(files.map(({ id }) => id))];
    const owners = new Map<string, Pick<StoredExport, "attempts" | "state">>();
    for (const systemId of await systems())
      for (const { id, ...owner } of await listFileOwners(db, systemId, ids)) owners.set(id, owner);
    for (const { name, id, attempts } of files) {
      const path = join(directory, name);
      const owner = owners.get(id);
      // A running export may write nothing to its draft for a long time, while it counts.
      const isOwned = owner?.attempts === attempts && (owner.state === "running" || !name.endsWith(".part"));
      if (isOwned) continue;
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && clock() - found.mtimeMs > MIN_STRAY_AGE_MS) await rm(path, { force: true });
    }
  } catch (error) {
    onError(error);
  }
}

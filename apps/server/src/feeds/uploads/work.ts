import { mkdir, statfs } from "node:fs/promises";
import { extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { UploadResult } from "@bikeshare/contract/console";
import { ServiceError } from "@bikeshare/rules";
import type { Ids } from "../../ids.ts";
import { listActs } from "../../partners/audit/queries.ts";
import { type PeriodicWork, startSystemSteps } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { DatabaseUnavailable, isUnavailable } from "../../storage/db/errors.ts";
import { findImport } from "../imports/service.ts";
import { undoImport } from "../imports/undo.ts";
import { removeOldReports, TRIP_REPORT_NAME } from "../report-files.ts";
import { inBinaryUnits } from "../trips/inputs.ts";
import {
  claimUpload,
  deletePastUploads,
  findUpload,
  type StoredUpload,
  updateEnded,
  updateTried,
  updateUploadImport,
  updateUploadProgress,
  updateUploadReleased,
  type UploadAttempt,
} from "./queries.ts";
import type { UploadThreadOptions, UploadThreadReport } from "./upload-thread.ts";

/*
 * The background work on trip files that people upload. A step of an upload is its trial or its import (`service.ts`
 * explains the states). An attempt is one process's run of a step.
 */

/** The dependencies of the background work on uploads. */
export interface UploadWorkOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly systems: () => Promise<readonly string[]>;
  /** The directory for unpacked files and rides during an import. */
  readonly spoolDirectory: string;
  readonly reportsDirectory: string;
  /** @param systemId undefined: the systems could not be listed */
  readonly onError: (error: unknown, systemId?: string) => void;
  readonly watch?: WorkWatch | undefined;
  /** Milliseconds without a sign of life after which the process of a running upload counts as ended. */
  readonly silenceMs?: number;
  /** Milliseconds between two signs of life. */
  readonly signMs?: number;
  /** Bytes that must stay free on the disk. */
  readonly minFreeBytes?: number;
}

/** Milliseconds between two polls for waiting uploads. Too high: people wait longer than the trial takes, often a second. */
const INTERVAL_MS = 2_000;
/** Milliseconds between two deletions of abandoned uploads. */
const CARE_INTERVAL_MS = 60_000;
/**
 * Default of `silenceMs`. Too low: a process that hangs for a moment loses its upload. Too high: the upload of a killed
 * process waits for long.
 */
const SILENCE_MS = 60_000;
/** Default of `signMs`. Each sign also writes the progress that the person sees. */
const SIGN_MS = 2_000;
/** Attempts at a step. If each of them ended its process, the upload fails. */
const MAX_ATTEMPTS = 3;
/** Milliseconds without data after which a partly sent file is deleted. */
const UNSENT_MS = 15 * 60_000;
/** Milliseconds after its trial after which a file that nobody imports is deleted. */
const UNDECIDED_MS = 12 * 3_600_000;
/** Default of `minFreeBytes`. PostgreSQL may use the same disk, and would fail if imports filled it. */
const MIN_FREE_BYTES = 1024 ** 3;
/** Most heap memory of one import, in MB. Enough for files of any size, because the importer reads and writes in pieces. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };

/**
 * Runs the steps of uploads, one at a time, and deletes abandoned uploads. Any number of processes may do this work: each
 * step is done by one of them. Closing the work interrupts the current step. Another process then undoes what the
 * interrupted step wrote, and repeats the step.
 */
export function startUploadWork(options: UploadWorkOptions): PeriodicWork {
  const ages = { silentMs: UNSENT_MS, untouchedMs: UNDECIDED_MS };
  return startSystemSteps({
    ...options,
    intervalMs: INTERVAL_MS,
    next: (systemId, closed) => doNext(options, systemId, closed),
    care: (eachSystem) =>
      eachSystem(async (systemId) => {
        await deletePastUploads(options.db, systemId, ages);
        return false; // nothing is left to do
      }),
    careIntervalMs: CARE_INTERVAL_MS,
  });
}

/** The attempt failed for a reason that people can do something about. */
class UploadProblem extends Error {}

/** Another process has claimed the upload, or somebody discarded it. */
class AttemptLost extends Error {}

/** Runs the next waiting step of a system. @returns whether there was one */
async function doNext(options: UploadWorkOptions, systemId: string, closed: AbortSignal): Promise<boolean> {
  const { db, silenceMs = SILENCE_MS } = options;
  const id = await claimUpload(db, systemId, silenceMs);
  const upload = id === undefined ? undefined : await findUpload(db, systemId, id);
  if (upload === undefined) return false;
  const attempt: UploadAttempt = { systemId, id: upload.id, attempts: upload.attempts };
  const fail = async (problem: string) =>
    updateEnded(db, attempt, { importId: await begunImport(db, attempt), problem });
  try {
    if (upload.attempts > MAX_ATTEMPTS)
      throw new UploadProblem(`${MAX_ATTEMPTS} processes ended while they read it. Look into their logs.`);
    await doStep(options, attempt, upload, closed);
  } catch (error) {
    if (error instanceof AttemptLost) return true;
    if (closed.aborted || isUnavailable(error)) {
      // Another process repeats the step. Only an unavailable database is an error to report.
      await updateUploadReleased(db, attempt);
      if (!closed.aborted) throw error;
    } else if (error instanceof UploadProblem || error instanceof ServiceError) {
      await fail(error.message);
    } else {
      await fail("It failed in a way that was not foreseen. The service's log says more.");
      throw error;
    }
  }
  return true;
}

/** Returns the id of the import that an attempt began; null: the attempt wrote nothing. */
async function begunImport(db: Database, { systemId, id }: UploadAttempt): Promise<string | null> {
  const importId = (await findUpload(db, systemId, id))?.import_id ?? null;
  return importId !== null && (await findImport(db, systemId, importId)) !== undefined ? importId : null;
}

/** Runs a step while it writes signs of life. A lost attempt or a full disk aborts the step. */
async function doStep(
  options: UploadWorkOptions,
  attempt: UploadAttempt,
  upload: StoredUpload,
  closed: AbortSignal,
): Promise<void> {
  const { db, ids, signMs = SIGN_MS } = options;
  const ended = new AbortController();
  const progress = { share: 0, rows: 0 };
  // Writes a sign of life and the progress.
  const sign = async () => {
    // A sign that cannot be written does not end the step: the step itself reports an unavailable database.
    const isMine = await updateUploadProgress(db, attempt, progress).catch(() => true);
    if (!isMine) ended.abort(new AttemptLost());
    const problem = await diskProblem(options);
    if (problem !== undefined) ended.abort(new UploadProblem(problem));
  };
  const timer = setInterval(() => void sign(), signMs);
  const signal = AbortSignal.any([closed, ended.signal]);
  try {
    await mkdir(options.spoolDirectory, { recursive: true, mode: 0o700 });
    await sign();
    // An upload that was claimed again may have an import that an ended process began.
    const isImported = upload.step === "import" && (await resolveInterruptedImport(options, attempt, upload, signal));
    if (isImported) return;
    // Null: the step is the trial, which stores no ride.
    const importId = upload.step === "import" ? ids.next("import") : null;
    // False: another process has claimed the upload meanwhile, and runs the step.
    if (importId !== null && !(await updateUploadImport(db, attempt, importId))) return;
    const { result, isRecorded } = await runApart(options, attempt.systemId, upload, importId, signal, progress);
    if (importId === null) await updateTried(db, attempt, result);
    else await updateEnded(db, attempt, { importId: isRecorded ? importId : null, result });
    await removeOldReports(options.reportsDirectory, TRIP_REPORT_NAME);
  } finally {
    clearInterval(timer);
  }
}

/** Returns what to tell people when the disk is nearly full; undefined: it is not, or its free space is not known. */
async function diskProblem({
  spoolDirectory,
  minFreeBytes = MIN_FREE_BYTES,
}: UploadWorkOptions): Promise<string | undefined> {
  const found = await statfs(spoolDirectory).catch(() => undefined);
  if (found === undefined || found.bavail * found.bsize >= minFreeBytes) return undefined;
  const limit = inBinaryUnits(minFreeBytes);
  return `Less than ${limit} is free on the disk of ${spoolDirectory}. Free space there, then send the file again.`;
}

/**
 * Undoes what an interrupted attempt wrote, so that the import can begin again from nothing. If the earlier attempt did
 * finish the import but could not write that, marks the upload as done.
 * @returns whether the file is imported
 * @throws UploadProblem when a person has undone the interrupted import, or has begun to
 */
async function resolveInterruptedImport(
  { db, clock, ids }: UploadWorkOptions,
  attempt: UploadAttempt,
  { import_id: id, file_name: file }: StoredUpload,
  signal: AbortSignal,
): Promise<boolean> {
  const interrupted = id === null ? undefined : await findImport(db, attempt.systemId, id);
  if (interrupted === undefined) return false;
  if (interrupted.status === "done") {
    await updateEnded(db, attempt, { importId: interrupted.id, result: null });
    return true;
  }
  if (interrupted.status !== "running" && !(await isUndoneByServer(db, attempt.systemId, interrupted.id)))
    throw new UploadProblem(`The import of ${file} was undone while it ran.`);
  if (interrupted.status === "undone") return false;
  // Uses a connection without a statement timeout, because counting the written rides may take long.
  const own = openDatabase({ connectionString: db.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    const context = { db: own, clock, ids, actor: UNDO_ACTOR, onProgress: () => signal.throwIfAborted() };
    await undoImport(context, attempt.systemId, interrupted.id);
  } finally {
    await own.close();
  }
  return false;
}

/** Who undoes interrupted imports, by the audit log. */
const UNDO_ACTOR = "server";

/**
 * Tells whether an earlier attempt, rather than a person, began to undo an import. Its process may have ended during the
 * undo, and another may have completed the undo since.
 */
async function isUndoneByServer(db: Database, systemId: string, importId: string): Promise<boolean> {
  const acts = await listActs(db, systemId, { subject: importId, actor: UNDO_ACTOR, limit: 10 });
  return acts.some(({ action }) => action === "import.undone");
}

/**
 * Runs a step on its own thread, so that the process can answer requests meanwhile. Aborting ends the thread: PostgreSQL
 * rolls back its transactions, and its temporary files vanish, because they have no name in a directory.
 * @param progress set to the latest progress that the thread reports
 * @throws UploadProblem, DatabaseUnavailable
 */
async function runApart(
  options: UploadWorkOptions,
  systemId: string,
  upload: StoredUpload,
  importId: string | null,
  signal: AbortSignal,
  progress: { share: number; rows: number },
): Promise<{ readonly result: UploadResult; readonly isRecorded: boolean }> {
  signal.throwIfAborted();
  const { db, clock, spoolDirectory, reportsDirectory, watch } = options;
  const extension = extname(import.meta.url);
  const workerData: UploadThreadOptions = {
    connectionString: db.connectionString,
    systemId,
    upload,
    importId,
    spoolDirectory,
    now: clock(),
    reportPath: importId === null ? null : join(reportsDirectory, `${importId}.ndjson`),
  };
  const thread = new Worker(new URL(`./upload-thread${extension}`, import.meta.url), {
    workerData,
    resourceLimits: LIMITS,
    // If this process runs from TypeScript source, the thread must resolve our packages to their source too.
    execArgv: extension === ".ts" ? ["--conditions=@bikeshare/source"] : [],
  });
  const { promise, resolve, reject } = Promise.withResolvers<{ result: UploadResult; isRecorded: boolean }>();
  const stop = () => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  thread.on("error", (error) => reject(explained(error)));
  thread.on("exit", () => reject(new Error("the thread of the upload ended")));
  thread.on("message", (report: UploadThreadReport) => {
    watch?.gotOn();
    if ("share" in report) Object.assign(progress, report);
    else if ("result" in report) resolve(report);
    else reject(report.isAway ? new DatabaseUnavailable(report.problem) : new UploadProblem(report.problem));
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    await thread.terminate();
  }
}

/** Turns a thread's lack of memory into an UploadProblem. Returns any other error unchanged. */
function explained(error: unknown): unknown {
  const isOutOfMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isOutOfMemory
    ? new UploadProblem("It takes more memory than an import in the browser may. Use the command.")
    : error;
}

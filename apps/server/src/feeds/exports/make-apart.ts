import { rm } from "node:fs/promises";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { ExportManifest } from "@bikeshare/contract";
import { DatabaseUnavailable } from "../../storage/db/errors.ts";
import type { ThreadOptions, ThreadReport } from "./export-thread.ts";
import { ExportFileError } from "./file-writer.ts";
import { draftOf, type MakeOptions } from "./make-file.ts";

/**
 * Most heap memory of one export's thread, in MB. The rows of one Parquet row group are in memory, 20,000 at most. Too
 * low: exports of cities with thousands of stations fail. Too high: takes memory from requests.
 */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

/**
 * Makes an exported file on its own thread, so that the process can answer requests meanwhile. Aborting ends the thread.
 * Deletes the draft if no file was made.
 * @throws ExportFileError, DatabaseUnavailable
 */
export async function makeExportApart({ onProgress, signal, ...options }: MakeOptions): Promise<ExportManifest> {
  signal?.throwIfAborted();
  const extension = extname(import.meta.url);
  const thread = new Worker(new URL(`./export-thread${extension}`, import.meta.url), {
    workerData: options satisfies ThreadOptions,
    resourceLimits: LIMITS,
    // If this process runs from TypeScript source, the thread must resolve our packages to their source too.
    execArgv: extension === ".ts" ? ["--conditions=@bikeshare/source"] : [],
  });
  const { promise, resolve, reject } = Promise.withResolvers<ExportManifest>();
  const stop = () => reject(signal?.reason as Error);
  signal?.addEventListener("abort", stop, { once: true });
  thread.on("error", (error) => reject(explained(error)));
  thread.on("exit", () => reject(new Error("the thread of the export ended")));
  thread.on("message", (report: ThreadReport) => {
    if ("rows" in report) onProgress?.(report.rows);
    else if ("manifest" in report) resolve(report.manifest);
    else reject(report.isAway ? new DatabaseUnavailable(report.problem) : new ExportFileError(report.problem));
  });
  try {
    return await promise;
  } catch (error) {
    // Before the draft is deleted, because a running thread would go on writing it.
    await thread.terminate();
    await rm(draftOf(options), { force: true });
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    await thread.terminate();
  }
}

/** Turns a thread's lack of memory into an ExportFileError. Returns any other error unchanged. */
function explained(error: unknown): unknown {
  const isOutOfMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isOutOfMemory
    ? new ExportFileError("The export takes more memory than one may. Tell the makers of this service.")
    : error;
}

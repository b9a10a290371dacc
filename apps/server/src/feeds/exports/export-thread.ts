import { parentPort, workerData } from "node:worker_threads";
import type { ExportManifest } from "@bikeshare/contract";
import { isUnavailable } from "../../storage/db/errors.ts";
import { ExportFileError } from "./file-writer.ts";
import { type MakeOptions, makeExportFile } from "./make-file.ts";

/** The options of the worker thread that makes an exported file. */
export type ThreadOptions = Omit<MakeOptions, "onProgress" | "signal">;

/** A message of the thread: progress, result or error. */
export type ThreadReport =
  | { readonly rows: number }
  | { readonly manifest: ExportManifest }
  /** An error as plain data, because errors lose their classes between threads. `isAway`: the database is unavailable. */
  | { readonly problem: string; readonly isAway: boolean };

const report = (message: ThreadReport) => parentPort?.postMessage(message);

try {
  const options = workerData as ThreadOptions;
  const manifest = await makeExportFile({ ...options, onProgress: (rows) => report({ rows }) });
  report({ manifest });
} catch (error) {
  const isAway = isUnavailable(error);
  if (!isAway && !(error instanceof ExportFileError)) throw error;
  report({ problem: error instanceof Error ? error.message : String(error), isAway });
}

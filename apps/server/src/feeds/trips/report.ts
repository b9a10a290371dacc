import { closeSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import type { ImportFileErrorReason, RejectReason, WarningReason } from "./problems.ts";

/** One line of a report. */
export interface ReportEntry {
  /** `rejected`: the row was not imported; `warning`: it was; `refused`: nothing of the file was. */
  readonly kind: "rejected" | "warning" | "refused";
  readonly file: string;
  /** The line in the file, as an editor counts; null: the file as a whole. */
  readonly row: number | null;
  readonly column: string | null;
  readonly value: string | null;
  readonly reason: RejectReason | WarningReason | ImportFileErrorReason;
}

/** A file of problems, one JSON object a line. There is none until there is a problem. */
export interface Report {
  add(entry: ReportEntry): void;
  /** Writes the rest; gives the file's path, or null when there was nothing to report. */
  close(): string | null;
}

/** Characters of a value that are shown. Longer would fill the disk when a file is broken throughout. */
const MAX_VALUE = 200;
/** Characters kept before they are written. */
const BUFFER = 64 * 1024;

/** Prepares a report at a path; null: there is none. Its folder is made with the first entry. */
export function createReport(path: string | null): Report {
  if (path === null) return { add: () => undefined, close: () => null };
  let file: number | undefined;
  let waiting = "";
  // Entries come from within a parser, which cannot wait; they are few, so writing at once does no harm.
  const flush = () => {
    if (waiting === "") return;
    if (file === undefined) {
      makeDirectory(dirname(path));
      file = openSync(path, "w", 0o600);
    }
    writeSync(file, waiting);
    waiting = "";
  };
  return {
    add(entry) {
      const value =
        entry.value !== null && entry.value.length > MAX_VALUE ? `${entry.value.slice(0, MAX_VALUE)}…` : entry.value;
      waiting += `${JSON.stringify({ ...entry, value })}\n`;
      if (waiting.length > BUFFER) flush();
    },
    close() {
      flush();
      if (file === undefined) return null;
      closeSync(file);
      return path;
    },
  };
}

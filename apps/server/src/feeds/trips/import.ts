import { closeSync, openSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import { pickSlot } from "../../city/counts/service.ts";
import {
  makePlaceholderStations,
  type PlaceholderStations,
  previewPlaceholderStations,
  type StationSighting,
} from "../../city/fleet/placeholder-stations.ts";
import {
  listImportOverlaps,
  type PastRideBatch,
  type PastRidesWritten,
  type RideOrigin,
  tryPastRides,
  type TryPastRides,
  writePastRides,
} from "../../city/fleet/ride-import.ts";
import { careForTables, RIDE_TABLES } from "../../storage/db/vacuum.ts";
import { createReportSummary } from "../imports/report.rules.ts";
import { addToImport, beginImport, finishImport, type ImportReport, whileReporting } from "../imports/service.ts";
import { shownAddress } from "../outgoing.ts";
import { shorten } from "../report-files.ts";
import { findInputs, type FoundInputs, type TripInput } from "./inputs.ts";
import {
  createProgressMeter,
  type ProgressMeter,
  type RefusedFile,
  type TripImportOptions,
  type TripImportResult,
} from "./options.ts";
import { ImportFileError, type ImportFileErrorReason, type RejectReason, type WarningReason } from "./problems.ts";
import { openSpool, type Spool } from "./spool.ts";
import { type StagedFile, stageTripFile } from "./stage.ts";
import { createShiftCounter } from "./trip-times.rules.ts";

/*
 * Imports files of past trips as rides of a system. Each file is first staged: its rows are checked, and its rides go to a
 * spool, which is a temporary file on disk. Then its rides are written to the database. The spool divides the rides into
 * lanes: a lane is written in order, and all lanes at the same time. A trial runs the same steps, but stores nothing.
 *
 * A sighting is a station that rows of a file name. If the system does not have the station, and its location is known, the
 * import makes a placeholder for it, which is offline until a feed describes the station.
 */

/** Most warnings of one file that are remembered, to report each once. Beyond it, in broken files, warnings may repeat. */
const MAX_REMEMBERED_WARNINGS = 10_000;
/** Time limits of one download: for all of it, and for the server's silence. */
const DOWNLOAD_TIMEOUT_MS = 2 * 3_600_000;
const DOWNLOAD_SILENCE_MS = 60_000;

type Origin = RideOrigin & { readonly importId: string };

/** The state that the steps of one import share. */
interface Run {
  readonly options: TripImportOptions;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly origin: Origin;
  readonly writer: TripWriter;
  readonly report: Report;
  readonly tally: Tally;
  readonly progress: ProgressMeter;
}

/**
 * Imports trip files. A rejected file changes nothing, and the other files are imported all the same. Each file is read to
 * its end before its first ride is written. While one file is written, the next is read. Rides that are stored already stay
 * as they are, so running an interrupted import again completes it.
 * @throws ImportUndone when another process undoes this import, or an import of the same rides, meanwhile
 */
export async function importTrips(options: TripImportOptions): Promise<TripImportResult> {
  const found = await findInputs({
    arguments: options.files,
    standardInput: options.standardInput,
    standardInputName: options.standardInputName,
    maxTextBytes: options.maxTextBytes,
    temporaryDirectory: options.spoolDirectory,
    name: options.importId,
    downloads: { timeoutMs: DOWNLOAD_TIMEOUT_MS, silenceMs: DOWNLOAD_SILENCE_MS, signal: options.signal },
    onBytes: (name, bytes) => {
      options.signal.throwIfAborted();
      options.onProgress({ file: name, doing: "fetching", rows: bytes, share: 0 });
    },
  });
  try {
    if (!options.isTrial) return await runImport(options, found, createTripWriter);
    // `tryBatch` only counts what writing a batch would do. It remembers the rides of earlier batches in a temporary table.
    return await tryPastRides(options.db, options.systemId, (tryBatch) =>
      runImport(options, found, () => createTrialWriter(options, tryBatch)),
    );
  } finally {
    await found.close();
  }
}

/** Imports the inputs that were found, or tries to, by the writer that `createWriter` makes. */
async function runImport(
  options: TripImportOptions,
  { inputs, rejected }: FoundInputs,
  createWriter: (options: TripImportOptions, origin: Origin) => TripWriter,
): Promise<TripImportResult> {
  const report = createReport(options.reportPath);
  const now = options.clock();
  const { systemId, importId, source } = options;
  const origin = { systemId, importId, source, updatedAt: new Date(now).toISOString() };
  const progress = createProgressMeter(inputs, options.onProgress);
  const run: Run = {
    options,
    now,
    origin,
    writer: createWriter(options, origin),
    report,
    tally: createTally(),
    progress,
  };
  for (const { name, error } of rejected) reportFileError(run, name, error);
  let finalReport: ImportReport;
  try {
    const importAll = () => importInputs(run, inputs);
    // A trial stores nothing, and so no progress either.
    await (options.isTrial
      ? importAll()
      : whileReporting({ ...options, kind: "trips" }, () => progressOf(run), importAll));
  } finally {
    finalReport = report.close();
  }
  options.onReport?.(finalReport);
  return run.tally.result(await run.writer.finish(finalReport), finalReport.path);
}

/** Returns the progress that other processes can read in the database. */
function progressOf({ progress, tally }: Run) {
  return { share: progress.share(), rows_read: progress.rowsRead(), ...tally.counts() };
}

/** Stages one file after another. While a file is staged, the file before is written. */
async function importInputs(run: Run, inputs: readonly TripInput[]): Promise<void> {
  /** The writing of the file before. */
  let written: Promise<void> = Promise.resolve();
  try {
    for (const [index, input] of inputs.entries()) {
      const staged = await stage(run, input, index);
      // Files are written one after the other, so that the first of two rows with the same id wins. If writing the file
      // before failed, the import ends here, and the spool of this file is closed.
      await written.catch(async (error: unknown) => {
        await staged?.spool.close();
        throw error;
      });
      written = staged === undefined ? Promise.resolve() : write(run, input, staged);
      // Prevents an unhandled rejection. The next iteration or the code below awaits `written` and throws its failure.
      written.catch(() => undefined);
    }
    await written;
    await reportOverlaps(run, inputs);
  } finally {
    // Also if staging failed: the import must not end while a file is still being written.
    await written.catch(() => undefined);
  }
}

/** Reports a warning for rides of one bike that overlap in time. These rides are imported nevertheless. */
async function reportOverlaps({ options, tally, report }: Run, inputs: readonly TripInput[]): Promise<void> {
  const starts = tally.starts();
  if (options.isTrial || starts === undefined || tally.counts().created === 0) return;
  const { n, ids } = await listImportOverlaps(options.db, options.systemId, options.importId, starts);
  tally.warn("overlapping_ride", n);
  const file = inputs.length === 1 ? (inputs[0]?.name ?? "") : "all files";
  for (const value of ids) {
    report.add({ kind: "warning", file, row: null, column: null, value, reason: "overlapping_ride" });
  }
}

/** A file whose rows were checked, and the spool with its rides. */
interface Staged {
  readonly file: StagedFile;
  readonly spool: Spool;
}

/** Errors that show that a text is not a trip file. A text that may be something else is then skipped, not rejected. */
const NO_TRIP_FILE: ReadonlySet<ImportFileError["reason"]> = new Set([
  "unknown_header",
  "not_text",
  "empty",
  "unparsable",
]);

/** Reads a file into a spool; undefined when the file is rejected or skipped. */
async function stage(run: Run, input: TripInput, index: number): Promise<Staged | undefined> {
  const { options, now, origin, report, progress } = run;
  const spool = await openSpool(options.spoolDirectory, `${options.importId}-${index}`, origin);
  try {
    const file = await stageTripFile(
      {
        input,
        source: options.source,
        zone: options.zone,
        now,
        reject: (row, problem) => report.add({ kind: "rejected", file: input.name, row, ...problem }),
        warn: warner(run, input.name),
        progress: (bytes, rows) => {
          options.signal.throwIfAborted();
          progress.read(input, bytes, rows);
        },
      },
      spool,
    );
    return { file, spool };
  } catch (error) {
    await spool.close();
    if (!(error instanceof ImportFileError)) throw error;
    progress.skip(input);
    if (input.mayBeOther === true && NO_TRIP_FILE.has(error.reason)) run.tally.skipFile(input.name);
    else reportFileError(run, input.name, error);
    return undefined;
  }
}

/** Reports that nothing of a file is imported, and why. */
function reportFileError({ tally, report }: Run, name: string, { reason, row, message }: ImportFileError): void {
  tally.rejectFile({ file: name, row, reason, message });
  // The command prints why a file is unreadable; the report would only repeat it.
  if (reason === "unreadable") return;
  report.add({ kind: "refused", file: name, row, column: null, value: message, reason });
}

/** Writes a file's stations and rides. */
async function write(run: Run, input: TripInput, { file, spool }: Staged): Promise<void> {
  const { options, tally, writer, progress } = run;
  try {
    await writeStations(run, input.name, file);
    tally.addFile(file);
    options.onLayout?.(file.layout);
    const rows = spool.lanes.flat().reduce((sum, batch) => sum + batch.rows, 0);
    let done = 0;
    const writeLane = async (batches: readonly PastRideBatch[]) => {
      for (const batch of batches) {
        options.signal.throwIfAborted();
        await writeBatch(run, input.name, file.idColumn, batch);
        done += batch.rows;
        progress.wrote(input, done, rows);
      }
    };
    const lanes = writer.lanes === "one" ? [spool.lanes.flat()] : spool.lanes;
    const failed = (await Promise.allSettled(lanes.map(writeLane))).find((lane) => lane.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    await writer.stationsAgain(file.sightings.all());
    progress.wrote(input, rows, rows);
  } finally {
    await spool.close();
  }
}

/** Creates placeholders for a file's unknown stations. Warns of these, and of those without a location. */
async function writeStations(run: Run, name: string, { sightings, rejected }: StagedFile): Promise<void> {
  const rejectedRows = [...rejected.values()].reduce((sum, n) => sum + n, 0);
  const placeholders = await run.writer.stations(sightings.all(), rejectedRows);
  const warn = warner(run, name);
  const warnOf = (reason: WarningReason, id: string) => {
    const mention = sightings.firstMention(id);
    if (mention !== undefined) warn(reason, mention.row, mention.column, id);
  };
  for (const id of placeholders.made) warnOf("unknown_station", id);
  for (const id of placeholders.withoutLocation) warnOf("station_without_location", id);
  run.tally.addStations(placeholders.made.length);
}

/** Writes a batch of rides. Reports rows with the id of a stored ride that differs from them. */
async function writeBatch(run: Run, name: string, idColumn: string | null, batch: PastRideBatch): Promise<void> {
  const { tally, report, writer } = run;
  const result = await writer.rides(batch);
  tally.addBatch(result);
  for (const { row, id } of result.differing) {
    report.add({ kind: "rejected", file: name, row, column: idColumn, value: id, reason: "duplicate_id" });
  }
}

/** Returns a function that reports warnings about a file, each value once: every row may have an unknown rider category. */
function warner({ report, tally }: Run, name: string) {
  const seen = new Set<string>();
  return (reason: WarningReason, row: number, column: string, value: string): void => {
    const key = `${reason} ${value}`;
    if (seen.has(key)) return;
    if (seen.size < MAX_REMEMBERED_WARNINGS) seen.add(key);
    tally.warn(reason);
    report.add({ kind: "warning", file: name, row, column, value, reason });
  };
}

/** Writes an import's rides and stations to the database. For a trial, only counts what it would write. */
interface TripWriter {
  /** Whether several batches may be written at the same time, or only one. */
  readonly lanes: "several" | "one";
  /** Inserts placeholders for unknown stations. @param rejected rows of the file that were rejected while it was read */
  stations(sightings: readonly StationSighting[], rejected: number): Promise<PlaceholderStations>;
  rides(batch: PastRideBatch): Promise<PastRidesWritten>;
  /** Inserts again those placeholder stations that the undo of another import deleted while the rides were written. */
  stationsAgain(sightings: readonly StationSighting[]): Promise<void>;
  /** Marks the import as done. @returns the id of its record; null when it has none */
  finish(report: ImportReport): Promise<string | null>;
}

/** Writes to the database, and records the import with the first file that was read to its end without an error. */
function createTripWriter(options: TripImportOptions, origin: Origin): TripWriter {
  const { db, systemId, source, importId, ids, files, zone } = options;
  // Picks a random slot of the stored counts for each transaction, so that concurrent transactions rarely lock the same row.
  const slot = () => pickSlot(() => ids.random());
  let isBegun = false;
  // Whether all rides of the last batch were new, as a guess for the next batch. Rides that another file or an interrupted
  // import has stored already mostly follow each other.
  let areNew = true;
  return {
    lanes: "several",
    async stations(sightings, rejected) {
      const placeholders = await db.transaction(async (tx) => {
        if (!isBegun) {
          const named = (file: string) => (file === "-" ? (options.standardInputName ?? file) : shownAddress(file));
          const detail = { files: files.map(named), time_zone: zone.name };
          await beginImport(tx, options, {
            systemId,
            id: importId,
            kind: "trips",
            source,
            at: new Date(origin.updatedAt),
            detail,
          });
        }
        const made = await makePlaceholderStations(tx, { ...origin, slot: slot() }, sightings);
        await addToImport(tx, systemId, importId, { rejected, stationsCreated: made.made.length });
        return made;
      });
      isBegun = true;
      return placeholders;
    },
    async rides(batch) {
      const written = await writePastRides(db, origin, batch, slot(), areNew);
      areNew = written.created === batch.rows;
      return written;
    },
    async stationsAgain(sightings) {
      await db.transaction(async (tx) => {
        const { made } = await makePlaceholderStations(tx, { ...origin, slot: slot() }, sightings);
        if (made.length > 0) await addToImport(tx, systemId, importId, { stationsCreated: made.length });
      });
    },
    async finish(report) {
      if (!isBegun) return null;
      await finishImport(db, systemId, importId, report);
      await careForTables(db.connectionString, RIDE_TABLES);
      return importId;
    },
  };
}

/** Returns the writer of a trial, which counts the rows that an import would write. */
function createTrialWriter({ db, systemId }: TripImportOptions, tryBatch: TryPastRides): TripWriter {
  const made = new Set<string>();
  return {
    lanes: "one",
    async stations(sightings) {
      const placeholders = await previewPlaceholderStations(db, systemId, sightings);
      const fresh = placeholders.made.filter((id) => !made.has(id));
      for (const id of fresh) made.add(id);
      // The database has none of the placeholders that earlier files of this trial would have created; `made` has them.
      return { made: fresh, withoutLocation: placeholders.withoutLocation.filter((id) => !made.has(id)) };
    },
    rides: tryBatch,
    stationsAgain: () => Promise.resolve(),
    finish: () => Promise.resolve(null),
  };
}

/** One line of the report's file. `imports/report.rules.ts` has the entry that the database stores. */
export interface ReportEntry {
  /** `rejected`: the row was not imported. `warning`: the row was imported. `refused`: nothing of the file was imported. */
  readonly kind: "rejected" | "warning" | "refused";
  readonly file: string;
  /** The number of the line in the file, as an editor counts lines; null: the entry is about the whole file. */
  readonly row: number | null;
  readonly column: string | null;
  readonly value: string | null;
  readonly reason: RejectReason | WarningReason | ImportFileErrorReason;
}

/** Characters of a report that are buffered before they are written to its file. */
const BUFFER_LENGTH = 64 * 1024;

type Report = ReturnType<typeof createReport>;

/**
 * Returns a report of problems: a file with one JSON object for each line. Without a problem, no file is created.
 * @param path null: no file is written
 */
function createReport(path: string | null) {
  /** The descriptor of the report's file; undefined: nothing was written yet. */
  let fd: number | undefined;
  let waiting = "";
  const summary = createReportSummary();
  // Writes synchronously, because the parser that adds entries cannot wait. Entries are few, so this costs little.
  const flush = () => {
    if (waiting === "" || path === null) return;
    if (fd === undefined) {
      makeDirectory(dirname(path));
      fd = openSync(path, "w", 0o600);
    }
    // Not `writeSync`, which writes only a part of the text when the disk fills up.
    writeFileSync(fd, waiting);
    waiting = "";
  };
  return {
    add(entry: ReportEntry): void {
      const shown = { ...entry, value: entry.value === null ? null : shorten(entry.value) };
      // The stored entries have names that also fit the reports of feeds.
      const { kind: outcome, file: part, row, column: field, value, reason } = shown;
      summary.add({ part, record: row === null ? null : String(row), field, value, reason, outcome });
      if (path === null) return;
      waiting += `${JSON.stringify(shown)}\n`;
      if (waiting.length > BUFFER_LENGTH) flush();
    },
    /**
     * Writes the rest of the report.
     * @returns the summary, which the database stores, and the file's path, which is null when no file was written
     */
    close(): ImportReport {
      flush();
      if (fd !== undefined) closeSync(fd);
      return { path: fd === undefined ? null : path, ...summary.result() };
    },
  };
}

type Tally = ReturnType<typeof createTally>;

/** Adds up the result of an import. */
function createTally() {
  const reasons = new Map<RejectReason, number>();
  const warnings = new Map<WarningReason, number>();
  const refused: RefusedFile[] = [];
  const skipped: string[] = [];
  const shifts = createShiftCounter();
  let rows = 0;
  let created = 0;
  let unchanged = 0;
  let stations = 0;
  let first: number | undefined;
  let last: number | undefined;
  /** Returns how many rows have been created, unchanged and rejected so far. */
  const counts = () => ({ created, unchanged, rejected: [...reasons.values()].reduce((sum, n) => sum + n, 0) });
  return {
    skipFile: (name: string) => void skipped.push(name),
    rejectFile: (file: RefusedFile) => void refused.push(file),
    warn: (reason: WarningReason, n = 1) => addUp(warnings, reason, n),
    /** Adds a file that was read to its end and whose rides will be written. */
    addFile(file: StagedFile): void {
      rows += file.rows;
      for (const [reason, n] of file.rejected) addUp(reasons, reason, n);
      if (file.starts === null) return;
      first = Math.min(first ?? Infinity, file.starts.first);
      last = Math.max(last ?? -Infinity, file.starts.last);
    },
    addStations: (made: number) => void (stations += made),
    addBatch(written: PastRidesWritten): void {
      created += written.created;
      unchanged += written.unchanged;
      addUp(reasons, "duplicate_id", written.differing.length);
      for (const ride of written.differing) shifts.add(ride);
    },
    counts,
    /** When the first and the last ride of the files started; undefined: no row could be read. */
    starts: () =>
      first === undefined || last === undefined ? undefined : { first: new Date(first), last: new Date(last) },
    /** @param id the id of the import's record; null: none was written */
    result: (id: string | null, report: string | null): TripImportResult => ({
      id,
      rows,
      ...counts(),
      reasons: Object.fromEntries(reasons),
      warnings: Object.fromEntries(warnings),
      stations_created: stations,
      refused,
      skipped,
      report,
      first: instantOf(first),
      last: instantOf(last),
      time_shift: shifts.result() ?? null,
    }),
  };
}

function instantOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

function addUp<Key>(sums: Map<Key, number>, key: Key, n: number): void {
  if (n > 0) sums.set(key, (sums.get(key) ?? 0) + n);
}

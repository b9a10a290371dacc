import { listImportOverlaps, type PastRideBatch, type RideOrigin, tryPastRides } from "../../city/fleet/ride-import.ts";
import { whileReporting } from "../imports/progress.ts";
import type { ImportReport } from "../imports/service.ts";
import { findInputs, type FoundInputs } from "./inputs/find-inputs.ts";
import type { TripInput } from "./inputs/input.ts";
import { type TripImportOptions, type TripImportResult, createProgressMeter, type ProgressMeter } from "./options.ts";
import { ImportFileError, type WarningReason } from "./problems.ts";
import { createReport, type Report, createTally, type Tally } from "./report.ts";
import { openSpool, type Spool } from "./spool.ts";
import { type StagedFile, stageTripFile } from "./stage.ts";
import { createTrialWriter, createTripWriter, type TripWriter } from "./writer.ts";

/** Warnings of one file that are remembered. Beyond it, which only a broken file reaches, warnings may repeat. */
const MAX_REMEMBERED_WARNINGS = 10_000;
const DOWNLOAD_TIMEOUT_MS = 2 * 3_600_000;
const DOWNLOAD_SILENCE_MS = 60_000;

type Origin = RideOrigin & { readonly importId: string };

/** Shared by the steps of one import. */
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
 * Imports trip files. A rejected file changes nothing, and the others are imported all the same. A file is read to its end
 * before its first ride is written; the next is read meanwhile. Stored rides stay as they are, so running an interrupted
 * import again completes it.
 */
export async function importTrips(options: TripImportOptions): Promise<TripImportResult> {
  const found = await findInputs({
    arguments: options.files,
    standardInput: options.standardInput,
    temporaryDirectory: options.spoolDirectory,
    name: options.importId,
    downloads: { timeoutMs: DOWNLOAD_TIMEOUT_MS, silenceMs: DOWNLOAD_SILENCE_MS, signal: options.signal },
    onBytes: (name, bytes) => {
      options.signal.throwIfAborted();
      options.onProgress({ file: name, doing: "fetching", rows: bytes, share: 0 });
    },
  });
  try {
    if (!options.isTrial) return await run(options, found, createTripWriter);
    return await tryPastRides(options.db, options.systemId, (tryBatch) =>
      run(options, found, () => createTrialWriter(options, tryBatch)),
    );
  } finally {
    await found.close();
  }
}

async function run(
  options: TripImportOptions,
  { inputs, rejected }: FoundInputs,
  createWriter: (options: TripImportOptions, origin: Origin) => TripWriter,
): Promise<TripImportResult> {
  const report = createReport(options.reportPath);
  const now = options.clock();
  const { systemId, importId, source } = options;
  const origin = { systemId, importId, source, updatedAt: new Date(now).toISOString() };
  const progress = createProgressMeter(inputs, options.onProgress);
  const all: Run = {
    options,
    now,
    origin,
    writer: createWriter(options, origin),
    report,
    tally: createTally(),
    progress,
  };
  for (const { name, error } of rejected) reportFileError(all, name, error);
  let written: ImportReport;
  try {
    const importAll = () => importInputs(all, inputs);
    // A trial's transaction shows nothing to anybody.
    await (options.isTrial
      ? importAll()
      : whileReporting({ ...options, kind: "trips" }, () => progressOf(all), importAll));
  } finally {
    written = report.close();
  }
  return all.tally.result(await all.writer.finish(written), written.path);
}

function progressOf({ progress, tally }: Run) {
  return { share: progress.share(), rows_read: progress.rowsRead(), ...tally.counts() };
}

async function importInputs(all: Run, inputs: readonly TripInput[]): Promise<void> {
  let written: Promise<void> = Promise.resolve();
  try {
    for (const [index, input] of inputs.entries()) {
      const staged = await stage(all, input, index);
      // Files are written one after the other, so that the first of two rows with the same id wins.
      await written.catch(async (error: unknown) => {
        await staged?.spool.close();
        throw error;
      });
      written = staged === undefined ? Promise.resolve() : write(all, input, staged);
      // Awaited in the next iteration or below, where a failure is thrown.
      written.catch(() => undefined);
    }
    await written;
    await reportOverlaps(all, inputs);
  } finally {
    await written.catch(() => undefined);
  }
}

/** What a file says is taken; that bikes are on two rides at once is a warning. */
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

interface Staged {
  readonly file: StagedFile;
  readonly spool: Spool;
}

/** Reads a file into a spool; undefined when the file is rejected. */
async function stage(all: Run, input: TripInput, index: number): Promise<Staged | undefined> {
  const { options, now, origin, report, progress } = all;
  const spool = await openSpool(options.spoolDirectory, `${options.importId}-${index}`, origin);
  try {
    const file = await stageTripFile(
      {
        input,
        source: options.source,
        zone: options.zone,
        now,
        reject: (row, problem) => report.add({ kind: "rejected", file: input.name, row, ...problem }),
        warn: warner(all, input.name),
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
    if (input.mayBeOther === true && NO_TRIP_FILE.has(error.reason)) all.tally.skipFile(input.name);
    else reportFileError(all, input.name, error);
    return undefined;
  }
}

/** What is wrong with a text that is no trip file. */
const NO_TRIP_FILE: ReadonlySet<ImportFileError["reason"]> = new Set([
  "unknown_header",
  "not_text",
  "empty",
  "unparsable",
]);

function reportFileError({ tally, report }: Run, name: string, { reason, row, message }: ImportFileError): void {
  tally.rejectFile({ file: name, row, reason, message });
  // The command prints why a file is unreadable; the report would only repeat it.
  if (reason === "unreadable") return;
  report.add({ kind: "refused", file: name, row, column: null, value: message, reason });
}

/** Writes a file's stations and rides. */
async function write(all: Run, input: TripInput, { file, spool }: Staged): Promise<void> {
  const { options, tally, writer, progress } = all;
  try {
    await writeStations(all, input.name, file);
    tally.addFile(file);
    const rows = spool.lanes.flat().reduce((sum, batch) => sum + batch.rows, 0);
    let done = 0;
    const writeLane = async (batches: readonly PastRideBatch[]) => {
      for (const batch of batches) {
        options.signal.throwIfAborted();
        await writeBatch(all, input.name, file.idColumn, batch);
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

async function writeStations(all: Run, name: string, { sightings, rejected }: StagedFile): Promise<void> {
  const rejectedRows = [...rejected.values()].reduce((sum, n) => sum + n, 0);
  const placeholders = await all.writer.stations(sightings.all(), rejectedRows);
  const warn = warner(all, name);
  const warnOf = (reason: WarningReason, id: string) => {
    const mention = sightings.firstMention(id);
    if (mention !== undefined) warn(reason, mention.row, mention.column, id);
  };
  for (const id of placeholders.made) warnOf("unknown_station", id);
  for (const id of placeholders.withoutLocation) warnOf("station_without_location", id);
  all.tally.addStations(placeholders.made.length);
}

async function writeBatch(all: Run, name: string, idColumn: string | null, batch: PastRideBatch): Promise<void> {
  const { tally, report, writer } = all;
  const result = await writer.rides(batch);
  tally.addBatch(result);
  for (const { row, id } of result.differing) {
    report.add({ kind: "rejected", file: name, row, column: idColumn, value: id, reason: "duplicate_id" });
  }
}

/** Reports each value once: an unknown rider category may occur in every row. */
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

import { tryPastRides } from "../../fleet/ride-import.ts";
import { findInputs, type FoundInputs } from "./inputs/find-inputs.ts";
import type { TripInput } from "./inputs/input.ts";
import { type TripImportOptions, type TripImportResult, createProgressMeter, type ProgressMeter } from "./options.ts";
import { ImportFileError, type WarningReason } from "./problems.ts";
import { createReport, type Report, createTally, type Tally } from "./report.ts";
import { type Batch, openSpool, type Spool } from "./spool.ts";
import { type StagedFile, stageTripFile } from "./stage.ts";
import { createTrialWriter, createTripWriter, type TripWriter } from "./writer.ts";

/** Warnings of one file that are remembered. Beyond it, which only a broken file reaches, warnings may repeat. */
const MAX_REMEMBERED_WARNINGS = 10_000;
/** Milliseconds that a download may take, and that its server may be silent. */
const DOWNLOAD_TIMEOUT_MS = 2 * 3_600_000;
const DOWNLOAD_SILENCE_MS = 60_000;

/** What the steps of one import share. */
interface Run {
  readonly order: TripImportOptions;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly writer: TripWriter;
  readonly report: Report;
  readonly tally: Tally;
  readonly progress: ProgressMeter;
}

/**
 * Imports trip files, each for itself: a refused file changes nothing and does not hinder the others. A file is
 * read to its end before its first ride is written; the next is read meanwhile. What is there already stays as it
 * is, so an import that was cut off is completed by running it again.
 */
export async function importTrips(order: TripImportOptions): Promise<TripImportResult> {
  const found = await findInputs({
    arguments: order.files,
    standardInput: order.standardInput,
    temporaryDirectory: order.spoolDirectory,
    name: order.importId,
    downloads: { timeout: DOWNLOAD_TIMEOUT_MS, silence: DOWNLOAD_SILENCE_MS, signal: order.signal },
    onBytes: (name, bytes) => {
      order.signal.throwIfAborted();
      order.onProgress({ file: name, doing: "fetching", rows: bytes, share: 0 });
    },
  });
  try {
    if (!order.isTrial) return await run(order, found, createTripWriter);
    return await tryPastRides(order.db, order.systemId, (tryBatch) =>
      run(order, found, () => createTrialWriter(order, tryBatch)),
    );
  } finally {
    await found.close();
  }
}

async function run(
  order: TripImportOptions,
  { inputs, refused }: FoundInputs,
  createWriter: (order: TripImportOptions, now: number) => TripWriter,
): Promise<TripImportResult> {
  const report = createReport(order.reportPath);
  const now = order.clock();
  const progress = createProgressMeter(inputs, order.onProgress);
  const all: Run = { order, now, writer: createWriter(order, now), report, tally: createTally(), progress };
  for (const { name, refusal } of refused) noteRefusal(all, name, refusal);
  let reportPath: string | null = null;
  try {
    await importInputs(all, inputs);
  } finally {
    reportPath = report.close();
  }
  return all.tally.result(await all.writer.finish(reportPath), reportPath);
}

async function importInputs(all: Run, inputs: readonly TripInput[]): Promise<void> {
  let written: Promise<void> = Promise.resolve();
  try {
    for (const [index, input] of inputs.entries()) {
      const staged = await stage(all, input, index);
      // One file is written after the other, so that of two rows with one id the first wins.
      await written.catch(async (error: unknown) => {
        await staged?.spool.close();
        throw error;
      });
      written = staged === undefined ? Promise.resolve() : write(all, input, staged);
      // Whoever awaits it, in the next round or below, gets its failure.
      written.catch(() => undefined);
    }
    await written;
  } finally {
    await written.catch(() => undefined);
  }
}

/** A file that may be imported, and its rides. */
interface Staged {
  readonly file: StagedFile;
  readonly spool: Spool;
}

/** Reads a file; undefined when it is refused. */
async function stage(all: Run, input: TripInput, index: number): Promise<Staged | undefined> {
  const { order, now, report, progress } = all;
  const spool = await openSpool(order.spoolDirectory, `${order.importId}-${index}`);
  try {
    const file = await stageTripFile(
      {
        input,
        source: order.source,
        zone: order.zone,
        now,
        reject: (row, problem) => report.add({ kind: "rejected", file: input.name, row, ...problem }),
        warn: warner(all, input.name),
        progress: (bytes, rows) => {
          order.signal.throwIfAborted();
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
    noteRefusal(all, input.name, error);
    return undefined;
  }
}

function noteRefusal({ tally, report }: Run, name: string, { reason, row, message }: ImportFileError): void {
  tally.refuse({ file: name, row, reason, message });
  // Of what could not even be read the command itself says all there is to say.
  if (reason === "unreadable") return;
  report.add({ kind: "refused", file: name, row, column: null, value: message, reason });
}

/** Writes a file's stations and rides. */
async function write(all: Run, input: TripInput, { file, spool }: Staged): Promise<void> {
  const { order, tally, writer, progress } = all;
  try {
    await writeStations(all, input.name, file);
    tally.addFile(file);
    const rows = spool.lanes.flat().reduce((sum, batch) => sum + batch.rows, 0);
    let done = 0;
    const writeLane = async (batches: readonly Batch[]) => {
      for (const batch of batches) {
        order.signal.throwIfAborted();
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
  for (const id of placeholders.withoutLocation) warnOf("station_without_place", id);
  all.tally.addStations(placeholders.made.length);
}

async function writeBatch(all: Run, name: string, idColumn: string | null, batch: Batch): Promise<void> {
  const { tally, report, writer } = all;
  const result = await writer.rides(() => batch.read(), batch.rows);
  tally.addBatch(result);
  for (const { row, id } of result.differing) {
    report.add({ kind: "rejected", file: name, row, column: idColumn, value: id, reason: "duplicate_id" });
  }
}

/** Reports a warning once for each value: a rider category nobody knows may stand in every row. */
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

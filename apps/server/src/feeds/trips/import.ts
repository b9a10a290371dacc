import { pickSlot } from "../../counts/service.ts";
import { writePastRides } from "../../rides/import.ts";
import { makeStubStations } from "../../stations/stubs.ts";
import type { TripImport, TripImportResult } from "./order.ts";
import { FileRefused, type RejectReason, type WarningReason } from "./problems.ts";
import { createReport, type Report } from "./report.ts";
import type { Sightings } from "./sightings.ts";
import { type Batch, openSpool, type Spool } from "./spool.ts";
import { type StagedFile, stageTripFile } from "./stage.ts";

/** What adds up while an import runs. */
interface Tally {
  rows: number;
  created: number;
  unchanged: number;
  stations: number;
  readonly reasons: Map<RejectReason, number>;
  readonly warnings: Map<WarningReason, number>;
  readonly refused: TripImportResult["refused"][number][];
}

/** Warnings of one file that are remembered. Beyond it, which only a broken file reaches, warnings may repeat. */
const MAX_REMEMBERED_WARNINGS = 10_000;

/** What the steps of one import share. */
interface Run {
  readonly order: TripImport;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly report: Report;
  readonly tally: Tally;
}

/**
 * Imports trip files, each for itself: a refused file changes nothing and does not hinder the others. A file is
 * read to its end before its first ride is written; the next is read meanwhile. What is there already stays as it
 * is, so an import that was cut off is completed by running it again.
 */
export async function importTrips(order: TripImport): Promise<TripImportResult> {
  const report = createReport(order.reportPath);
  const run: Run = { order, now: order.clock(), report, tally: emptyTally() };
  let written: Promise<void> = Promise.resolve();
  let reportPath: string | null = null;
  try {
    for (const [index, path] of order.files.entries()) {
      const staged = await stage(run, path, index);
      // One file is written after the other, so that of two rows with one id the first wins.
      await written.catch(async (error: unknown) => {
        await staged?.spool.close();
        throw error;
      });
      written = staged === undefined ? Promise.resolve() : write(run, path, staged);
      // Whoever awaits it, in the next round or below, gets its failure.
      written.catch(() => undefined);
    }
    await written;
  } finally {
    await written.catch(() => undefined);
    reportPath = report.close();
  }
  return summarise(run.tally, reportPath);
}

/** A file that may be imported, and its rides. */
interface Staged {
  readonly file: StagedFile;
  readonly spool: Spool;
}

/** Reads a file; undefined when it is refused. */
async function stage(run: Run, path: string, index: number): Promise<Staged | undefined> {
  const { order, now, report } = run;
  const spool = await openSpool(order.spoolDirectory, `${order.importId}-${index}`);
  const warn = warner(run, path);
  try {
    const file = await stageTripFile(
      {
        path,
        source: order.source,
        zone: order.zone,
        now,
        reject: (row, problem) => report.add({ kind: "rejected", file: path, row, ...problem }),
        warn,
        progress: (rows) => {
          order.signal.throwIfAborted();
          order.onProgress({ file: path, doing: "reading", rows });
        },
      },
      spool,
    );
    return { file, spool };
  } catch (error) {
    await spool.close();
    if (!(error instanceof FileRefused)) throw error;
    const { reason, row, message } = error;
    run.tally.refused.push({ file: path, row, reason, message });
    report.add({ kind: "refused", file: path, row, column: null, value: message, reason });
    return undefined;
  }
}

/** Writes a file's stations and rides. */
async function write(run: Run, path: string, { file, spool }: Staged): Promise<void> {
  const { order, tally } = run;
  try {
    await writeStations(run, path, file.sightings);
    addUp(tally.reasons, file.rejected);
    tally.rows += file.rows;
    let done = 0;
    const lanes = spool.lanes.map(async (batches) => {
      for (const batch of batches) {
        order.signal.throwIfAborted();
        await writeBatch(run, path, file.idColumn, batch);
        done += batch.rows;
        order.onProgress({ file: path, doing: "writing", rows: done });
      }
    });
    const failed = (await Promise.allSettled(lanes)).find((lane) => lane.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  } finally {
    await spool.close();
  }
}

async function writeStations(run: Run, path: string, sightings: Sightings): Promise<void> {
  const stubs = await makeStubStations(run.order.db, origin(run), sightings.all());
  const warn = warner(run, path);
  const warnOf = (reason: WarningReason, id: string) => {
    const mention = sightings.firstMention(id);
    if (mention !== undefined) warn(reason, mention.row, mention.column, id);
  };
  for (const id of stubs.made) warnOf("unknown_station", id);
  for (const id of stubs.withoutPlace) warnOf("station_without_place", id);
  run.tally.stations += stubs.made.length;
}

async function writeBatch(run: Run, path: string, idColumn: string | null, batch: Batch): Promise<void> {
  const { order, tally, report } = run;
  const result = await writePastRides(order.db, origin(run), await batch.read(), batch.rows);
  tally.created += result.created;
  tally.unchanged += result.unchanged;
  for (const { row, id } of result.differing) {
    report.add({ kind: "rejected", file: path, row, column: idColumn, value: id, reason: "duplicate_id" });
  }
  addUp(tally.reasons, new Map([["duplicate_id", result.differing.length]]));
}

/** Where what is written comes from, and the slot of the counts, drawn anew so that writers rarely share one. */
function origin({ order, now }: Run) {
  const { systemId, source, random } = order;
  return { systemId, source, updatedAt: new Date(now).toISOString(), slot: pickSlot(random) };
}

/** Reports a warning once for each value: a rider category nobody knows may stand in every row. */
function warner({ report, tally }: Run, path: string) {
  const seen = new Set<string>();
  return (reason: WarningReason, row: number, column: string, value: string): void => {
    const key = `${reason} ${value}`;
    if (seen.has(key)) return;
    if (seen.size < MAX_REMEMBERED_WARNINGS) seen.add(key);
    tally.warnings.set(reason, (tally.warnings.get(reason) ?? 0) + 1);
    report.add({ kind: "warning", file: path, row, column, value, reason });
  };
}

function emptyTally(): Tally {
  return { rows: 0, created: 0, unchanged: 0, stations: 0, reasons: new Map(), warnings: new Map(), refused: [] };
}

function addUp<Key>(sums: Map<Key, number>, more: ReadonlyMap<Key, number>): void {
  for (const [key, n] of more) if (n > 0) sums.set(key, (sums.get(key) ?? 0) + n);
}

function summarise(tally: Tally, report: string | null): TripImportResult {
  const { rows, created, unchanged, stations, reasons, warnings, refused } = tally;
  const rejected = [...reasons.values()].reduce((sum, n) => sum + n, 0);
  return {
    rows,
    created,
    unchanged,
    rejected,
    reasons: Object.fromEntries(reasons),
    warnings: Object.fromEntries(warnings),
    stations_created: stations,
    refused,
    report,
  };
}

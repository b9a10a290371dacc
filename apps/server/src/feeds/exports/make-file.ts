import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ExportFormat,
  exportFormats,
  type ExportKind,
  type ExportManifest,
  exportPrivacies,
  type ExportPrivacy,
} from "@bikeshare/contract";
import { textIn } from "../../city/descriptions/published-facts.rules.ts";
import { describedSystem } from "../../city/descriptions/service.ts";
import { openDatabase, type Transaction } from "../../storage/db/database.ts";
import { UnknownTimeZone } from "../trips/time-zone.rules.ts";
import {
  type Column,
  explainFileError,
  ExportFileError,
  openTableWriter,
  publishFile,
  type TableWriter,
  type Value,
} from "./file-writer.ts";
import { cityClock, type Period, periodOfMonth } from "./months.rules.ts";
import { findNow } from "./queries.ts";
import { rideColumns, rideRows, type RideTally } from "./rides.ts";
import { readPlaces, stationColumns, stationRows, stationStatusColumns, stationStatusRows } from "./stations.ts";

/** What a file is to have. */
export interface ExportContent {
  readonly systemId: string;
  readonly kind: ExportKind;
  /** Null: the kind is of no month. */
  readonly month: string | null;
  readonly format: ExportFormat;
  /** Null: the kind tells of no rides. */
  readonly privacy: ExportPrivacy | null;
}

export interface MakeOptions extends ExportContent {
  readonly connectionString: string;
  readonly directory: string;
  /** The name without its ending, which follows from the format. Default: of what it has. */
  readonly baseName?: string;
  /** This program's version. */
  readonly version: string;
  readonly onProgress?: (rows: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds of one statement. Too low: a busy database fails exports. Too high: one that hangs is noticed late. */
const STATEMENT_TIMEOUT_MS = 120_000;

/** Returns the name that a file has wherever it is downloaded. */
function fileNameOf({ systemId, kind, month, format, privacy }: ExportContent): string {
  const parts = [systemId, kind.replace("_", "-"), month, privacy].filter((part) => part !== null);
  return `${parts.join("-").replaceAll(/[^\w.-]+/g, "_")}.${exportFormats[format].ending}`;
}

type Placed = ExportContent & Pick<MakeOptions, "directory" | "baseName">;

function pathOf({ directory, baseName, ...content }: Placed): string {
  const name = baseName === undefined ? fileNameOf(content) : `${baseName}.${exportFormats[content.format].ending}`;
  return join(directory, name);
}

/** Under which name a file is written until it is whole. */
export function draftOf(placed: Placed): string {
  return `${pathOf(placed)}.part`;
}

/**
 * Makes a file and its manifest from one snapshot of the database. Rows are read and written a few thousand at a time. The
 * file has its name only when it is whole and on the disk, and then a manifest; a killed process leaves a draft.
 * @throws ExportFileError
 */
export async function makeExportFile(options: MakeOptions): Promise<ExportManifest> {
  const db = openDatabase({
    connectionString: options.connectionString,
    name: "export",
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  try {
    return await db.transaction(async (tx) => {
      await tx.run("set transaction isolation level repeatable read, read only");
      return makeIn(tx, options);
    });
  } finally {
    await db.close();
  }
}

async function makeIn(tx: Transaction, options: MakeOptions): Promise<ExportManifest> {
  const { systemId, kind, month, format, privacy } = options;
  const asOf = await findNow(tx);
  const system = await describedSystem(tx, systemId);
  if (system === undefined) throw new ExportFileError(`There is no system ${systemId}.`);
  const { timezone = "UTC", language = "en", name, operator, licence } = system.published;
  const { clock, period } = timesOf(month, timezone);
  const path = pathOf(options);
  const { columns, rows } = await tableOf(tx, options, { clock, period, language });
  const draft = draftOf(options);
  const writer = await openTableWriter(draft, format, columns, { clock, hasMilliseconds: privacy === "full" });
  try {
    const { count, tally } = await copyRows(rows, writer, options);
    const { bytes, sha256 } = await writer.finish();
    const manifest: ExportManifest = {
      ...{ kind, month, format, privacy, file_name: fileNameOf(options), bytes, sha256, rows: count },
      left_out: tally?.leftOut ?? null,
      merged: tally?.merged ?? null,
      as_of: asOf.toISOString(),
      ...{ time_zone: timezone, licence: licence ?? null, system_id: systemId },
      system_name: textIn(name, language) ?? systemId,
      operator: textIn(operator, language),
      period: period && { from: new Date(period.from).toISOString(), to: new Date(period.to).toISOString() },
      privacy_text: privacy === null ? null : exportPrivacies[privacy],
      columns: columns.map((column) => ({ ...column })),
      made_by: `bikeshare/${options.version}`,
    };
    await publish(draft, path, manifest);
    return manifest;
  } catch (error) {
    await writer.abandon();
    throw explainFileError(error, path);
  }
}

function timesOf(month: string | null, timeZone: string) {
  try {
    const period = month === null ? null : periodOfMonth(month, timeZone);
    return { clock: cityClock(timeZone), period };
  } catch (error) {
    if (!(error instanceof UnknownTimeZone)) throw error;
    const remedy = "Set it with `bikeshare systems set --timezone`, or on the page System.";
    throw new ExportFileError(`The system's time zone is ${timeZone}, which ${error.message}. ${remedy}`);
  }
}

/** The rows of what is exported, and what is known once they are read. */
interface Table {
  readonly columns: readonly Column[];
  readonly rows: AsyncGenerator<Value[][], RideTally | undefined>;
}

async function tableOf(
  tx: Transaction,
  { systemId, kind, privacy }: ExportContent,
  {
    clock,
    period,
    language,
  }: { readonly clock: ReturnType<typeof cityClock>; readonly period: Period | null; readonly language: string },
): Promise<Table> {
  const places = await readPlaces(tx, systemId, language);
  if (kind === "stations") return { columns: stationColumns, rows: stationRows(places) };
  if (period === null) throw new ExportFileError(`An export of ${kind} is of a month. Name one, such as 2026-10.`);
  if (kind === "station_status") {
    return { columns: stationStatusColumns, rows: stationStatusRows(tx, systemId, period, places) };
  }
  if (privacy === null) throw new ExportFileError("An export of rides has a privacy level. Name one.");
  return { columns: rideColumns, rows: rideRows(tx, { systemId, period, privacy, places, clock }) };
}

async function copyRows(
  rows: Table["rows"],
  writer: TableWriter,
  { onProgress, signal }: MakeOptions,
): Promise<{ readonly count: number; readonly tally: RideTally | undefined }> {
  let count = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { done = false, value } = await rows.next();
    if (done) return { count, tally: value as RideTally | undefined };
    const batch = value as Value[][];
    await writer.write(batch);
    count += batch.length;
    onProgress?.(count);
  }
}

/** The manifest comes last: while there is one, it describes the file beside it. */
async function publish(draft: string, path: string, manifest: ExportManifest): Promise<void> {
  const manifestPath = manifestOf(path);
  await rm(manifestPath, { force: true });
  await publishFile(draft, path);
  const manifestDraft = `${manifestPath}.part`;
  await writeFile(manifestDraft, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o640, flush: true });
  await publishFile(manifestDraft, manifestPath);
}

/** Returns the path of a file's manifest. */
export function manifestOf(path: string): string {
  return `${path}.manifest.json`;
}

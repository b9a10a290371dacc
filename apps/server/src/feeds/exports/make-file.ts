import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ExportFormat,
  exportFormats,
  type ExportKind,
  type ExportManifest,
  exportPrivacies,
  type ExportPrivacy,
  type LeftOut,
} from "@bikeshare/contract";
import { textIn } from "../../city/descriptions/published-facts.rules.ts";
import { describedSystem } from "../../city/descriptions/service.ts";
import { openDatabase, type QueryRunner, type Transaction } from "../../storage/db/database.ts";
import { UnknownTimeZone } from "../trips/trip-times.rules.ts";
import {
  type Column,
  explainFileError,
  ExportFileError,
  openTableWriter,
  publishFile,
  type TableWriter,
  type Value,
} from "./file-writer.ts";
import { cityClock, type CityClock, type Period, periodOfMonth } from "./months.rules.ts";
import { findNow, readRides, type RideRecord } from "./queries.ts";
import { PairCounter, type PairNaming } from "./ride-pairs.rules.ts";
import {
  type Places,
  readPlaces,
  type ShownPlace,
  stationColumns,
  stationRows,
  stationStatusColumns,
  stationStatusRows,
} from "./stations.ts";

/*
 * Makes an exported file and its manifest. Rides are exported with a privacy level. `full` has the service's ride ids and
 * times to the millisecond, `stations` made-up ids and times to the second. `coarse` rounds times and positions, and names
 * regions instead of stations for rare pairs of a start and an end station, or leaves out their rides.
 */

/** The columns of Citi Bike's trip files, in the same order, because existing notebooks and importers read that format. */
const rideColumns: readonly Column[] = [
  { name: "ride_id", type: "text", text: "Made up for this file, unless it is `full`" },
  { name: "rideable_type", type: "text", text: "The operator's id of the vehicle type" },
  { name: "started_at", type: "instant", text: "CSV: local time of the city" },
  { name: "ended_at", type: "instant", text: "CSV: local time of the city" },
  { name: "start_station_name", type: "text", text: "`coarse`: the region's, where there is no station id" },
  { name: "start_station_id", type: "text", text: "Empty: outside a station, or named by region" },
  { name: "end_station_name", type: "text", text: "As at the start" },
  { name: "end_station_id", type: "text", text: "As at the start" },
  { name: "start_lat", type: "number", text: "Of the station, or the middle of the region" },
  { name: "start_lng", type: "number", text: "Of the station, or the middle of the region" },
  { name: "end_lat", type: "number", text: "As at the start" },
  { name: "end_lng", type: "number", text: "As at the start" },
  { name: "member_casual", type: "text", text: "`member` or `casual`; empty: unknown" },
];

/** The choice of rides to export, and the means of turning them into rows. */
interface RideSelection {
  readonly systemId: string;
  readonly period: Period;
  readonly privacy: ExportPrivacy;
  readonly places: Places;
  readonly clock: CityClock;
}

/** How many rides of a month were left out, and why, and how many name regions instead of stations. */
interface RideTally {
  readonly leftOut: LeftOut;
  /** The number of rides that name regions instead of stations; null: the privacy level is not `coarse`. */
  readonly merged: number | null;
}

/** A ride that is not left out, so it has ended. */
type EndedRide = RideRecord & { readonly endedAt: number };

/** Reads a month's rides. Yields the rows of a file, and returns how many rides were left out or merged. */
async function* rideRows(db: QueryRunner, selection: RideSelection): AsyncGenerator<Value[][], RideTally> {
  const { systemId, period, privacy, places } = selection;
  const leftOut = { not_completed: 0, short: 0, ended_by_operator: 0, rare: 0 };
  // Drops the rides that are left out, and counts them in `leftOut`.
  const kept = (rides: readonly RideRecord[]) =>
    rides.filter((ride): ride is EndedRide => {
      const reason = reasonToLeaveOut(ride);
      if (reason !== undefined) leftOut[reason]++;
      return reason === undefined;
    });
  if (privacy === "coarse") {
    const { rare, merged } = yield* coarseRows(db, selection, kept);
    return { leftOut: { ...leftOut, rare }, merged };
  }
  const show = showRide(privacy, places);
  for await (const rides of readRides(db, systemId, period)) yield kept(rides).map(show);
  return { leftOut, merged: null };
}

/**
 * Yields the rows of the level `coarse`. Reads the rides twice, first to count them by pair of stations, so `db` must be a
 * transaction with one snapshot.
 * @param kept returns the rides that are not left out, whatever their pair
 * @returns how many rides were left out because their pair is rare, and how many name regions instead of stations
 */
async function* coarseRows(
  db: QueryRunner,
  { systemId, period, places, clock }: RideSelection,
  kept: (rides: readonly RideRecord[]) => readonly EndedRide[],
): AsyncGenerator<Value[][], { readonly rare: number; readonly merged: number }> {
  const namingOf = await countPairs(db, systemId, period, places);
  let rare = 0;
  let merged = 0;
  // The rows of rides that began in the same quarter of an hour, to which `coarse` rounds times.
  let quarter: Value[][] = [];
  let quarterStart = Number.NEGATIVE_INFINITY;
  for await (const rides of readRides(db, systemId, period)) {
    const done: Value[][] = [];
    for (const ride of kept(rides)) {
      const naming = namingOf(ride.startStationId, ride.endStationId);
      // undefined: the pair of stations is rare, and naming its regions does not help (`PairCounter.namings`).
      if (naming === undefined) {
        rare++;
        continue;
      }
      if (naming !== "stations") merged++;
      const startedAt = clock.coarse(ride.startedAt);
      // Rides come in the order of their start, so the rows of the previous quarter of an hour are complete.
      if (startedAt !== quarterStart) {
        done.push(...shuffled(quarter));
        quarter = [];
        quarterStart = startedAt;
      }
      quarter.push(showCoarsely(ride, startedAt, clock.coarse(ride.endedAt), naming, places));
    }
    yield done;
  }
  yield shuffled(quarter);
  return { rare, merged };
}

/** Returns why a ride is left out of exported files; undefined: it is not left out. */
function reasonToLeaveOut(ride: RideRecord): keyof LeftOut | undefined {
  if (ride.status !== "completed" || ride.endedAt === null) return "not_completed";
  if (ride.endReason === "operator" || ride.endReason === "timeout") return "ended_by_operator";
  return ride.isCountable ? undefined : "short";
}

/** Counts the rides of each pair of stations. Returns a function that tells how the rides of a pair name their places. */
async function countPairs(
  db: QueryRunner,
  systemId: string,
  period: Period,
  places: Places,
): Promise<(start: string | null, end: string | null) => PairNaming> {
  const counter = new PairCounter();
  for await (const rides of readRides(db, systemId, period)) {
    for (const ride of rides)
      if (reasonToLeaveOut(ride) === undefined) counter.add(ride.startStationId, ride.endStationId);
  }
  return counter.namings((stationId) => places.regionOf(stationId));
}

/** Sorts the rows of a quarter of an hour by their random ids, because their original order tells which ride began first. */
function shuffled(rows: Value[][]): Value[][] {
  return rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

/** Returns a function that turns a ride into a row of the level `stations` or `full`. */
function showRide(privacy: "stations" | "full", places: Places): (ride: EndedRide) => Value[] {
  const isFull = privacy === "full";
  const timeOf = isFull ? (instant: number) => instant : (instant: number) => Math.floor(instant / 1000) * 1000;
  return (ride) =>
    rowOf(
      isFull ? ride.id : newRideId(),
      ride,
      { startedAt: timeOf(ride.startedAt), endedAt: timeOf(ride.endedAt) },
      places.station(ride.startStationId),
      places.station(ride.endStationId),
    );
}

/** Turns a ride into a row of the level `coarse`. */
function showCoarsely(
  ride: EndedRide,
  startedAt: number,
  endedAt: number,
  naming: Exclude<PairNaming, undefined>,
  places: Places,
): Value[] {
  const [start, end] =
    naming === "stations"
      ? [places.coarseStation(ride.startStationId), places.coarseStation(ride.endStationId)]
      : [places.region(naming.start), places.region(naming.end)];
  return rowOf(newRideId(), ride, { startedAt, endedAt }, start, end);
}

/** Returns a ride's values in the order of `rideColumns`. */
function rowOf(
  id: string,
  { vehicleTypeId, riderCategory }: RideRecord,
  { startedAt, endedAt }: { readonly startedAt: number; readonly endedAt: number },
  start: ShownPlace,
  end: ShownPlace,
): Value[] {
  return [
    id,
    vehicleTypeId,
    startedAt,
    endedAt,
    start.name,
    start.id,
    end.name,
    end.id,
    start.lat,
    start.lon,
    end.lat,
    end.lon,
    riderCategory,
  ];
}

/** Bytes of a random ride id: enough that no two of ten million ids are equal. */
const ID_BYTES = 10;
/** Random bytes for the next ids, of which `used` are used. Many are made at once, because each call costs much. */
let pool = Buffer.alloc(0);
let used = 0;

/** Returns a random ride id. Uses a cryptographic generator, so that nobody can compute other ids from known ones. */
function newRideId(): string {
  if (used >= pool.length) {
    pool = randomBytes(ID_BYTES * 1000);
    used = 0;
  }
  const start = used;
  used += ID_BYTES;
  return pool.toString("hex", start, used).toUpperCase();
}

/** The content and the format of an exported file. */
export interface ExportContent {
  readonly systemId: string;
  readonly kind: ExportKind;
  /** A month such as `2026-10`; null: the kind of export does not depend on a month. */
  readonly month: string | null;
  readonly format: ExportFormat;
  /** Null: the export does not contain rides. */
  readonly privacy: ExportPrivacy | null;
}

/** The options of making a file: its content, its directory and the database. */
export interface MakeOptions extends ExportContent {
  readonly connectionString: string;
  readonly directory: string;
  /** The file's name without its ending, which the format determines. Default: made of system, kind, month and privacy. */
  readonly baseName?: string;
  /** This program's version. */
  readonly version: string;
  readonly onProgress?: (rows: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Time limit of one statement. Too low: exports fail on a busy database. Too high: a hanging statement is noticed late. */
const STATEMENT_TIMEOUT_MS = 120_000;

/** Returns the name that an exported file has when it is downloaded. */
function fileNameOf({ systemId, kind, month, format, privacy }: ExportContent): string {
  const parts = [systemId, kind.replace("_", "-"), month, privacy].filter((part) => part !== null);
  return `${parts.join("-").replaceAll(/[^\w.-]+/g, "_")}.${exportFormats[format].ending}`;
}

/** An export, and where its file lies. */
type Placed = ExportContent & Pick<MakeOptions, "directory" | "baseName">;

/** Returns the path of the finished file. */
function pathOf({ directory, baseName, ...content }: Placed): string {
  const name = baseName === undefined ? fileNameOf(content) : `${baseName}.${exportFormats[content.format].ending}`;
  return join(directory, name);
}

/** Returns the path at which a file is written until it is complete. */
export function draftOf(placed: Placed): string {
  return `${pathOf(placed)}.part`;
}

/**
 * Makes a file and its manifest from one snapshot of the database. Reads a few thousand rows at a time. Writes a
 * draft, which is renamed when it is complete and on the disk; then writes the manifest. A killed process leaves a draft.
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

/** Makes the file within the transaction that holds the snapshot. */
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
      kind,
      month,
      format,
      privacy,
      file_name: fileNameOf(options),
      bytes,
      sha256,
      rows: count,
      left_out: tally?.leftOut ?? null,
      merged: tally?.merged ?? null,
      as_of: asOf.toISOString(),
      time_zone: timezone,
      licence: licence ?? null,
      system_id: systemId,
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

/** Returns the city's clock, and the period of the month. @throws ExportFileError for an unknown time zone */
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

/** The columns and the rows of an export. For rides, the generator of the rows returns a tally at its end. */
interface Table {
  readonly columns: readonly Column[];
  readonly rows: AsyncGenerator<Value[][], RideTally | undefined>;
}

/** Returns the columns and rows of an export. @throws ExportFileError without a month or a privacy level that it needs */
async function tableOf(
  tx: Transaction,
  { systemId, kind, privacy }: ExportContent,
  { clock, period, language }: { readonly clock: CityClock; readonly period: Period | null; readonly language: string },
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

/** Writes all rows. Returns their number, and the tally of an export of rides. */
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

/**
 * Publishes a file, then its manifest. Deletes the old manifest first, so that a manifest never describes another file.
 * Writes the new one before anything is published, so that a full disk publishes nothing.
 */
async function publish(draft: string, path: string, manifest: ExportManifest): Promise<void> {
  const manifestPath = manifestOf(path);
  const manifestDraft = `${manifestPath}.part`;
  try {
    await writeFile(manifestDraft, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o640, flush: true });
    await rm(manifestPath, { force: true });
    await publishFile(draft, path);
    await publishFile(manifestDraft, manifestPath);
  } finally {
    await rm(manifestDraft, { force: true });
  }
}

/** Returns the path of a file's manifest. */
export function manifestOf(path: string): string {
  return `${path}.manifest.json`;
}

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Database, Queryable } from "../../storage/db/database.ts";
import { codeOf } from "../../storage/db/errors.ts";
import { recordImport, whileReporting } from "../imports/service.ts";
import { isAddress, shownAddress } from "../outgoing.ts";
import { AddressSource, type FetchOptions } from "./address-source.ts";
import { type Applied, type ApplyContext, applySnapshot } from "./apply.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./bounded-json.ts";
import { descriptiveFeeds } from "./descriptions.ts";
import { createDocumentReader } from "./document-reader.ts";
import { FeedFailure, type Problem } from "./problems.ts";
import { problemsOf, summaryOf, writeReport } from "./report.ts";
import { type GbfsSnapshot, type GbfsSource, readSnapshot, type SourceSnapshot } from "./snapshot.ts";

/** The source of an import, its actor, and the path of its report. */
export interface GbfsImport extends Omit<ApplyContext, "now"> {
  /** A directory of saved feeds, or the address of gbfs.json. */
  readonly location: string;
  /** The import's id, and the name of its report. */
  readonly importId: string;
  /** The directory for the report, created if there is something to report. */
  readonly reportDirectory: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** For the audit log. */
  readonly actor: string;
}

/** The import's changes to one list. */
export interface ImportCounts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Records that were left out. */
  readonly rejected: number;
}

/** The result of an import. */
export interface ImportOutcome {
  readonly stations: ImportCounts;
  readonly bikes: ImportCounts;
  readonly applied: Applied;
  readonly reading: SourceSnapshot;
  /** Parts of the source that are not imported: feeds that are not read by name, and fields that GBFS does not know as `feed.field`. */
  readonly notTaken: readonly string[];
  /** Nothing of the feeds is stored: all of it was rejected, or is older than the stored data. */
  readonly isNothingStored: boolean;
  readonly problems: readonly Problem[];
}

/**
 * Imports one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1, writes its problems into a report, and records
 * the import if it changed something.
 * @returns the changes, the import's id (null without a change, since there is nothing to undo), and the report's path
 * (null without one)
 * @throws FeedFailure when it has feeds of stations or vehicles and none can be used, or describes nothing; nothing was
 * changed then
 * @throws OtherSystemError when the source has become another system; nothing was changed then
 */
export async function importGbfs(
  db: Database,
  { location, importId, reportDirectory, clock, actor, ...context }: GbfsImport,
): Promise<ImportOutcome & { readonly id: string | null; readonly report: string | null }> {
  const now = clock();
  const source = await openSource(location, now);
  try {
    const running = { db, systemId: context.systemId, importId, kind: "gbfs" } as const;
    // The import is one step: the progress shows only that it runs, and since when.
    const importAll = () => importSnapshot(db, { ...context, now }, source);
    if (context.isTrial === true) return { ...(await importAll()), id: null, report: null };
    const outcome = await whileReporting(running, () => ({}), importAll);
    const report = await writeReport(reportDirectory, importId, outcome.problems);
    const { stations, bikes } = outcome;
    const sum = (count: keyof ImportCounts) => stations[count] + bikes[count];
    const counts = {
      created: sum("created"),
      updated: sum("updated") + sum("removed"),
      unchanged: sum("unchanged"),
      rejected: sum("rejected"),
      stationsCreated: stations.created,
    };
    if (counts.created + counts.updated === 0) return { ...outcome, id: null, report };
    const { systemId, ids } = context;
    // The address without its query, which may hold a key.
    const detail = { location: shownAddress(location) };
    const start = { systemId, id: importId, kind: "gbfs", source: context.source, at: new Date(now), detail } as const;
    const kept = { path: report, ...summaryOf(outcome.problems) };
    await recordImport(db, { clock, ids, actor }, start, counts, kept);
    return { ...outcome, id: importId, report };
  } finally {
    await source.close();
  }
}

/**
 * Imports one snapshot of all feeds of a source, in one transaction.
 * @throws FeedFailure when it has feeds of stations or vehicles and none can be used, or describes nothing; nothing was
 * changed then
 */
export async function importSnapshot(db: Queryable, context: ApplyContext, source: GbfsSource): Promise<ImportOutcome> {
  const reading = { ...(await readSnapshot(source, context.now)), isWhole: true };
  const { information, status, vehicles } = reading.snapshot;
  const isAnyUsable = information ?? status ?? vehicles;
  const isDescribed = (reading.snapshot.descriptions ?? []).some(({ feed }) => feed !== "system_information");
  // Saved feeds may describe prices or zones alone, for a fleet that the operator reports.
  if (isAnyUsable === undefined && (!isDescribed || reading.failures.some(({ feed }) => OF_FLEET.has(feed))))
    throw nothingUsable(reading.failures);
  const unread = ((await source.names?.()) ?? []).filter((name) => !READ.has(name));
  const outcome = await applyReading(db, context, reading);
  return { ...outcome, notTaken: [...outcome.notTaken, ...unread].toSorted() };
}

const OF_FLEET: ReadonlySet<string> = new Set([
  ...["station_information", "station_status", "vehicle_status", "free_bike_status"],
]);

/** Feeds that are read, or have nothing to take. */
const READ: ReadonlySet<string> = new Set(["gbfs", "gbfs_versions", "manifest", ...OF_FLEET, ...descriptiveFeeds]);

function nothingUsable(failures: readonly FeedFailure[]): FeedFailure {
  const none = "The source has no station_information, station_status, free_bike_status or vehicle_status";
  if (failures.length === 0) return new FeedFailure("gbfs", `${none}; nothing was changed.`);
  const reasons = failures.map(({ feed, message }) => `\n  ${feed}: ${message}`).join("");
  return new FeedFailure("gbfs", `${none} that can be used; nothing was changed:${reasons}`);
}

/** Imports the feeds of a source in one transaction. */
export async function applyReading(
  db: Queryable,
  context: ApplyContext,
  reading: SourceSnapshot,
): Promise<ImportOutcome> {
  const { snapshot } = reading;
  const { information, status, vehicles } = snapshot;
  const applied = await applySnapshot(db, context, snapshot);
  return {
    stations: countsOf(applied.stations, (information?.rejections ?? 0) + (status?.rejections ?? 0)),
    bikes: countsOf(applied.bikes, vehicles?.rejections ?? 0),
    isNothingStored: isNothingStored(snapshot, applied),
    applied,
    reading,
    notTaken: [
      ...[information, status, vehicles].flatMap((feed) => feed?.notTaken.map((name) => `${feed.name}.${name}`) ?? []),
      ...(snapshot.descriptions ?? []).flatMap(({ feed, notTaken }) => notTaken.map((name) => `${feed}.${name}`)),
    ],
    problems: problemsOf(reading, applied),
  };
}

function countsOf(
  { created, updated, unchanged, removed, ownedByOthers }: Applied["stations" | "bikes"],
  unusable: number,
): ImportCounts {
  return { created, updated, unchanged, removed, rejected: unusable + ownedByOthers.length };
}

/** Tells whether nothing was stored. Older feeds may still have added records that the newer ones did not name. */
function isNothingStored({ information, status, vehicles }: GbfsSnapshot, { stations, bikes, late }: Applied): boolean {
  if ([stations, bikes].some(({ created, updated, removed }) => created + updated + removed > 0)) return false;
  const feeds = [information, status, vehicles].filter((feed) => feed !== undefined);
  if (feeds.length === 0) return false;
  if (feeds.every(({ name }) => late.includes(name))) return true;
  const named = new Set([...(information?.records.keys() ?? []), ...(status?.records.keys() ?? [])]);
  return stations.ownedByOthers.length === named.size && bikes.ownedByOthers.length === (vehicles?.records.size ?? 0);
}

/** A source that holds something open. */
interface OpenSource extends GbfsSource {
  close(): Promise<void>;
}

/**
 * Opens a directory of saved feeds, or the `gbfs.json` at an address.
 * @param location a directory, a `gbfs.json` in one, or an http(s) address
 * @param now milliseconds since 1970
 * @throws FeedFailure when there is no such directory, or no list of feeds at the address
 */
export function openSource(location: string, now: number, options: FetchOptions = {}): Promise<OpenSource> {
  return isAddress(location) ? openAddress(location, now, options) : openDirectory(location);
}

async function openAddress(location: string, now: number, options: FetchOptions): Promise<OpenSource> {
  if (!URL.canParse(location)) throw new FeedFailure("gbfs", `${location} is not a valid URL`);
  const source = new AddressSource(new URL(location), options);
  const close = () => source.release();
  const failure = await source.begin(now);
  if (failure === undefined) return { read: (feed) => source.read(feed), names: () => source.names(), close };
  await close();
  throw failure;
}

/**
 * A saved set of feeds is read by file name alone: the URLs in its gbfs.json (if it has one) are those that the
 * feeds were saved from, which may be gone, or have newer ones.
 */
async function openDirectory(location: string): Promise<OpenSource> {
  const directory = basename(location) === "gbfs.json" ? dirname(location) : location;
  const found = await stat(directory).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") throw new FeedFailure("gbfs", `there is no directory ${directory}`);
    throw FeedFailure.from("gbfs", error);
  });
  if (!found.isDirectory()) throw new FeedFailure("gbfs", `${directory} is not a directory`);
  const reader = createDocumentReader();
  let language: string | undefined;
  return {
    async read(feed, now) {
      const bytes = await readFeedFile(join(directory, `${feed}.json`)).catch((error: unknown) => {
        throw FeedFailure.from(feed, error);
      });
      const content = bytes && (await reader.read(feed, bytes, now, language)).content;
      if (content !== undefined && "language" in content) ({ language } = content);
      return content;
    },
    async names() {
      const files = (await readdir(directory)).filter((file) => file.endsWith(".json"));
      return files.map((file) => basename(file, ".json"));
    },
    close: () => reader.release(),
  };
}

/** @returns undefined when there is no such file */
async function readFeedFile(file: string): Promise<Uint8Array | undefined> {
  try {
    if ((await stat(file)).size > MAX_DOCUMENT_BYTES) throw tooLarge();
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

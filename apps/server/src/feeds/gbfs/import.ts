import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ActorContext } from "../../command-context.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import { codeOf } from "../../storage/db/errors.ts";
import { type ImportStart, recordImport, whileReporting } from "../imports/service.ts";
import { isAddress, shownAddress } from "../outgoing.ts";
import { AddressSource, type FetchOptions } from "./address-source.ts";
import { type Applied, type ApplyContext, applySnapshot } from "./apply.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./bounded-json.ts";
import { descriptiveFeeds } from "./descriptions.ts";
import { createDocumentReader } from "./document-reader.ts";
import { FeedFailure, type Problem } from "./problems.ts";
import { problemsOf, summaryOf, writeReport } from "./report.ts";
import { type GbfsSnapshot, type GbfsSource, readSnapshot, type SourceSnapshot } from "./snapshot.ts";

/** The options of an import of a GBFS feed. */
export interface GbfsImport extends Omit<ApplyContext, "now"> {
  /** A directory of saved feeds, or the address of gbfs.json. */
  readonly location: string;
  /** The import's id, which is also the name of its report. */
  readonly importId: string;
  /** The directory for the report, created if there is something to report. */
  readonly reportDirectory: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Who runs the import, for the audit log. */
  readonly actor: string;
}

/**
 * How many stations, or how many bikes, one snapshot changed. The record of an import has the sums of both
 * (`ImportCounts` of `imports/service.ts`).
 */
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
  /** Ignored parts of the source: names of feeds that are not read, and fields that GBFS does not define (`feed.field`). */
  readonly notTaken: readonly string[];
  /** True: nothing was stored, because all of it was rejected, or is older than the stored data. */
  readonly isNothingStored: boolean;
  readonly problems: readonly Problem[];
}

/**
 * Imports one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1. Writes the problems into a report, and records
 * the import if it changed something.
 * @returns the changes, the import's id (null if nothing changed, because then nothing can be undone), and the report's path
 * (null if there were no problems). A trial has neither an id nor a report.
 * @throws FeedFailure when no feed of stations or vehicles can be used. A source that has none of these feeds may be
 * imported if it has other descriptions than `system_information`. Nothing has changed then.
 * @throws OtherSystemError when the source's `system_id` has changed. Nothing has changed then.
 * @throws Error when the report cannot be written. The import is applied and recorded then.
 */
export async function importGbfs(
  db: Database,
  { location, importId, reportDirectory, clock, actor, ...context }: GbfsImport,
): Promise<ImportOutcome & { readonly id: string | null; readonly report: string | null }> {
  const now = clock();
  const { systemId, ids } = context;
  const source = await openSource(location, now);
  try {
    const running = { db, systemId, importId, kind: "gbfs" } as const;
    // The import is one step, so its progress says only that it runs, and since when.
    const importAll = () => importSnapshot(db, { ...context, now }, source);
    if (context.isTrial === true) return { ...(await importAll()), id: null, report: null };
    const outcome = await whileReporting(running, () => ({}), importAll);
    // Records the import also if its report cannot be written: without a record, it could not be undone.
    const [written] = await Promise.allSettled([writeReport(reportDirectory, importId, outcome.problems)]);
    const report = written.status === "fulfilled" ? written.value : null;
    // Records the address without its query, which may contain a secret.
    const detail = { location: shownAddress(location) };
    const start = { systemId, id: importId, kind: "gbfs", source: context.source, at: new Date(now), detail } as const;
    const isRecorded = await recordOutcome(db, { clock, ids, actor }, start, outcome, report);
    if (written.status === "rejected") throw written.reason;
    return { ...outcome, id: isRecorded ? importId : null, report };
  } finally {
    await source.close();
  }
}

/** Records an import if it changed something. @returns whether it did */
async function recordOutcome(
  db: Queryable,
  by: Omit<ActorContext, "db">,
  start: ImportStart,
  { stations, bikes, problems }: ImportOutcome,
  path: string | null,
): Promise<boolean> {
  const sum = (count: keyof ImportCounts) => stations[count] + bikes[count];
  const counts = {
    created: sum("created"),
    updated: sum("updated") + sum("removed"),
    unchanged: sum("unchanged"),
    rejected: sum("rejected"),
    stationsCreated: stations.created,
  };
  if (counts.created + counts.updated === 0) return false;
  await recordImport(db, by, start, counts, { path, ...summaryOf(problems) });
  return true;
}

/** The feeds of stations and vehicles. */
const OF_FLEET: ReadonlySet<string> = new Set([
  "station_information",
  "station_status",
  "vehicle_status",
  "free_bike_status",
]);

/** Feeds that are read, and feeds whose content the service does not need. All others are reported as not taken. */
const READ: ReadonlySet<string> = new Set(["gbfs", "gbfs_versions", "manifest", ...OF_FLEET, ...descriptiveFeeds]);

/**
 * Imports one snapshot of all feeds of a source, in one transaction.
 * @throws FeedFailure like `importGbfs`
 */
export async function importSnapshot(db: Queryable, context: ApplyContext, source: GbfsSource): Promise<ImportOutcome> {
  // `isWhole`: an import reads every feed, so a feed that is not in the snapshot does not exist, or failed.
  const reading = { ...(await readSnapshot(source, context.now)), isWhole: true };
  const { information, status, vehicles } = reading.snapshot;
  // Any feed of the fleet that could be read.
  const usable = information ?? status ?? vehicles;
  const isDescribed = (reading.snapshot.descriptions ?? []).some(({ feed }) => feed !== "system_information");
  // A source without stations and vehicles may still describe prices or zones, for a fleet that the operator reports itself.
  // If it has such a feed and the feed failed, the import fails.
  if (usable === undefined && (!isDescribed || reading.failures.some(({ feed }) => OF_FLEET.has(feed))))
    throw nothingUsable(reading.failures);
  const unread = ((await source.names?.()) ?? []).filter((name) => !READ.has(name));
  const outcome = await applyReading(db, context, reading);
  return { ...outcome, notTaken: [...outcome.notTaken, ...unread].toSorted() };
}

/** Returns the failure of an import that found no usable feed of stations or vehicles. */
function nothingUsable(failures: readonly FeedFailure[]): FeedFailure {
  const none = "The source has no station_information, station_status, free_bike_status or vehicle_status";
  if (failures.length === 0) return new FeedFailure("gbfs", `${none}; nothing was changed.`);
  const reasons = failures.map(({ feed, message }) => `\n  ${feed}: ${message}`).join("");
  return new FeedFailure("gbfs", `${none} that can be used; nothing was changed:${reasons}`);
}

/** Applies what was read of a source, in one transaction. Returns the changes with all problems. */
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

/** Returns the counts of an applied feed. @param unusable records that could not be read */
function countsOf(
  { created, updated, unchanged, removed, ownedByOthers }: Applied["stations" | "bikes"],
  unusable: number,
): ImportCounts {
  return { created, updated, unchanged, removed, rejected: unusable + ownedByOthers.length };
}

/**
 * Tells whether nothing was stored. A feed that is older than the stored data (`late`) may still add records that are not
 * stored yet.
 */
function isNothingStored({ information, status, vehicles }: GbfsSnapshot, { stations, bikes, late }: Applied): boolean {
  if ([stations, bikes].some(({ created, updated, removed }) => created + updated + removed > 0)) return false;
  const feeds = [information, status, vehicles].filter((feed) => feed !== undefined);
  // Only descriptions were read, which are not judged here.
  if (feeds.length === 0) return false;
  if (feeds.every(({ name }) => late.includes(name))) return true;
  // Otherwise, nothing was stored if every station and every bike belongs to another source.
  const named = new Set([...(information?.records.keys() ?? []), ...(status?.records.keys() ?? [])]);
  return stations.ownedByOthers.length === named.size && bikes.ownedByOthers.length === (vehicles?.records.size ?? 0);
}

/** A source with a worker thread, which `close` ends. */
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
 * Opens a directory of saved feeds. Finds the feeds by their file names. Ignores the URLs in a saved `gbfs.json`, because
 * they lead to where the feeds were saved from, and may by now be gone or lead to newer feeds.
 */
async function openDirectory(location: string): Promise<OpenSource> {
  const directory = basename(location) === "gbfs.json" ? dirname(location) : location;
  const found = await stat(directory).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") throw new FeedFailure("gbfs", `there is no directory ${directory}`);
    throw FeedFailure.from("gbfs", error);
  });
  if (!found.isDirectory()) throw new FeedFailure("gbfs", `${directory} is not a directory`);
  const reader = createDocumentReader();
  // The language of texts that do not name theirs. `system_information`, which is read first, has it.
  let language: string | undefined;
  return {
    async read(feed, now) {
      const bytes = await readFeedFile(join(directory, `${feed}.json`)).catch((error: unknown) => {
        throw FeedFailure.from(feed, error);
      });
      const content = bytes && (await reader.read(feed, bytes, now, language)).content;
      if (content !== undefined && "language" in content) language = content.language;
      return content;
    },
    async names() {
      const files = (await readdir(directory)).filter((file) => file.endsWith(".json"));
      return files.map((file) => basename(file, ".json"));
    },
    close: () => reader.release(),
  };
}

/** Reads a file within the size limit. @returns undefined when there is no such file */
async function readFeedFile(file: string): Promise<Uint8Array | undefined> {
  try {
    if ((await stat(file)).size > MAX_DOCUMENT_BYTES) throw tooLarge();
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

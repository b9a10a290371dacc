import { readFile } from "node:fs/promises";
import type { EventName } from "@bikeshare/contract";
import type { Queryable } from "../../db/database.ts";
import type { StationsWaiting } from "../../fleet/station-snapshot.ts";
import type { Ids } from "../../ids.ts";
import { readTripFile } from "../trips/trip-file.ts";
import { applySnapshot, type EventCounts, eventsOf } from "./apply.ts";
import { readDocument, MAX_DOCUMENT_BYTES } from "./documents.ts";
import { FeedFailure, type Feed } from "./feed.ts";
import type { Problem } from "./problems.ts";
import { failure } from "./source.ts";

export interface ReplayOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  readonly systemId: string;
  /** The feed's name among the sources of the system. */
  readonly source: string;
  /** `station_status` documents, one a line; plain or gzip. */
  readonly file: string;
  /** A `station_information` document. Without one, stations that are not known already wait for theirs. */
  readonly information?: string | undefined;
  /** Hears how far it is, after each line. */
  readonly onProgress?: (progress: ReplayProgress) => void;
  /** Ends the replay between two snapshots, by its reason. What was applied stays. */
  readonly signal?: AbortSignal;
}

interface ReplayProgress {
  readonly snapshots: number;
  /** `last_updated` of the snapshot, milliseconds since 1970. */
  readonly at: number;
}

/** What a replay did. */
export interface ReplayOutcome {
  /** Snapshots applied. */
  readonly snapshots: number;
  readonly events: EventCounts;
  /** Lines that are no snapshot, and were skipped. */
  readonly failed: readonly FailedLine[];
  /** Stations that are not listed at the end, because one of their feeds does not name them. */
  readonly waiting: StationsWaiting;
  /** What was wrong with the snapshots, and the lines that are none; at most `GREATEST_REPORT`. */
  readonly problems: readonly Problem[];
}

/** Lines are counted from 1. */
interface FailedLine {
  readonly line: number;
  readonly reason: string;
}

/** Problems that are kept: a series that is wrong throughout would otherwise fill the memory. */
const MAX_PROBLEMS = 10_000;

/**
 * Applies a series of `station_status` snapshots in the order of the file, each in a transaction of its own and as of
 * its own `last_updated`. A second replay of a file changes nothing and makes no event.
 * @throws FeedFailure when the information cannot be read; ImportFileError when the file cannot
 */
export async function replaySnapshots(options: ReplayOptions): Promise<ReplayOutcome> {
  const { db, clock, ids, systemId, source, file, signal } = options;
  const context = () => ({ systemId, source, ids, now: clock() });
  const events: { [Name in EventName]?: number } = {};
  const failed: FailedLine[] = [];
  const problems: Problem[] = [];
  let snapshots = 0;
  let waiting: StationsWaiting = { withoutInformation: 0, withoutStatus: 0 };
  if (options.information !== undefined) {
    const information = await readInformation(options.information, clock());
    keep(problems, information.problems, "");
    ({ waiting } = (await applySnapshot(db, context(), { information })).stations);
  }
  for await (const { line, bytes } of readLines(readTripFile(file))) {
    signal?.throwIfAborted();
    const status = readLine(bytes, clock());
    if (typeof status === "string") {
      failed.push({ line, reason: status });
      keep(problems, [unusable(status)], `line ${line}: `);
      continue;
    }
    keep(problems, status.problems, `line ${line}: `);
    const applied = await applySnapshot(db, context(), { status });
    snapshots++;
    waiting = applied.stations.waiting;
    for (const [name, n] of Object.entries(eventsOf(applied))) add(events, name as EventName, n); // the keys of EventCounts
    options.onProgress?.({ snapshots, at: status.at });
  }
  return { snapshots, events, failed, waiting, problems };
}

async function readInformation(path: string, now: number) {
  const feed = "station_information";
  const bytes = await readFile(path).catch((error: unknown) => {
    throw failure(feed, error);
  });
  return readDocument(feed, bytes, now).content;
}

/** A line's snapshot, or why it is none. */
function readLine(bytes: Uint8Array | undefined, now: number) {
  if (bytes === undefined) return "it is too long";
  try {
    const feed = readDocument("station_status", bytes, now).content;
    // In a live feed that is now; here it would outrank every snapshot that follows.
    return hasNoTime(feed) ? "it has no last_updated that can be used" : feed;
  } catch (error) {
    if (error instanceof FeedFailure) return error.message;
    throw error;
  }
}

function hasNoTime({ problems }: Feed<unknown>): boolean {
  return problems.some(({ record, field }) => record === null && field === "last_updated");
}

function unusable(reason: string): Problem {
  return { feed: "station_status", record: null, field: null, value: null, reason, action: "rejected" };
}

function keep(kept: Problem[], found: readonly Problem[], where: string): void {
  for (const problem of found.slice(0, Math.max(0, MAX_PROBLEMS - kept.length))) {
    kept.push({ ...problem, reason: where + problem.reason });
  }
}

function add(counts: { [Name in EventName]?: number }, name: EventName, n: number): void {
  counts[name] = (counts[name] ?? 0) + n;
}

const LINE_END = 0x0a;

/** A line that is not empty, counted from 1. Undefined bytes: it is longer than any snapshot. */
interface Line {
  readonly line: number;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Cuts bytes into lines. Only a line feed ends one: JSON may hold the other characters (U+2028 …) that readers of
 * text take for line ends.
 */
async function* readLines(
  chunks: AsyncIterable<Buffer>,
  greatest = MAX_DOCUMENT_BYTES,
): AsyncGenerator<Line, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let line = 1;
  const cut = (): Line[] => {
    const bytes = size > greatest ? undefined : Buffer.concat(parts, size);
    const isEmpty = bytes !== undefined && bytes.toString("latin1").trim() === "";
    const found = isEmpty ? [] : [{ line, bytes }];
    parts = [];
    size = 0;
    line++;
    return found;
  };
  const take = (part: Buffer) => {
    size += part.length;
    if (size > greatest) parts = [];
    else parts.push(part);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      take(chunk.subarray(from, end));
      yield* cut();
      from = end + 1;
    }
    take(chunk.subarray(from));
  }
  yield* cut();
}

import { readFile } from "node:fs/promises";
import type { EventName } from "@bikeshare/contract";
import type { StationsWaiting } from "../../city/fleet/station-snapshot.ts";
import type { Ids } from "../../ids.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { whileReporting } from "../imports/service.ts";
import { readTripFile } from "../trips/trip-file.ts";
import { applySnapshot, type EventCounts, eventsOf } from "./apply.ts";
import { MAX_DOCUMENT_BYTES } from "./bounded-json.ts";
import { readDocument } from "./documents.ts";
import { FeedFailure, type Problem, rejectedFeed } from "./problems.ts";
import type { GbfsSnapshot } from "./snapshot.ts";

/** The options and dependencies of a replay. */
export interface ReplayOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  readonly systemId: string;
  /** The feed's name among the sources of the system. */
  readonly source: string;
  /** The path of a file with one `station_status` document on each line, plain or compressed with gzip. */
  readonly file: string;
  /**
   * The path of a `station_information` document. Without it, the status of stations that the system does not know waits
   * until a `station_information` with them is imported.
   */
  readonly information?: string | undefined;
  /** The time without a report of a station after which it is stale; undefined: it never is. */
  readonly stationStaleAfterMs?: number | undefined;
  /** Called after each snapshot with the number of snapshots so far, and its `last_updated` in milliseconds since 1970. */
  readonly onProgress?: (progress: { readonly snapshots: number; readonly at: number }) => void;
  /** When it is aborted, the replay ends between two snapshots with the signal's reason. Applied snapshots stay. */
  readonly signal?: AbortSignal;
}

/** The result of a replay. */
export interface ReplayOutcome {
  /** The number of applied snapshots. */
  readonly snapshots: number;
  readonly events: EventCounts;
  /** Lines that are not snapshots and were skipped. Lines are counted from 1. */
  readonly failed: readonly { readonly line: number; readonly reason: string }[];
  /** The number of stations that are not listed at the end, because only one of the two station feeds names them. */
  readonly waiting: StationsWaiting;
  /**
   * The problems of the `station_information` document, of the snapshots, and of the lines that are not snapshots. At most
   * `MAX_PROBLEMS`.
   */
  readonly problems: readonly Problem[];
}

/** Maximum problems that are kept. Too high: a file with problems on every line fills the memory. */
const MAX_PROBLEMS = 10_000;

/**
 * Applies a series of `station_status` snapshots in the order of the file, each in its own transaction and with the time of
 * its `last_updated`. A second replay of the same file changes nothing and records no event.
 * @throws FeedFailure when the `station_information` document cannot be read
 * @throws ImportFileError when the file cannot be read
 */
export async function replaySnapshots(options: ReplayOptions): Promise<ReplayOutcome> {
  const { db, clock, ids, systemId, source, stationStaleAfterMs } = options;
  const events: { [Name in EventName]?: number } = {};
  const failed: { line: number; reason: string }[] = [];
  const problems: Problem[] = [];
  let snapshots = 0;
  let waiting: StationsWaiting = { withoutInformation: 0, withoutStatus: 0 };
  const apply = async (snapshot: GbfsSnapshot) => {
    const applied = await applySnapshot(db, { systemId, source, ids, now: clock(), stationStaleAfterMs }, snapshot);
    waiting = applied.stations.waiting;
    // The cast is safe: the names are the keys of `EventCounts`.
    for (const [name, n] of Object.entries(eventsOf(applied)) as [EventName, number][])
      events[name] = (events[name] ?? 0) + n;
  };
  // `prefix` says in each reason on which line of the file the problem is.
  const report = (found: readonly Problem[], prefix = "") => {
    const kept = found.slice(0, MAX_PROBLEMS - problems.length);
    problems.push(...kept.map((problem) => ({ ...problem, reason: prefix + problem.reason })));
  };
  if (options.information !== undefined) {
    const information = await readInformation(options.information, clock());
    report(information.problems);
    await apply({ information });
  }
  const applyLines = async () => {
    for await (const { line, bytes } of readLines(readTripFile(options.file))) {
      options.signal?.throwIfAborted();
      const status = readStatus(bytes, clock());
      if (status instanceof FeedFailure) {
        failed.push({ line, reason: status.message });
        report([rejectedFeed(status.feed, status.message)], `line ${line}: `);
        continue;
      }
      report(status.problems, `line ${line}: `);
      await apply({ status });
      snapshots++;
      options.onProgress?.({ snapshots, at: status.at });
    }
  };
  const running = { db, systemId, importId: ids.next("replay"), kind: "replay" } as const;
  const progress = () => ({ rows_read: snapshots + failed.length, created: snapshots, rejected: failed.length });
  await whileReporting(running, progress, applyLines);
  return { snapshots, events, failed, waiting, problems };
}

/** Reads the `station_information` document. @throws FeedFailure */
async function readInformation(path: string, now: number) {
  const feed = "station_information";
  const bytes = await readFile(path).catch((error: unknown) => {
    throw FeedFailure.from(feed, error);
  });
  return readDocument(feed, bytes, now).content;
}

/** Returns the snapshot on a line, or why the line is not a snapshot. @param bytes undefined: the line is too long */
function readStatus(bytes: Uint8Array | undefined, now: number) {
  const feed = "station_status";
  if (bytes === undefined) return new FeedFailure(feed, "it is too long");
  try {
    const status = readDocument(feed, bytes, now).content;
    const hasTime = !status.problems.some(({ record, field }) => record === null && field === "last_updated");
    // Rejects a line without `last_updated`. The current time, which a live feed gets, would make it newer than all others.
    return hasTime ? status : new FeedFailure(feed, "it has no last_updated that can be used");
  } catch (error) {
    if (error instanceof FeedFailure) return error;
    throw error;
  }
}

const LINE_END = 0x0a;

/** A line that is not empty. `line` counts from 1. `bytes` is undefined if the line is too long for a snapshot. */
interface Line {
  readonly line: number;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Splits bytes into lines, at line feeds only. JSON may contain other characters that text readers take for line ends, such
 * as U+2028.
 */
async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let line = 0;
  const add = (part: Buffer) => {
    size += part.length;
    // Drops the bytes of a line that is too long, but counts them, so that `end` reports the line.
    if (size <= MAX_DOCUMENT_BYTES) parts.push(part);
    else parts = [];
  };
  const end = (): Line[] => {
    const bytes = size > MAX_DOCUMENT_BYTES ? undefined : Buffer.concat(parts);
    parts = [];
    size = 0;
    line++;
    // `latin1` decodes any bytes, and is enough to find a line of nothing but white space.
    return bytes?.toString("latin1").trim() === "" ? [] : [{ line, bytes }];
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(LINE_END); to >= 0; to = chunk.indexOf(LINE_END, from)) {
      add(chunk.subarray(from, to));
      yield* end();
      from = to + 1;
    }
    add(chunk.subarray(from));
  }
  yield* end();
}

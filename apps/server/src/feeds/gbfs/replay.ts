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
  /** A `station_information` document. Without one, snapshots of unknown stations wait until one describes them. */
  readonly information?: string | undefined;
  /** Called after each snapshot with how many there were, and its `last_updated` in milliseconds since 1970. */
  readonly onProgress?: (progress: { readonly snapshots: number; readonly at: number }) => void;
  /** Ends the replay between two snapshots, with its reason. Applied snapshots stay. */
  readonly signal?: AbortSignal;
}

/** The result of a replay. */
export interface ReplayOutcome {
  /** Snapshots applied. */
  readonly snapshots: number;
  readonly events: EventCounts;
  /** Lines that are no snapshot, counted from 1. They were skipped. */
  readonly failed: readonly { readonly line: number; readonly reason: string }[];
  /** Stations that are not listed at the end, because one of their feeds does not name them. */
  readonly waiting: StationsWaiting;
  /** The problems of the snapshots, and the lines that are no snapshots; at most `MAX_PROBLEMS`. */
  readonly problems: readonly Problem[];
}

/** Problems that are kept: a series that is wrong throughout would otherwise fill the memory. */
const MAX_PROBLEMS = 10_000;

/**
 * Applies a series of `station_status` snapshots in the order of the file, each in a separate transaction and with the time
 * of its `last_updated`. A second replay of a file changes nothing and makes no event.
 * @throws FeedFailure when the information cannot be read; ImportFileError when the file cannot
 */
export async function replaySnapshots(options: ReplayOptions): Promise<ReplayOutcome> {
  const { db, clock, ids, systemId, source } = options;
  const events: { [Name in EventName]?: number } = {};
  const failed: { line: number; reason: string }[] = [];
  const problems: Problem[] = [];
  let snapshots = 0;
  let waiting: StationsWaiting = { withoutInformation: 0, withoutStatus: 0 };
  const apply = async (snapshot: GbfsSnapshot) => {
    const applied = await applySnapshot(db, { systemId, source, ids, now: clock() }, snapshot);
    ({ waiting } = applied.stations);
    for (const [name, n] of Object.entries(eventsOf(applied)) as [EventName, number][])
      // the keys of EventCounts
      events[name] = (events[name] ?? 0) + n;
  };
  const report = (found: readonly Problem[], where = "") => {
    const kept = found.slice(0, MAX_PROBLEMS - problems.length);
    problems.push(...kept.map((problem) => ({ ...problem, reason: where + problem.reason })));
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

async function readInformation(path: string, now: number) {
  const feed = "station_information";
  const bytes = await readFile(path).catch((error: unknown) => {
    throw FeedFailure.from(feed, error);
  });
  return readDocument(feed, bytes, now).content;
}

/** Returns a line's snapshot, or why it is none. @param bytes undefined: too many */
function readStatus(bytes: Uint8Array | undefined, now: number) {
  const feed = "station_status";
  if (bytes === undefined) return new FeedFailure(feed, "it is too long");
  try {
    const status = readDocument(feed, bytes, now).content;
    const hasTime = !status.problems.some(({ record, field }) => record === null && field === "last_updated");
    // In a live feed that is now; here it would outrank every snapshot that follows.
    return hasTime ? status : new FeedFailure(feed, "it has no last_updated that can be used");
  } catch (error) {
    if (error instanceof FeedFailure) return error;
    throw error;
  }
}

const LINE_END = 0x0a;

/** A line that is not empty, counted from 1. Undefined bytes: it is longer than any snapshot. */
interface Line {
  readonly line: number;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Splits bytes into lines. Only a line feed ends one: JSON may hold the other characters (U+2028 …) that readers of
 * text take for line ends.
 */
async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let line = 0;
  const add = (part: Buffer) => {
    size += part.length;
    if (size <= MAX_DOCUMENT_BYTES) parts.push(part);
    else parts = [];
  };
  const end = (): Line[] => {
    const bytes = size > MAX_DOCUMENT_BYTES ? undefined : Buffer.concat(parts);
    parts = [];
    size = 0;
    line++;
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

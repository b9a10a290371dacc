import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import type { StationsWaiting } from "../../fleet/station-snapshot.ts";
import { removeOldReports } from "../report-files.ts";
import type { Applied } from "./apply.ts";
import type { FeedFailure } from "./feed.ts";
import type { Problem } from "./problems.ts";
import type { GbfsSnapshot, SourceSnapshot } from "./source.ts";

/** Everything that was wrong with a snapshot: in its feeds, in getting them, and in whose stations it names. */
export function problemsOf({ snapshot, failures }: SourceSnapshot, applied: Applied): Problem[] {
  const { information, status, vehicles, descriptions = [] } = snapshot;
  return [
    ...failures.map(failed),
    ...[information, status, vehicles].flatMap((feed) => (feed ? ofFeed(feed.name, feed) : [])),
    ...descriptions.flatMap((description) => ofFeed(description.feed, description)),
    ...applied.stations.ownedByOthers.map((id) => ownedByOtherSource(stationFeed(snapshot), "station_id", id)),
    ...applied.bikes.ownedByOthers.map((id) =>
      ownedByOtherSource(vehicles?.name ?? "vehicle_status", "vehicle_id", id),
    ),
  ];
}

/** The reports of feeds. */
const REPORT_NAME = /^(gbfs|replay|sync)_.*\.ndjson$/;

/**
 * Writes a report, one JSON object a line, and removes the oldest ones where there are too many. Readable for its owner
 * alone: a feed may say anything.
 * @param directory made when it is not there
 * @param name without its ending
 * @returns the file's path; null when there is nothing to report
 */
export async function writeReport(directory: string, name: string, lines: readonly object[]): Promise<string | null> {
  return lines.length === 0 ? null : appendReport(directory, name, lines);
}

/** Adds to a report, which is made where it is not there. @returns the file's path */
async function appendReport(directory: string, name: string, lines: readonly object[]): Promise<string> {
  makeDirectory(directory, 0o700);
  const path = join(directory, `${name}.ndjson`);
  await appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
  await removeOldReports(directory, REPORT_NAME);
  return path;
}

interface Found {
  readonly problems: readonly Problem[];
  readonly omittedProblems: number;
}

function ofFeed(feed: string, { problems, omittedProblems }: Found): readonly Problem[] {
  if (omittedProblems === 0) return problems;
  const omitted = { feed, record: null, field: null, value: omittedProblems, reason: "more_problems" } as const;
  return [...problems, { ...omitted, action: "rejected" }];
}

function failed({ feed, message }: FeedFailure): Problem {
  return { feed, record: null, field: null, value: null, reason: message, action: "rejected" };
}

function ownedByOtherSource(feed: string, field: string, id: string): Problem {
  return { feed, record: id, field, value: id, reason: "belongs_to_another_source", action: "rejected" };
}

function stationFeed({ status, information }: GbfsSnapshot): string {
  return (status ?? information)?.name ?? "station_status";
}

/** What is wrong with the records of a followed source, written down once. */
export interface ProblemJournal {
  /**
   * Writes down the problems that are new.
   * @param now milliseconds since 1970
   * @returns the file's path; null where none is new
   */
  add(problems: readonly Problem[], now: number): Promise<string | null>;
}

/** Problems that are remembered, and so written, by one process. Higher lets a feed of random ids fill the disk. */
const MAX_PROBLEMS = 10_000;

/**
 * Keeps a file of problems, made with the first one. A problem is the same again when feed, record, field and reason are:
 * a feed repeats it in every round, with whatever value.
 */
export function createProblemJournal(directory: string, name: () => string): ProblemJournal {
  const known = new Set<string>();
  let fileName: string | undefined;
  return {
    async add(problems, now) {
      const fresh: (Problem & { readonly at: string })[] = [];
      for (const problem of problems) {
        const { feed, record, field, reason } = problem;
        const key = JSON.stringify([feed, record, field, reason]);
        if (known.has(key) || known.size >= MAX_PROBLEMS) continue;
        known.add(key);
        fresh.push({ at: new Date(now).toISOString(), ...problem });
      }
      if (fresh.length === 0) return null;
      return appendReport(directory, (fileName ??= name()), fresh);
    },
  };
}

/** Says why stations that a feed names are not listed; undefined where all are. */
export function describePendingStations({ withoutInformation, withoutStatus }: StationsWaiting): string | undefined {
  const parts = [
    ...(withoutInformation > 0 ? [`${withoutInformation} are not in station_information`] : []),
    ...(withoutStatus > 0 ? [`${withoutStatus} are not in station_status`] : []),
  ];
  if (parts.length === 0) return undefined;
  return `Stations that are not listed until both feeds have named them: ${parts.join(", ")}.`;
}

import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import type { StationsWaiting } from "../../city/fleet/station-snapshot.ts";
import { createReportSummary, type ReportSummary } from "../imports/report.rules.ts";
import { removeOldReports } from "../report-files.ts";
import type { Applied } from "./apply.ts";
import { type Problem, rejectedFeed } from "./problems.ts";
import type { ReferredFeed } from "./references.ts";
import type { GbfsSnapshot, SourceSnapshot } from "./snapshot.ts";

/**
 * Returns all problems of a snapshot: in its feeds, in fetching them, with references to missing records, and with records
 * that belong to another source.
 */
export function problemsOf(reading: SourceSnapshot, { stations, bikes }: Applied): Problem[] {
  const { snapshot, failures } = reading;
  const { information, status, vehicles, descriptions = [] } = snapshot;
  const stationFeed = (status ?? information)?.name ?? "station_status";
  const vehicleFeed = vehicles?.name ?? "vehicle_status";
  return [
    ...failures.map(({ feed, message }) => rejectedFeed(feed, message)),
    ...[information, status, vehicles, ...descriptions].flatMap((feed) => feed?.problems ?? []),
    ...unknownReferences(reading),
    ...stations.ownedByOthers.map((id) => ownedByOtherSource(stationFeed, "station_id", id)),
    ...bikes.ownedByOthers.map((id) => ownedByOtherSource(vehicleFeed, "vehicle_id", id)),
  ];
}

/** Returns the summary of a snapshot's problems that is stored with the import. */
export function summaryOf(problems: readonly Problem[]): ReportSummary {
  const summary = createReportSummary();
  for (const { feed, value, action, ...problem } of problems) {
    const text = value === null || typeof value === "string" ? value : JSON.stringify(value);
    summary.add({ ...problem, part: feed, value: text ?? null, outcome: action });
  }
  return summary.result();
}

/** Returns the problem of a record that another source owns. */
function ownedByOtherSource(feed: string, field: string, id: string): Problem {
  return { feed, record: id, field, value: id, reason: "belongs_to_another_source", action: "rejected" };
}

/** The file names of reports about feeds. */
const REPORT_NAME = /^(gbfs|replay|sync)_.*\.ndjson$/;

/**
 * Adds lines to a report, one JSON object for each line, and deletes the oldest reports if there are too many. Only the
 * file's owner may read it, because a feed may contain anything.
 * @param directory created if it is missing
 * @param name the name of the file without its ending
 * @returns the file's path; null when there is nothing to report
 */
export async function writeReport(directory: string, name: string, lines: readonly object[]): Promise<string | null> {
  if (lines.length === 0) return null;
  makeDirectory(directory, 0o700);
  const path = join(directory, `${name}.ndjson`);
  await appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
  await removeOldReports(directory, REPORT_NAME);
  return path;
}

/** Maximum problems of a source that one process remembers and writes. Too high: a feed of random ids fills the disk. */
const MAX_PROBLEMS = 10_000;

/**
 * Writes each problem of a followed source once. Problems with the same feed, record, field and reason count as the same
 * problem, because a feed repeats them in every poll with changing values.
 */
export class ProblemJournal {
  readonly #directory: string;
  readonly #makeName: () => string;
  readonly #known = new Set<string>();
  #name: string | undefined;

  /** @param makeName returns the report's name; called when the first problem is written */
  constructor(directory: string, makeName: () => string) {
    this.#directory = directory;
    this.#makeName = makeName;
  }

  /**
   * Writes the problems that are new.
   * @param now milliseconds since 1970
   * @returns the file's path; null when no problem is new
   * @throws Error when the file cannot be written; the problems then stay new
   */
  async add(problems: readonly Problem[], now: number): Promise<string | null> {
    const at = new Date(now).toISOString();
    const fresh = new Map<string, Problem>();
    for (const problem of problems) {
      const key = keyOf(problem);
      const isKnown = this.#known.has(key) || fresh.has(key);
      if (!isKnown && this.#known.size + fresh.size < MAX_PROBLEMS) fresh.set(key, problem);
    }
    if (fresh.size === 0) return null;
    this.#name ??= this.#makeName();
    const lines = [...fresh.values()].map((problem) => ({ at, ...problem }));
    const path = await writeReport(this.#directory, this.#name, lines);
    for (const key of fresh.keys()) this.#known.add(key);
    return path;
  }
}

/** Returns a key of a problem, without its value. */
function keyOf({ feed, record, field, reason }: Problem): string {
  return JSON.stringify([feed, record, field, reason]);
}

/** Explains why stations that a feed names are not listed; undefined when all are listed. */
export function describePendingStations({ withoutInformation, withoutStatus }: StationsWaiting): string | undefined {
  const parts = [
    ...(withoutInformation > 0 ? [`${withoutInformation} are not in station_information`] : []),
    ...(withoutStatus > 0 ? [`${withoutStatus} are not in station_status`] : []),
  ];
  if (parts.length === 0) return undefined;
  return `Stations that are not listed until both feeds have named them: ${parts.join(", ")}.`;
}

/** Returns the references of a snapshot to records that its source does not have, as problems. */
function unknownReferences({ snapshot, failures, isWhole = false }: SourceSnapshot): Problem[] {
  const { information, status, vehicles, descriptions = [] } = snapshot;
  const found = [
    ...[information, status, vehicles].flatMap(
      (feed) => feed?.references.map((each) => ({ feed: feed.name, ...each })) ?? [],
    ),
    ...descriptions.flatMap((feed) => feed.references.map((each) => ({ feed: feed.feed, ...each }))),
  ];
  // The ids of each feed to which something refers. Undefined: they are not known, so no reference to it is a problem.
  const idsOf = new Map<ReferredFeed, ReadonlySet<string> | undefined>();
  for (const { to } of found) if (!idsOf.has(to)) idsOf.set(to, knownIds(to));

  /** Returns the ids of a feed's records, and those in use. Undefined: the source may have records that were not read. */
  function knownIds(feed: ReferredFeed): ReadonlySet<string> | undefined {
    const described = descriptions.find((each) => each.feed === feed)?.ids;
    const ids = feed === "station_information" ? information?.records.keys() : described;
    // Without `isWhole`, a feed that is missing from the snapshot may only not have changed.
    const mayBeUnread = !isWhole || failures.some((failure) => failure.feed === feed);
    if (ids === undefined && mayBeUnread) return undefined;
    return new Set([...(ids ?? []), ...idsInUse(feed, snapshot)].filter((id) => id !== null));
  }

  return found
    .filter(({ to, id }) => idsOf.get(to)?.has(id) === false)
    .map(({ feed, record, field, id }) => ({
      feed,
      record,
      field,
      value: id,
      reason: "unknown_reference",
      action: "repaired",
    }));
}

/** Returns the vehicle types or regions that vehicles and stations use. They exist even if no feed describes them. */
function idsInUse(feed: ReferredFeed, { information, status, vehicles }: GbfsSnapshot): (string | null)[] {
  if (feed === "system_regions") return [...(information?.records.values() ?? [])].map((station) => station.region_id);
  if (feed !== "vehicle_types") return [];
  const atStations = [...(status?.records.values() ?? [])].flatMap((station) =>
    typesIn(station.vehicle_types_available),
  );
  return [...atStations, ...[...(vehicles?.records.values() ?? [])].map((vehicle) => vehicle.vehicle_type_id)];
}

/** Returns the ids of the vehicle types that a station's status counts. */
function typesIn(json: string): string[] {
  const types = JSON.parse(json) as { vehicle_type_id: string }[]; // as `typesAvailable` writes it
  return types.map((type) => type.vehicle_type_id);
}

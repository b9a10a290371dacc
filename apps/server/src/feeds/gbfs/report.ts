import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Applied } from "./apply.ts";
import type { FeedFailure } from "./feed.ts";
import type { Problem } from "./problem.ts";
import type { GbfsSnapshot, SourceReading } from "./read.ts";

/** Everything that was wrong with a snapshot: in its feeds, in getting them, and in whose stations it names. */
export function problemsOf({ snapshot, failures }: SourceReading, applied: Applied): Problem[] {
  const { information, readings, vehicles, descriptions = [] } = snapshot;
  return [
    ...failures.map(failed),
    ...(information?.problems ?? []),
    ...(readings?.problems ?? []),
    ...(vehicles?.problems ?? []),
    ...descriptions.flatMap((description) => description.problems),
    ...applied.stations.foreign.map((id) => foreign(stationFeed(snapshot), "station_id", id)),
    ...applied.bikes.foreign.map((id) => foreign(vehicles?.name ?? "vehicle_status", "vehicle_id", id)),
  ];
}

/**
 * Writes the report, one JSON object a line.
 * @param directory made when it is not there
 * @returns the file's path; null when there is nothing to report
 */
export async function writeReport(
  directory: string,
  name: string,
  problems: readonly Problem[],
): Promise<string | null> {
  if (problems.length === 0) return null;
  await mkdir(directory, { recursive: true });
  const path = join(directory, `${name}.ndjson`);
  await writeFile(path, problems.map((problem) => `${JSON.stringify(problem)}\n`).join(""), { flag: "wx" });
  return path;
}

function failed({ feed, message }: FeedFailure): Problem {
  return { feed, record: null, field: null, value: null, reason: message, action: "rejected" };
}

function foreign(feed: string, field: string, id: string): Problem {
  return { feed, record: id, field, value: id, reason: "belongs_to_another_source", action: "rejected" };
}

function stationFeed({ readings, information }: GbfsSnapshot): string {
  return (readings ?? information)?.name ?? "station_status";
}

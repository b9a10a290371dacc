import type { Queryable } from "../../db/database.ts";
import { applySnapshot, type Applied, type ApplyContext } from "./apply.ts";
import { FeedFailure } from "./feed.ts";
import type { Problem } from "./problem.ts";
import { readSnapshot, type SourceReading } from "./read.ts";
import { problemsOf } from "./report.ts";
import type { GbfsSource } from "./source.ts";

/** What the import did to one list. */
export interface ImportCounts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Records that were left out. */
  readonly rejected: number;
}

/** What an import did. */
export interface ImportOutcome {
  readonly stations: ImportCounts;
  readonly bikes: ImportCounts;
  readonly applied: Applied;
  readonly reading: SourceReading;
  readonly problems: readonly Problem[];
}

/**
 * Imports one snapshot of all feeds of a source, in one transaction.
 * @throws FeedFailure when not one feed of stations or vehicles can be used; nothing was changed then
 */
export async function importSnapshot(db: Queryable, context: ApplyContext, source: GbfsSource): Promise<ImportOutcome> {
  const reading = await readSnapshot(source, context.now);
  const { information, readings, vehicles } = reading.snapshot;
  if (!information && !readings && !vehicles) throw nothingUsable(reading.failures);
  return importReading(db, context, reading);
}

/** Imports what feeds of a source said, in one transaction. */
export async function importReading(
  db: Queryable,
  context: ApplyContext,
  reading: SourceReading,
): Promise<ImportOutcome> {
  const { information, readings, vehicles } = reading.snapshot;
  const applied = await applySnapshot(db, context, reading.snapshot);
  const { stations, bikes } = applied;
  const rejectedStations = (information?.rejections ?? 0) + (readings?.rejections ?? 0) + stations.foreign.length;
  const rejectedBikes = (vehicles?.rejections ?? 0) + bikes.foreign.length;
  return {
    stations: counts(stations, rejectedStations),
    bikes: counts(bikes, rejectedBikes),
    applied,
    reading,
    problems: problemsOf(reading, applied),
  };
}

function counts(
  { created, updated, unchanged, removed }: Omit<ImportCounts, "rejected">,
  rejected: number,
): ImportCounts {
  return { created, updated, unchanged, removed, rejected };
}

function nothingUsable(failures: readonly FeedFailure[]): FeedFailure {
  const reasons = failures.map(({ feed, message }) => `\n  ${feed}: ${message}`).join("");
  const none = "The source has no station_information, station_status, free_bike_status or vehicle_status";
  return new FeedFailure(
    "gbfs",
    failures.length ? `${none} that can be used; nothing was changed:${reasons}` : `${none}; nothing was changed.`,
  );
}

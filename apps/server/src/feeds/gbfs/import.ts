import type { Queryable } from "../../db/database.ts";
import { applySnapshot, type Applied, type ApplyContext } from "./apply.ts";
import { FeedFailure } from "./feed.ts";
import type { Problem } from "./problems.ts";
import { problemsOf } from "./report.ts";
import { readSnapshot, type GbfsSnapshot, type SourceSnapshot, type GbfsSource } from "./source.ts";

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
  readonly reading: SourceSnapshot;
  /** Whether nothing that the feeds said is stored: all of it was rejected, or is older than what is. */
  readonly isNothingStored: boolean;
  readonly problems: readonly Problem[];
}

/**
 * Imports one snapshot of all feeds of a source, in one transaction.
 * @throws FeedFailure when not one feed of stations or vehicles can be used; nothing was changed then
 */
export async function importSnapshot(db: Queryable, context: ApplyContext, source: GbfsSource): Promise<ImportOutcome> {
  const reading = await readSnapshot(source, context.now);
  const { information, status, vehicles } = reading.snapshot;
  if (!information && !status && !vehicles) throw nothingUsable(reading.failures);
  return applySourceSnapshot(db, context, reading);
}

/** Imports what feeds of a source said, in one transaction. */
export async function applySourceSnapshot(
  db: Queryable,
  context: ApplyContext,
  reading: SourceSnapshot,
): Promise<ImportOutcome> {
  const { information, status, vehicles } = reading.snapshot;
  const applied = await applySnapshot(db, context, reading.snapshot);
  const { stations, bikes } = applied;
  const rejectedStations = (information?.rejections ?? 0) + (status?.rejections ?? 0) + stations.ownedByOthers.length;
  const rejectedBikes = (vehicles?.rejections ?? 0) + bikes.ownedByOthers.length;
  const counted = { stations: counts(stations, rejectedStations), bikes: counts(bikes, rejectedBikes) };
  return {
    ...counted,
    isNothingStored: isNothingTaken(reading.snapshot, applied),
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

/** Feeds that were older may still have added what the newer ones did not name. */
function isNothingTaken({ information, status, vehicles }: GbfsSnapshot, applied: Applied): boolean {
  const { stations, bikes, late } = applied;
  if ([stations, bikes].some(({ created, updated, removed }) => created + updated + removed > 0)) return false;
  const offered = [information, status, vehicles].filter((feed) => feed !== undefined);
  if (offered.length > 0 && offered.every(({ name }) => late.includes(name))) return true;
  const named = new Set([...(information?.records.keys() ?? []), ...(status?.records.keys() ?? [])]);
  return stations.ownedByOthers.length === named.size && bikes.ownedByOthers.length === (vehicles?.records.size ?? 0);
}

function nothingUsable(failures: readonly FeedFailure[]): FeedFailure {
  const reasons = failures.map(({ feed, message }) => `\n  ${feed}: ${message}`).join("");
  const none = "The source has no station_information, station_status, free_bike_status or vehicle_status";
  return new FeedFailure(
    "gbfs",
    failures.length ? `${none} that can be used; nothing was changed:${reasons}` : `${none}; nothing was changed.`,
  );
}

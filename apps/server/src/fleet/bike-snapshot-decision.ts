import type { BikeRow } from "./bike-snapshot-queries.ts";
import { followsFeed, type MirroredBike } from "./bike.ts";

/**
 * What a snapshot means for a bike. Keep: it is named, and stays. None: it is not named, and stays. Owned by other: it is
 * named, and belongs to another source.
 */
export type BikeDecision = "keep" | "update" | "delete" | "ownedByOther" | "none";

/** What a decision about one bike looks at, beside the bike's own row. */
export interface BikeSnapshotContext {
  readonly source: string;
  /** When the source said so, milliseconds since 1970. */
  readonly at: number;
  /** Bikes named in records that could not be read. */
  readonly rejected: ReadonlySet<string>;
}

/**
 * Decides what a snapshot does to one bike. Pure.
 * @param wanted what the snapshot says of it; undefined when it does not name it
 */
export function decideBike(context: BikeSnapshotContext, row: BikeRow, wanted: MirroredBike | undefined): BikeDecision {
  const stays = wanted ? "keep" : "none";
  if (row.source !== context.source) return wanted ? "ownedByOther" : "none";
  if (row.ride_id !== null || !followsFeed(row.vehicle_state)) return stays;
  // We heard of the bike after the feed spoke: of a ride that ended, say. The feed's next word may be newer.
  if (row.reported_at !== null && row.reported_at > context.at) return stays;
  // The feed need not know of our reservation, so only that the bike cannot be ridden ends the hold.
  if (row.reservation_id !== null) return wanted?.vehicle_state === "non_operational" ? "update" : stays;
  if (!wanted) return context.rejected.has(row.id) ? "none" : "delete";
  return fields.every((field) => row[field] === wanted[field]) ? "keep" : "update";
}

const fields = [
  "number",
  "vehicle_type_id",
  "vehicle_state",
  "station_id",
  "lat",
  "lon",
  "current_range_meters",
  "last_reported",
] as const satisfies (keyof MirroredBike)[];

import type { Transaction } from "../db/database.ts";
import { bikeFromReport, followsFeed } from "./bike.ts";
import type { MirroredBike, Position, VehicleReport } from "./bike.ts";
import {
  deleteBikeRows,
  findBikes,
  insertBikeRows,
  lockAndFindBikes,
  notifyBikesChanged,
  updateBikeRows,
  type BikeRow,
  type BikeWrite,
} from "./snapshot-queries.ts";

/** What a source says of its vehicles at one moment. */
export interface BikeSnapshot {
  readonly systemId: string;
  readonly source: string;
  /** When we apply it, milliseconds since 1970: becomes `updated_at`. */
  readonly now: number;
  /** By bike id. */
  readonly records: ReadonlyMap<string, VehicleReport>;
  /** Named, but in a record that could not be read: these bikes are there, and stay as they are. */
  readonly rejected: ReadonlySet<string>;
  /** Where stations stand, for bikes whose report names only the station. */
  readonly stationPositions: ReadonlyMap<string, Position>;
}

/** What a snapshot did to the bikes of its source. */
export interface BikeChanges {
  readonly created: number;
  readonly updated: number;
  /** Named by the snapshot, and as they were. */
  readonly unchanged: number;
  /** Deleted, because the snapshot does not name them. */
  readonly removed: number;
  /** Ids that the snapshot names and that belong to another source. */
  readonly foreign: readonly string[];
}

/**
 * Applies a snapshot to the bikes, writing only rows that differ. A bike that it does not name is deleted: feeds
 * give a vehicle a new random id after each ride, so the old id never comes back. To be called in the transaction
 * that holds the source's row locked; `countRows` with `created - removed` is the caller's.
 */
export async function applyBikeSnapshot(tx: Transaction, snapshot: BikeSnapshot): Promise<BikeChanges> {
  const { systemId, source, now } = snapshot;
  const wanted = new Map<string, BikeWrite>();
  for (const [id, report] of snapshot.records) {
    const station = report.station_id === null ? undefined : snapshot.stationPositions.get(report.station_id);
    wanted.set(id, { id, ...bikeFromReport(report, station) });
  }
  const decide = (row: BikeRow) => decideBike(snapshot, row, wanted.get(row.id));
  const held = await findBikes(tx, systemId, source, [...wanted.keys()]);
  const heldIds = new Set(held.map((row) => row.id));
  const creations = [...wanted.values()].filter(({ id }) => !heldIds.has(id));
  const inserted = new Set(creations.length ? await insertBikeRows(tx, systemId, source, now, creations) : []);

  // Decided on rows that were not locked; what is to be written is decided again on the rows as they are then.
  const toLock = [
    ...held.filter((row) => writes(decide(row))).map((row) => row.id),
    ...creations.filter(({ id }) => !inserted.has(id)).map(({ id }) => id),
  ];
  const locked = toLock.length ? await lockAndFindBikes(tx, systemId, toLock) : [];
  const lockedIds = new Set(toLock);
  const rows = [...held.filter((row) => !lockedIds.has(row.id)), ...locked];
  const idsOf = (decision: BikeDecision) => rows.filter((row) => decide(row) === decision).map((row) => row.id);
  const updated = idsOf("update").flatMap((id) => wanted.get(id) ?? []);
  const removed = idsOf("delete");
  if (updated.length) await updateBikeRows(tx, systemId, now, updated);
  if (removed.length) await deleteBikeRows(tx, systemId, removed);
  if (inserted.size || updated.length || removed.length) await notifyBikesChanged(tx, systemId);
  return {
    created: inserted.size,
    updated: updated.length,
    unchanged: idsOf("keep").length,
    removed: removed.length,
    foreign: idsOf("foreign"),
  };
}

type BikeDecision = "keep" | "update" | "delete" | "foreign" | "none";

function writes(decision: BikeDecision): boolean {
  return decision === "update" || decision === "delete";
}

function decideBike({ source, rejected }: BikeSnapshot, row: BikeRow, wanted: MirroredBike | undefined): BikeDecision {
  if (row.source !== source) return wanted ? "foreign" : "none";
  if (!followsFeed(row.vehicle_state)) return wanted ? "keep" : "none";
  if (!wanted) return rejected.has(row.id) ? "none" : "delete";
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

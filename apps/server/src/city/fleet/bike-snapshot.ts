import {
  type BikeWrite,
  countBikesOfSource,
  deleteFeedBikes,
  insertFeedBikes,
  listBikesOfOtherSources,
  listBikesOfSource,
  lockFeedBikes,
  updateFeedBikes,
} from "./bike-snapshot-queries.ts";
import type { Position } from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import {
  bikeFromReport,
  type BikeRow,
  decideBike,
  type FeedBike,
  type VehicleReport,
} from "./snapshot-decision.rules.ts";

/*
 * Applies a snapshot of a source's bikes. Most bikes are only compared with their rows. The rows that differ are locked, and
 * compared again before they are written (`decideBike`).
 */

/** A source's report of its vehicles at one time. */
export interface BikeSnapshot {
  readonly source: string;
  /** When the source made the report (`last_updated`), milliseconds since 1970. */
  readonly at: number;
  /** The reports by bike id. */
  readonly records: ReadonlyMap<string, VehicleReport>;
  /** Ids of bikes whose records could not be read. These bikes exist, and stay as they are. */
  readonly rejected: ReadonlySet<string>;
  /** Positions of stations, for bikes whose report names only the station. */
  readonly stationPositions: ReadonlyMap<string, Position>;
}

/** The changes that a snapshot made to the bikes of its source. */
export interface BikeChanges {
  readonly created: number;
  readonly updated: number;
  /** Bikes that the snapshot names and that did not change. */
  readonly unchanged: number;
  /** Bikes that were deleted because the snapshot does not name them. */
  readonly removed: number;
  /** Ids that the snapshot names and that belong to another source. */
  readonly ownedByOthers: readonly string[];
  /** The number of reservations cancelled because the snapshot reports that their bikes cannot be ridden. */
  readonly cancelled: number;
}

/**
 * Applies a snapshot to the bikes, writing only rows that differ. A bike that the snapshot does not name is deleted: feeds
 * give a vehicle a new random id after each ride, so the old id never comes back. Call it while the source's row is locked
 * and before stations are written.
 */
export async function applyBikeSnapshot(command: FleetCommand, snapshot: BikeSnapshot): Promise<BikeChanges> {
  const { source, records } = snapshot;
  command.locks("bikes");
  const ours = await listBikesOfSource(command, source);
  const ourIds = new Set(ours.map(({ id }) => id));
  const unknownIds = [...records.keys()].filter((id) => !ourIds.has(id));
  const others = await listBikesOfOtherSources(command, source, unknownIds);
  const otherIds = new Set(others.map(({ id }) => id));
  const creations = rowsOf(
    snapshot,
    unknownIds.filter((id) => !otherIds.has(id)),
  );
  const inserted = await insert(command, source, creations);

  // This decision uses rows that are not locked; it is repeated on the locked rows before any of them is written.
  const first = decideAll(snapshot, [...ours, ...others]);
  // Ids that another transaction has inserted meanwhile.
  const taken = creations.filter(({ id }) => !inserted.has(id));
  const toLock = [...first.update, ...first.delete, ...taken].map(({ id }) => id);
  const second = decideAll(snapshot, await lockFeedBikes(command, toLock));
  return {
    created: inserted.size,
    updated: second.update.length,
    unchanged: first.keep + second.keep,
    removed: second.delete.length,
    ownedByOthers: [...first.ownedByOther, ...second.ownedByOther].map(({ id }) => id),
    cancelled: await write(command, snapshot, second),
  };
}

/** Handles a snapshot that is older than the last one applied: changes nothing, and counts the source's bikes in it. */
export async function ignoreBikeSnapshot(
  command: FleetCommand,
  { source, records }: Pick<BikeSnapshot, "source" | "records">,
): Promise<BikeChanges> {
  const unchanged = await countBikesOfSource(command, source, [...records.keys()]);
  return { created: 0, updated: 0, unchanged, removed: 0, ownedByOthers: [], cancelled: 0 };
}

/** Bikes by the decision about them. Unchanged bikes, nearly all, are only counted. */
interface Decided extends Record<"update" | "delete" | "ownedByOther", BikeRow[]> {
  /** How many bikes the snapshot names and does not change. */
  keep: number;
}

/** Decides on bikes, and groups them by the decision. */
function decideAll(snapshot: BikeSnapshot, rows: readonly BikeRow[]): Decided {
  const decided: Decided = { keep: 0, update: [], delete: [], ownedByOther: [] };
  for (const row of rows) {
    const decision = decideBike(snapshot, row, wantedBike(snapshot, row.id));
    if (decision === "keep") decided.keep++;
    else if (decision !== "none") decided[decision].push(row);
  }
  return decided;
}

/** Returns the bike that a snapshot describes; undefined when the snapshot does not name it. */
function wantedBike({ records, stationPositions }: BikeSnapshot, id: string): FeedBike | undefined {
  const report = records.get(id);
  if (report === undefined) return undefined;
  const station = report.station_id === null ? undefined : stationPositions.get(report.station_id);
  return bikeFromReport(report, station);
}

/** Returns the rows to write for the bikes that a snapshot names. */
function rowsOf(snapshot: BikeSnapshot, ids: readonly string[]): BikeWrite[] {
  return ids.flatMap((id) => {
    const wanted = wantedBike(snapshot, id);
    return wanted ? [{ id, ...wanted }] : [];
  });
}

/** Inserts the bikes whose ids are free. @returns the ids of the inserted bikes */
async function insert(
  command: FleetCommand,
  source: string,
  bikes: readonly BikeWrite[],
): Promise<ReadonlySet<string>> {
  if (bikes.length === 0) return new Set();
  const rows = await insertFeedBikes(command, source, bikes);
  const inserted = new Set(rows.map(({ id }) => id));
  const stationIds = bikes.filter(({ id }) => inserted.has(id)).map(({ station_id: stationId }) => stationId);
  command.bikesWritten(
    stationIds,
    rows.map(({ json }) => json),
  );
  command.count("bikes", inserted.size);
  return inserted;
}

/** Writes the decisions about locked bikes. @returns how many reservations were cancelled */
async function write(command: FleetCommand, snapshot: BikeSnapshot, decided: Decided): Promise<number> {
  const { update, delete: deleted } = decided;
  if (update.length + deleted.length === 0) return 0;
  const idsOf = (rows: readonly BikeRow[]) => rows.map(({ id }) => id);
  const rows = rowsOf(snapshot, idsOf(update));
  const json = rows.length ? await updateFeedBikes(command, new Date(snapshot.at), rows) : [];
  if (deleted.length) await deleteFeedBikes(command, idsOf(deleted));
  command.count("bikes", -deleted.length);
  // The stations where the bikes were, and those where they are now.
  const stationIds = [...update, ...deleted, ...rows].map(({ station_id: stationId }) => stationId);
  command.bikesWritten(stationIds, json);
  // `decideBike` updates a reserved bike only when it cannot be ridden any more.
  const lost = update.flatMap((row) => (row.reservation_id === null ? [] : [{ row, id: row.reservation_id }]));
  for (const { row } of lost) {
    // A reserved bike that cannot be ridden is no longer reserved at its station, but is not available either.
    if (row.station_id === null || row.vehicle_state !== "reserved") continue;
    command.shiftCounters({ stationId: row.station_id, vehicleTypeId: null, available: 0, reserved: -1 });
  }
  const ended = await command.endReservations(
    lost.map(({ id }) => ({ id, status: "cancelled", reason: "bike_unavailable" })),
  );
  return ended.filter(({ status }) => status === "cancelled").length;
}

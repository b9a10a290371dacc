import {
  type BikeDecision,
  bikeFromReport,
  type BikeRow,
  decideBike,
  type FeedBike,
  type VehicleReport,
} from "./bike-snapshot-decision.rules.ts";
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

/** What a source says of its vehicles at one moment. */
export interface BikeSnapshot {
  readonly source: string;
  /** When the source made it (`last_updated`), milliseconds since 1970. */
  readonly at: number;
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
  readonly ownedByOthers: readonly string[];
  /** Reservations cancelled, because the snapshot says that their bikes cannot be ridden. */
  readonly cancelled: number;
}

/**
 * Applies a snapshot to the bikes, writing only rows that differ. A bike that it does not name is deleted: feeds give a
 * vehicle a new random id after each ride, so the old id never comes back. To be called while the source's row is locked,
 * before stations are written.
 */
export async function applyBikeSnapshot(command: FleetCommand, snapshot: BikeSnapshot): Promise<BikeChanges> {
  const { tx, systemId } = command;
  command.locks("bikes");
  const sorted = emptySort();
  const known = new Set<string>();
  for (const row of await listBikesOfSource(tx, systemId, snapshot.source)) {
    known.add(row.id);
    sort(sorted, decide(snapshot, row), row);
  }
  const unknown = [...snapshot.records.keys()].filter((id) => !known.has(id));
  if (unknown.length > 0) {
    for (const row of await listBikesOfOtherSources(tx, systemId, snapshot.source, unknown)) {
      known.add(row.id);
      sort(sorted, decide(snapshot, row), row);
    }
  }
  const creations = toWrite(
    snapshot,
    unknown.filter((id) => !known.has(id)),
  );
  const inserted = await insert(command, snapshot, creations);

  // Decided on rows that were not locked; what is to be written is decided again on the rows as they are then.
  const toLock = [...sorted.update, ...sorted.delete].map(({ id }) => id);
  for (const { id } of creations) if (!inserted.has(id)) toLock.push(id);
  const final: Sorted = { ...sorted, ownedByOthers: [...sorted.ownedByOthers], update: [], delete: [] };
  if (toLock.length) {
    for (const row of await lockFeedBikes(tx, systemId, toLock)) sort(final, decide(snapshot, row), row);
  }
  const cancelled = await write(command, snapshot, final);
  return {
    created: inserted.size,
    updated: final.update.length,
    unchanged: final.keep,
    removed: final.delete.length,
    ownedByOthers: final.ownedByOthers,
    cancelled,
  };
}

/** What a snapshot does that is older than the one applied: nothing. */
export async function ignoreBikeSnapshot(
  { tx, systemId }: FleetCommand,
  { source, records }: Pick<BikeSnapshot, "source" | "records">,
): Promise<BikeChanges> {
  const unchanged = await countBikesOfSource(tx, systemId, source, [...records.keys()]);
  return { created: 0, updated: 0, unchanged, removed: 0, ownedByOthers: [], cancelled: 0 };
}

/** Rows by what is to be done with them. Those that stay are only counted: they are nearly all. */
interface Sorted {
  keep: number;
  readonly ownedByOthers: string[];
  readonly update: BikeRow[];
  readonly delete: BikeRow[];
}

function emptySort(): Sorted {
  return { keep: 0, ownedByOthers: [], update: [], delete: [] };
}

function sort(sorted: Sorted, decision: BikeDecision, row: BikeRow): void {
  if (decision === "keep") sorted.keep++;
  else if (decision === "ownedByOther") sorted.ownedByOthers.push(row.id);
  else if (decision !== "none") sorted[decision].push(row);
}

function decide(snapshot: BikeSnapshot, row: BikeRow): BikeDecision {
  return decideBike(snapshot, row, wantedBike(snapshot, row.id));
}

function wantedBike({ records, stationPositions }: BikeSnapshot, id: string): FeedBike | undefined {
  const report = records.get(id);
  if (report === undefined) return undefined;
  const station = report.station_id === null ? undefined : stationPositions.get(report.station_id);
  return bikeFromReport(report, station);
}

function toWrite(snapshot: BikeSnapshot, ids: readonly string[]): BikeWrite[] {
  return ids.flatMap((id) => {
    const wanted = wantedBike(snapshot, id);
    return wanted ? [{ id, ...wanted }] : [];
  });
}

/** Inserts bikes. @returns the ids of those that were free */
async function insert(
  command: FleetCommand,
  { source }: BikeSnapshot,
  bikes: readonly BikeWrite[],
): Promise<ReadonlySet<string>> {
  if (bikes.length === 0) return new Set();
  const rows = await insertFeedBikes(command.tx, command.systemId, source, command.now, bikes);
  const inserted = new Set(rows.map(({ id }) => id));
  const stationIds = bikes.filter(({ id }) => inserted.has(id)).map(({ station_id: stationId }) => stationId);
  command.bikesWritten(
    stationIds,
    rows.map(({ json }) => json),
  );
  command.count("bikes", inserted.size);
  return inserted;
}

/** Writes what was decided of bikes that are locked. @returns reservations cancelled */
async function write(command: FleetCommand, snapshot: BikeSnapshot, decided: Sorted): Promise<number> {
  const { tx, systemId, now } = command;
  const { update, delete: deleted } = decided;
  if (update.length + deleted.length === 0) return 0;
  const idsOf = (rows: readonly BikeRow[]) => rows.map(({ id }) => id);
  const updated = toWrite(snapshot, idsOf(update));
  const json = updated.length ? await updateFeedBikes(tx, systemId, now, new Date(snapshot.at), updated) : [];
  if (deleted.length) await deleteFeedBikes(tx, systemId, idsOf(deleted));
  command.count("bikes", -deleted.length);
  const touched = [...update, ...deleted, ...updated].map(({ station_id: stationId }) => stationId);
  command.bikesWritten(touched, json);
  const lost = update.flatMap((row) => (row.reservation_id === null ? [] : [{ row, id: row.reservation_id }]));
  for (const { row } of lost) {
    // It was held, and cannot be ridden: no longer reserved at its station, and not available either.
    if (row.station_id === null || row.vehicle_state !== "reserved") continue;
    command.shiftCounters({ stationId: row.station_id, vehicleTypeId: null, available: 0, reserved: -1 });
  }
  const ended = await command.endReservations(
    lost.map(({ id }) => ({ id, status: "cancelled", reason: "bike_unavailable" })),
  );
  return ended.filter(({ status }) => status === "cancelled").length;
}

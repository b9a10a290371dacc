import type { Transaction } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import { type BikeDecision, decideBike } from "./bike-snapshot-decision.ts";
import {
  countHeldBikes,
  deleteBikeRows,
  findBikes,
  listBikesOfOtherSources,
  insertBikeRows,
  lockAndFindBikes,
  notifyBikesChanged,
  updateBikeRows,
  type BikeRow,
  type BikeWrite,
} from "./bike-snapshot-queries.ts";
import { bikeFromReport } from "./bike.ts";
import type { MirroredBike, Position, VehicleReport } from "./bike.ts";
import { tellStates } from "./command.ts";
import { refreshCounters, shiftMirrored } from "./counter-queries.ts";
import { cancelForBikes } from "./reservation-commands.ts";

/** What a source says of its vehicles at one moment. */
export interface BikeSnapshot {
  readonly systemId: string;
  readonly source: string;
  /** When the source said so (`last_updated`), milliseconds since 1970. */
  readonly at: number;
  /** When we apply it, milliseconds since 1970: becomes `updated_at`. */
  readonly now: number;
  readonly ids: Ids;
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
 * Applies a snapshot to the bikes, writing only rows that differ. A bike that it does not name is deleted: feeds
 * give a vehicle a new random id after each ride, so the old id never comes back. To be called in the transaction
 * that holds the source's row locked, before stations are written; `countRows` with `created - removed` is the
 * caller's.
 */
export async function applyBikeSnapshot(tx: Transaction, snapshot: BikeSnapshot): Promise<BikeChanges> {
  const { systemId, source, now } = snapshot;
  const sorted = emptySort();
  const held = new Set<string>();
  for (const row of await findBikes(tx, systemId, source)) {
    held.add(row.id);
    sort(sorted, decide(snapshot, row), row);
  }
  const unknown = [...snapshot.records.keys()].filter((id) => !held.has(id));
  if (unknown.length > 0) {
    for (const row of await listBikesOfOtherSources(tx, systemId, source, unknown)) {
      held.add(row.id);
      sort(sorted, decide(snapshot, row), row);
    }
  }
  const creations = toWrite(
    snapshot,
    unknown.filter((id) => !held.has(id)),
  );
  const made = creations.length ? await insertBikeRows(tx, systemId, source, now, creations) : [];
  const inserted = new Set(made.map(({ id }) => id));

  // Decided on rows that were not locked; what is to be written is decided again on the rows as they are then.
  const toLock = [...sorted.update, ...sorted.delete].map(({ id }) => id);
  for (const { id } of creations) if (!inserted.has(id)) toLock.push(id);
  const final: Sorted = { ...sorted, ownedByOthers: [...sorted.ownedByOthers], update: [], delete: [] };
  if (toLock.length) {
    for (const row of await lockAndFindBikes(tx, systemId, toLock)) sort(final, decide(snapshot, row), row);
  }
  const created = creations.filter(({ id }) => inserted.has(id));
  const wires = made.flatMap(({ json }) => json ?? []);
  const cancelled = await write(tx, snapshot, final, created, wires);
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
  tx: Transaction,
  { systemId, source, records }: Pick<BikeSnapshot, "systemId" | "source" | "records">,
): Promise<BikeChanges> {
  const unchanged = await countHeldBikes(tx, systemId, source, [...records.keys()]);
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

function wantedBike({ records, stationPositions }: BikeSnapshot, id: string): MirroredBike | undefined {
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

/**
 * Writes what was decided, in the order of locks: bikes, reservations, stations.
 * @param wires of the created bikes, where somebody wants to be told of them
 * @returns reservations cancelled
 */
async function write(
  tx: Transaction,
  snapshot: BikeSnapshot,
  decided: Sorted,
  created: readonly BikeWrite[],
  wires: readonly string[],
): Promise<number> {
  const { systemId, ids, at } = snapshot;
  const { update, delete: deleted } = decided;
  if (created.length + update.length + deleted.length === 0) return 0;
  const now = new Date(snapshot.now);
  const updated = toWrite(
    snapshot,
    update.map(({ id }) => id),
  );
  const changed = updated.length ? await updateBikeRows(tx, systemId, snapshot.now, at, updated) : [];
  await tellStates(tx, { ids, systemId, now }, [...wires, ...changed]);
  if (deleted.length)
    await deleteBikeRows(
      tx,
      systemId,
      deleted.map(({ id }) => id),
    );
  const lost = update.filter(({ reservation_id }) => reservation_id !== null);
  const losses = lost.flatMap(({ reservation_id: reservationId }) =>
    reservationId === null ? [] : [{ reservationId, reason: "bike_unavailable" as const }],
  );
  const cancelled = await cancelForBikes(tx, { ids, systemId, now }, losses);
  const stations = [...update, ...deleted, ...updated, ...created].flatMap(({ station_id }) => station_id ?? []);
  await refreshCounters(tx, systemId, stations, now);
  await shiftMirrored(tx, systemId, lost.flatMap(leavesReserved), now);
  await notifyBikesChanged(tx, systemId);
  return cancelled.length;
}

/** A bike that was held and cannot be ridden is no longer reserved at its station, and not available either. */
function leavesReserved({ station_id, vehicle_state }: BikeRow) {
  if (station_id === null || vehicle_state !== "reserved") return [];
  return [{ stationId: station_id, vehicleTypeId: null, available: 0, reserved: -1 }];
}

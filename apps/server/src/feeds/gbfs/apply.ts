import type { VehicleReport } from "../../bikes/bike.ts";
import type { BikeChanges } from "../../bikes/snapshot.ts";
import { applyBikeSnapshot } from "../../bikes/snapshot.ts";
import { countRows, pickSlot } from "../../counts/service.ts";
import type { Queryable, Transaction } from "../../db/database.ts";
import { applyStationSnapshot, stationPositions, type StationChanges } from "../../stations/snapshot.ts";
import type { Feed } from "./feed.ts";
import { lockSourceTimes, saveSourceTimes, type SourceTimes } from "./queries.ts";
import type { GbfsSnapshot } from "./read.ts";

/** Whose snapshot it is, and when it is applied. */
export interface ApplyContext {
  readonly systemId: string;
  /** The feed's name among the sources of this system. */
  readonly source: string;
  /** Milliseconds since 1970: becomes `updated_at`. */
  readonly now: number;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/** What a snapshot did. */
export interface Applied {
  readonly stations: StationChanges;
  readonly bikes: BikeChanges;
  /** Names of the feeds for which a newer snapshot had been applied before. */
  readonly late: readonly string[];
}

const NO_BIKES: BikeChanges = { created: 0, updated: 0, unchanged: 0, removed: 0, foreign: [] };

/**
 * Applies one snapshot of a source (all its feeds, or some) in one transaction. Feeds and snapshots may come in
 * any order: those that have come decide the result, not their order. The transaction may be an open one, so that
 * the caller can add what follows from the `edges`.
 */
export async function applySnapshot(db: Queryable, context: ApplyContext, snapshot: GbfsSnapshot): Promise<Applied> {
  return db.transaction(async (tx) => {
    const { systemId, source, now } = context;
    const times = await lockSourceTimes(tx, systemId, source);
    const stations = await applyStationSnapshot(tx, {
      systemId,
      source,
      now,
      information: snapshot.information,
      readings: snapshot.readings,
      timesBefore: times,
    });
    const bikes = await applyVehicles(tx, context, times, snapshot.vehicles);
    const vehiclesAt = snapshot.vehicles ? Math.max(snapshot.vehicles.at, times.vehiclesAt ?? 0) : times.vehiclesAt;
    await saveSourceTimes(tx, systemId, source, { ...stations.timesAfter, vehiclesAt });
    const slot = pickSlot(context.random);
    await countRows(tx, systemId, "bikes", slot, bikes.created - bikes.removed);
    await countRows(tx, systemId, "stations", slot, stations.created);
    return { stations, bikes, late: lateFeeds(times, snapshot) };
  });
}

/** An older list of vehicles says nothing: those that it names beyond the newest are gone. */
async function applyVehicles(
  tx: Transaction,
  { systemId, source, now }: ApplyContext,
  times: SourceTimes,
  feed: Feed<VehicleReport> | undefined,
): Promise<BikeChanges> {
  if (!feed) return NO_BIKES;
  if (isLate(feed, times.vehiclesAt)) return { ...NO_BIKES, unchanged: feed.records.size };
  const places = new Set<string>();
  for (const { position, station_id } of feed.records.values()) {
    if (position === undefined && station_id !== null) places.add(station_id);
  }
  const positions = places.size ? await stationPositions(tx, systemId, [...places]) : new Map<string, never>();
  const { records, rejected } = feed;
  return applyBikeSnapshot(tx, { systemId, source, now, records, rejected, stationPositions: positions });
}

function lateFeeds(times: SourceTimes, { information, readings, vehicles }: GbfsSnapshot): string[] {
  const late: string[] = [];
  if (information && isLate(information, times.information?.latest)) late.push(information.name);
  if (readings && isLate(readings, times.readings?.latest)) late.push(readings.name);
  if (vehicles && isLate(vehicles, times.vehiclesAt)) late.push(vehicles.name);
  return late;
}

function isLate({ at }: { readonly at: number }, latest: number | undefined): boolean {
  return latest !== undefined && at < latest;
}

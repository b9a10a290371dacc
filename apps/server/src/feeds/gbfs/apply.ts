import type { EventName } from "@bikeshare/contract";
import { type AppliedAlerts, applyAlerts } from "../../city/alerts/alert-changes.ts";
import type { AlertRecord } from "../../city/alerts/alert.rules.ts";
import { applyBikeSnapshot, type BikeChanges, ignoreBikeSnapshot } from "../../city/fleet/bike-snapshot.ts";
import type { Position } from "../../city/fleet/bike.rules.ts";
import { type FleetCommand, runCommand } from "../../city/fleet/command.ts";
import type { VehicleReport } from "../../city/fleet/snapshot-decision.rules.ts";
import {
  plannedPositions,
  planStations,
  type StationChanges,
  writeStations,
} from "../../city/fleet/station-snapshot.ts";
import type { Ids } from "../../ids.ts";
import type { Queryable } from "../../storage/db/database.ts";
import type { Description } from "./descriptions.ts";
import type { Feed } from "./feed.ts";
import { lockSourceTimes, type SourceTimes, updateDescriptions, updateSourceTimes } from "./queries.ts";
import type { GbfsSnapshot } from "./snapshot.ts";

/** The source of a snapshot, and the time at which it is applied. */
export interface ApplyContext {
  readonly systemId: string;
  /** The feed's name among the sources of this system. */
  readonly source: string;
  /** Milliseconds since 1970. Is written as `updated_at`. */
  readonly now: number;
  readonly ids: Ids;
  /** True: applies a snapshot even if the source's `system_id` has changed. */
  readonly force?: boolean | undefined;
  /** True: rolls the transaction back, so that nothing is stored. */
  readonly isTrial?: boolean | undefined;
  /** Most stations that the source may have. Tests make it small. */
  readonly maxStations?: number | undefined;
  /** GBFS_STATION_STALE_AFTER in milliseconds; undefined: no station is offline because it does not report. */
  readonly stationStaleAfterMs?: number | undefined;
}

/** The result of applying a snapshot. */
export interface Applied {
  readonly stations: StationChanges;
  readonly bikes: BikeChanges;
  readonly alerts: AppliedAlerts;
  /** Names of the feeds of stations and vehicles that are older than those which were applied before. */
  readonly late: readonly string[];
}

/**
 * Returns how many events of each name an applied snapshot recorded. Leaves out one kind of event: the end of an alert
 * whose times were over, and that the snapshot opens again.
 */
export function eventsOf({ stations, bikes, alerts }: Applied): EventCounts {
  const counts: { [Name in EventName]?: number } = {};
  for (const name of stations.events) counts[name] = (counts[name] ?? 0) + 1;
  if (bikes.cancelled > 0) counts["reservation.cancelled"] = bikes.cancelled;
  if (alerts.opened > 0) counts["alert.opened"] = alerts.opened;
  if (alerts.ended > 0) counts["alert.ended"] = alerts.ended;
  return counts;
}

/** Numbers of events by name. */
export type EventCounts = { readonly [Name in EventName]?: number };

/** The feeds of a source now name another `system_id` than the feeds that were applied before. Nothing was changed. */
export class OtherSystemError extends Error {
  override readonly name = "OtherSystemError";
  /** The name of this lasting failure. */
  readonly condition = "gbfs_other_system";

  /** The `system_id` that the source published before. */
  readonly before: string;

  constructor(source: string, before: string, published: string) {
    super(
      `The source "${source}" was the system "${before}" until now, and its feeds say "${published}" (system_id). ` +
        `Nothing was changed. Import another system under another --source; if this one was renamed, say --force once.`,
    );
    this.before = before;
  }
}

/** Returns the `system_id` that a snapshot's source publishes; undefined when it publishes none. */
export function publishedIdOf({ descriptions = [] }: GbfsSnapshot): string | undefined {
  const system = descriptions.find((description) => description.feed === "system_information");
  return system?.publishedId;
}

/** The changes of a snapshot without a feed of vehicles. */
const NO_BIKES: BikeChanges = { created: 0, updated: 0, unchanged: 0, removed: 0, ownedByOthers: [], cancelled: 0 };

/**
 * Applies one snapshot of a source (all its feeds, or some) in one transaction. Feeds and snapshots may arrive in any order
 * with the same result. A change of a station's state records its event in the same transaction.
 * @throws OtherSystemError when the source's `system_id` has changed, unless `force` is true
 */
export async function applySnapshot(db: Queryable, context: ApplyContext, snapshot: GbfsSnapshot): Promise<Applied> {
  try {
    return await applyInTransaction(db, context, snapshot);
  } catch (error) {
    if (error instanceof TrialEnds) return error.applied;
    throw error;
  }
}

/** Thrown at the end of a trial, so that its transaction rolls back. */
class TrialEnds extends Error {
  readonly applied: Applied;

  constructor(applied: Applied) {
    super("the trial is over");
    this.applied = applied;
  }
}

/** Applies a snapshot as a command of the fleet. @throws TrialEnds at the end of a trial */
function applyInTransaction(db: Queryable, context: ApplyContext, snapshot: GbfsSnapshot): Promise<Applied> {
  const { systemId, source, now, ids } = context;
  return runCommand({ db, clock: () => now, ids }, systemId, async (command) => {
    const { tx } = command;
    const times = await lockSourceTimes(tx, systemId, source);
    const publishedId = publishedIdOf(snapshot) ?? times.publishedId;
    if (publishedId !== times.publishedId && times.publishedId !== undefined && context.force !== true) {
      throw new OtherSystemError(source, times.publishedId, publishedId ?? "");
    }
    const { information, status, vehicles } = snapshot;
    const { maxStations, stationStaleAfterMs } = context;
    const stationSnapshot = { source, information, status, timesBefore: times, maxStations, stationStaleAfterMs };
    const parkedAt = stationsOfParked(vehicles);
    // Only plans the stations, because bikes are written first. A bike without a position gets that of its station, as it
    // is after this snapshot.
    const plan = await planStations(command, stationSnapshot, parkedAt);
    const bikes = await applyVehicles(command, source, times, vehicles, () =>
      plannedPositions(command, plan, parkedAt),
    );
    // Writes bikes first, and with them the counters that follow from bikes, because the station feed's counters replace
    // these.
    await command.writeBikes();
    const stations = await writeStations(command, plan);
    const vehiclesAt = vehicles ? Math.max(vehicles.at, times.vehiclesAt ?? 0) : times.vehiclesAt;
    await updateSourceTimes(tx, systemId, source, { ...stations.timesAfter, vehiclesAt, publishedId });
    const newDescriptions = await updateDescriptions(tx, systemId, source, snapshot.descriptions ?? []);
    const alerts = await applyAlertFeed(command, source, newDescriptions);
    const applied = { stations, bikes, alerts, late: lateFeeds(times, snapshot) };
    if (context.isTrial === true) throw new TrialEnds(applied);
    return applied;
  });
}

/** The changes of a snapshot without new alerts. */
const NO_ALERTS: AppliedAlerts = { opened: 0, changed: 0, ended: 0, ignored: 0 };

/** Replaces the source's alerts by those of its feed, if the feed's content is new. */
async function applyAlertFeed(
  command: FleetCommand,
  source: string,
  newDescriptions: readonly Description[],
): Promise<AppliedAlerts> {
  const feed = newDescriptions.find((description) => description.feed === "system_alerts");
  // The JSON is in canonical form, because `readDescription` wrote it.
  return feed === undefined ? NO_ALERTS : applyAlerts(command, source, JSON.parse(feed.json) as AlertRecord[]);
}

/**
 * Applies a feed of vehicles. Ignores a feed that is older than the last applied one: a vehicle that only the older one lists
 * has left the fleet since, and must not be created again.
 */
async function applyVehicles(
  command: FleetCommand,
  source: string,
  times: SourceTimes,
  feed: Feed<VehicleReport> | undefined,
  findPositions: () => Promise<ReadonlyMap<string, Position>>,
): Promise<BikeChanges> {
  if (!feed) return NO_BIKES;
  const { at, records, rejected } = feed;
  if (isLate(feed, times.vehiclesAt)) return ignoreBikeSnapshot(command, { source, records });
  return applyBikeSnapshot(command, { source, at, records, rejected, stationPositions: await findPositions() });
}

/** Returns the ids of stations at which vehicles without a position in the feed stand. */
function stationsOfParked(feed: Feed<VehicleReport> | undefined): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { position, station_id } of feed?.records.values() ?? []) {
    if (position === undefined && station_id !== null) ids.add(station_id);
  }
  return ids;
}

/** Returns the names of the snapshot's feeds that are older than applied ones. */
function lateFeeds(times: SourceTimes, { information, status, vehicles }: GbfsSnapshot): string[] {
  return [
    ...(isLate(information, times.information?.latest) ? [information.name] : []),
    ...(isLate(status, times.status?.latest) ? [status.name] : []),
    ...(isLate(vehicles, times.vehiclesAt) ? [vehicles.name] : []),
  ];
}

/** Tells whether a feed is older than the latest applied one. @param latest milliseconds since 1970; undefined: none was */
function isLate<Content>(feed: Feed<Content> | undefined, latest: number | undefined): feed is Feed<Content> {
  return feed !== undefined && latest !== undefined && feed.at < latest;
}

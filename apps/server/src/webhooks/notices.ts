import { STATION_NOTICE_SECONDS } from "@bikeshare/contract";
import type { CommandContext } from "../command-context.ts";
import { recordEvents } from "../events/outbox.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../storage/background/periodic.ts";
import { sweepUnits, type UnitWork } from "../storage/set-aside/units.ts";
import { claimChangedStations, findStationSubscription, listChangedStations } from "./notice-queries.ts";

/*
 * Publishes notices of stations: the message `station.updated` to the endpoints that subscribe to it. A notice is
 * recorded like an event, but it is not listed.
 */

/**
 * Publishes a notice of each station that differs from its last notice, once a minute at most, to the endpoints that
 * subscribe to it. Any number of processes may call this: one of them publishes each change. A station without an earlier
 * notice counts as changed, so that the first subscriber gets every station. The background work below does the same, and
 * sets aside stations that fail.
 * @returns how many stations were published
 */
export async function publishChangedStations(
  context: CommandContext,
  systemId: string,
  limit: number,
): Promise<number> {
  return publishStations(context, systemId, await changedStations(context, systemId, limit, []));
}

/** Returns the ids of stations to publish; none if nobody subscribes to their notices. @param apart ids to leave out */
async function changedStations(
  { db, clock }: CommandContext,
  systemId: string,
  limit: number,
  apart: readonly string[],
): Promise<string[]> {
  if (!(await findStationSubscription(db, systemId))) return [];
  return listChangedStations(db, systemId, { before: noticedBefore(clock()), limit, apart });
}

/** Returns the time at which, or before which, a station's last notice must have been for another one to follow now. */
function noticedBefore(now: number): Date {
  return new Date(now - STATION_NOTICE_SECONDS * 1000);
}

/** Publishes those of the stations that no other process has published meanwhile. @returns how many */
function publishStations(
  { db, clock, ids }: CommandContext,
  systemId: string,
  stationIds: readonly string[],
): Promise<number> {
  const now = new Date(clock());
  return db.transaction(async (tx) => {
    const stations = await claimChangedStations(tx, systemId, now, noticedBefore(now.getTime()), stationIds);
    const notices = stations.map(({ json, updated_at }) => ({
      name: "station.updated" as const,
      occurredAt: updated_at,
      data: json,
    }));
    recordEvents(tx, { ids, systemId, now }, notices);
    return stations.length;
  });
}

/**
 * Interval between two sweeps, and the longest delay of the first change after a quiet minute. Too low: reads stations
 * more often. Too high: partners' maps lag.
 */
const SWEEP_INTERVAL_MS = 3_000;
/** Stations in one transaction. Too low: makes more transactions. Too high: locks their notices for longer. */
const BATCH_SIZE = 500;

/** Publishes changed stations every few seconds. */
export function startStationNotices({
  systems,
  onError,
  watch,
  ...context
}: CommandContext & SweeperSurroundings): PeriodicWork<number> {
  // A station is a unit of this work: one whose notice fails again and again is set aside, and the others go on.
  const work: UnitWork = {
    db: context.db,
    work: "notify-of-station",
    canCrash: true,
    list: (systemId, limit, apart) => changedStations(context, systemId, limit, apart),
    run: (systemId, stationIds) => publishStations(context, systemId, stationIds),
    onError,
  };
  return startSweeper({
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: BATCH_SIZE,
    systems,
    sweep: (systemId, limit) => sweepUnits(work, systemId, limit),
    onError,
    watch,
  });
}

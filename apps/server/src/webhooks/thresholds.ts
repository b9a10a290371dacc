import { stationTextAt } from "../city/history/station-history.ts";
import type { CommandContext } from "../command-context.ts";
import { type NewEvent, recordEvents } from "../events/outbox.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../storage/background/periodic.ts";
import type { Queryable, Transaction } from "../storage/db/database.ts";
import { sweepUnits, type UnitWork } from "../storage/set-aside/units.ts";
import {
  type Crossing,
  type CrossingEvent,
  followCrossing,
  isAsTold,
  readHistory,
  type StationState,
} from "./rules/threshold.ts";
import {
  deleteComparedStations,
  deleteUnwatchedStates,
  findDatabaseNow,
  findWhetherWatched,
  listStationsToCompare,
  listWatches,
  lockAllStations,
  lockStations,
  type StateRow,
  updateSeen,
  updateStates,
  updateWatched,
  type WatchedStation,
  type WatchRow,
} from "./threshold-queries.ts";

/**
 * Milliseconds by which a threshold is told later than its minutes are over. Too low: a command that began before, and whose
 * transaction takes so long, is not seen. Too high: alarms are late.
 */
export const SETTLE_MS = 2_000;

export interface WatchContext extends CommandContext {
  /** The time by the database's clock, which all processes share. Tests give their own. */
  readonly databaseNow?: (db: Queryable) => Promise<Date>;
}

/**
 * Compares stations with the thresholds of endpoints, and records the events that follow.
 *
 * What was missed since the last comparison is read from the stations' history, so that a short recovery interrupts, however
 * late the comparison comes. The lock of a station's row in `webhook_threshold_stations` lets one process compare it; events,
 * states and how far the history was read are one transaction. So each event is recorded once.
 * @returns how many stations were compared
 */
export async function compareStations(context: WatchContext, systemId: string, limit: number): Promise<number> {
  return compare(context, systemId, await stationsToCompare(context, systemId, limit, []));
}

/** Compares all stations that are to be compared now. */
export async function compareAllStations(context: WatchContext, systemId: string): Promise<void> {
  while ((await compareStations(context, systemId, BATCH_SIZE)) > 0);
}

/** Tells whether something is due, or changed, that was not compared yet. */
export async function hasUncompared(
  { db, databaseNow = findDatabaseNow }: WatchContext,
  systemId: string,
): Promise<boolean> {
  const { watched, waiting } = await findWhetherWatched(db, systemId);
  if (waiting || !watched) return waiting;
  return (await listStationsToCompare(db, systemId, await databaseNow(db), 1, [])).length > 0;
}

async function stationsToCompare(
  context: WatchContext,
  systemId: string,
  limit: number,
  apart: readonly string[],
): Promise<string[]> {
  const { db, databaseNow = findDatabaseNow } = context;
  const { watched, waiting, has_stations: hasStations } = await findWhetherWatched(db, systemId);
  if (waiting) {
    await db.transaction(async (tx) => {
      await lockAllStations(tx, systemId);
      // Read behind the lock: what happened before it has been compared, and what happens after it counts.
      await updateWatched(tx, systemId, await databaseNow(tx));
    });
  }
  if (watched) return listStationsToCompare(db, systemId, settled(await databaseNow(db)), limit, apart);
  if (hasStations) await deleteComparedStations(db, systemId);
  return [];
}

function settled(now: Date): Date {
  return new Date(now.getTime() - SETTLE_MS);
}

async function compare(context: WatchContext, systemId: string, stationIds: readonly string[]): Promise<number> {
  if (stationIds.length === 0) return 0;
  const { db, databaseNow = findDatabaseNow, clock, ids } = context;
  return db.transaction(async (tx) => {
    const locked = await lockStations(tx, systemId, stationIds, async () => settled(await databaseNow(tx)));
    const lockedIds = locked.map(({ id }) => id);
    const watches = Map.groupBy(await listWatches(tx, systemId, lockedIds), (row) => row.station_id);
    const followed = locked.flatMap((station) => {
      const history = readHistory(station.numbers);
      return (watches.get(station.id) ?? []).map((watch) => {
        return { station, watch, ...follow(history, watch, station.known_until) };
      });
    });
    await deleteUnwatchedStates(tx, systemId, lockedIds);
    await updateStates(tx, systemId, followed.filter(isChanged).map(stateRow));
    const events: NewEvent[] = [];
    for (const { station, watch, events: told } of followed)
      for (const event of told) events.push(await newEvent(tx, systemId, station, watch, event));
    recordEvents(tx, { ids, systemId, now: new Date(clock()) }, events);
    await updateSeen(tx, systemId, locked);
    return locked.length;
  });
}

function follow(history: readonly StationState[], watch: WatchRow, until: Date) {
  const since = watch.since.getTime();
  const changes = history.map((change) => ({ ...change, at: Math.max(change.at, since) }));
  const { fewer_than, for_minutes } = watch;
  return followCrossing(
    { count: watch.count_of, fewer_than, for_minutes },
    crossingOf(watch),
    changes,
    until.getTime(),
  );
}

function stateRow({
  watch,
  crossing,
}: {
  readonly watch: WatchRow;
  readonly crossing: Crossing | undefined;
}): StateRow {
  const { id: threshold_id, station_id } = watch;
  if (crossing === undefined) return { threshold_id, station_id, below_since: null, due_at: null };
  const { belowSince, dueAt } = crossing;
  return {
    threshold_id,
    station_id,
    below_since: new Date(belowSince),
    due_at: dueAt === null ? null : new Date(dueAt),
  };
}

function crossingOf({ below_since: since, due_at: due }: WatchRow) {
  return since === null ? undefined : { belowSince: since.getTime(), dueAt: due?.getTime() ?? null };
}

function isChanged({ watch, crossing }: { readonly watch: WatchRow } & ReturnType<typeof follow>): boolean {
  const before = crossingOf(watch);
  return before?.belowSince !== crossing?.belowSince || before?.dueAt !== crossing?.dueAt;
}

async function newEvent(
  tx: Transaction,
  systemId: string,
  { id, json, since }: WatchedStation,
  watch: WatchRow,
  { name, at, belowSince }: CrossingEvent,
): Promise<NewEvent> {
  const occurredAt = new Date(at);
  const past = since !== null && at < since.getTime() ? await stationTextAt(tx, systemId, id, occurredAt) : undefined;
  // A sandbox's clock may have let the minutes pass before the station changed at all. Then the station is told as it is.
  const isPast = past !== undefined && isAsTold({ count: watch.count_of, fewer_than: watch.fewer_than }, name, past);
  const station = isPast ? past : json;
  if (station === null) throw new Error(`station ${id}, which is gone, crossed a threshold`);
  const threshold = {
    ...{ count: watch.count_of, fewer_than: watch.fewer_than, for_minutes: watch.for_minutes },
    below_since: new Date(belowSince).toISOString(),
  };
  const data = `${station.slice(0, -1)},"threshold":${JSON.stringify(threshold)}}`;
  return { name, occurredAt, partnerId: watch.partner_id, endpointId: watch.endpoint_id, data };
}

/** Milliseconds between two comparisons. Too low: reads stations more often. Too high: alarms are late. */
const COMPARE_INTERVAL_MS = 3_000;
/** Stations in one transaction, each with up to thousands of thresholds. Too high: it takes longer than a run may. */
const BATCH_SIZE = 25;

/** Compares stations with thresholds every few seconds. */
export function startThresholds({
  systems,
  onError,
  watch,
  ...context
}: CommandContext & SweeperSurroundings): PeriodicWork<number> {
  const work: UnitWork = {
    db: context.db,
    work: "compare-station",
    canCrash: true,
    list: (systemId, limit, apart) => stationsToCompare(context, systemId, limit, apart),
    run: (systemId, stationIds) => compare(context, systemId, stationIds),
    onError,
  };
  return startSweeper({
    intervalMs: COMPARE_INTERVAL_MS,
    batchSize: BATCH_SIZE,
    systems,
    sweep: (systemId, limit) => sweepUnits(work, systemId, limit),
    onError,
    watch,
  });
}

import { stationTextAt } from "../city/history/station-history.ts";
import type { CommandContext } from "../command-context.ts";
import { type NewEvent, recordEvents } from "../events/outbox.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../storage/background/periodic.ts";
import type { Queryable } from "../storage/db/database.ts";
import { sweepUnits, type UnitWork } from "../storage/set-aside/units.ts";
import {
  type Crossing,
  type CrossingEvent,
  fitsEvent,
  followCrossing,
  readHistory,
  type StationState,
} from "./rules/threshold.ts";
import {
  deleteComparedStations,
  deleteUnwatchedStates,
  findDatabaseNow,
  findWhetherWatched,
  listStationsToCompare,
  listStationThresholds,
  lockAllStations,
  lockStations,
  type StateRow,
  type StationThreshold,
  updateSeen,
  updateStates,
  updateWatched,
  type WatchedStation,
} from "./threshold-queries.ts";

/*
 * A threshold is an endpoint's rule "fewer than n bikes (or docks) for m minutes" at some stations. This file compares the
 * stations with the thresholds every few seconds, and records `station.below_threshold` when a station has been below for
 * those minutes, and `station.back_to_normal` when it has enough again. `rules/threshold.ts` says when a station crosses a
 * threshold. Words: docs/glossary.md#threshold, docs/glossary.md#crossing.
 */

/**
 * Milliseconds between the end of a threshold's minutes and its event. Too low: misses the change by a command that began
 * before the end and whose transaction takes longer. Too high: alarms are late.
 */
export const SETTLE_MS = 2_000;
/** Milliseconds between two comparisons. Too low: reads stations more often. Too high: alarms are late. */
const COMPARE_INTERVAL_MS = 3_000;
/**
 * Stations in one transaction, each with up to thousands of thresholds. Too high: the transaction takes longer than
 * `RUN_TIMEOUT_MS` (storage/set-aside/units.ts) and counts as a crash.
 */
const BATCH_SIZE = 25;
/**
 * Events in one statement. Too low: costs more statements. Too high: the statement needs much memory and exceeds its time
 * limit.
 */
const MAX_EVENTS = 500;
/**
 * Maximum milliseconds for one system before the stations of the next are compared. Too high: a system with many thresholds
 * delays the alarms of others.
 */
const MAX_SYSTEM_MS = 10_000;

export interface CompareContext extends CommandContext {
  /** The time by the database's clock, which all processes share. Tests give their own. */
  readonly databaseNow?: (db: Queryable) => Promise<Date>;
}

/**
 * Compares stations with the thresholds of endpoints, and records the events that follow.
 *
 * Reads the stations' history since the last comparison, so that a short recovery interrupts the minutes, however late the
 * comparison comes. Records each event once: the lock of a station's row in `webhook_threshold_stations` lets one process
 * compare it, and one transaction writes the events, the states and how far the history was read.
 * @returns how many stations were compared
 */
export async function compareStations(context: CompareContext, systemId: string, limit: number): Promise<number> {
  return compare(context, systemId, await stationsToCompare(context, systemId, limit, []));
}

/** Compares all stations that changed or are due. */
export async function compareAllStations(context: CompareContext, systemId: string): Promise<void> {
  while ((await compareStations(context, systemId, BATCH_SIZE)) > 0);
}

/**
 * Returns the ids of stations to compare. Begins to watch new thresholds before, and stops watching those of suspended
 * partners.
 * @param apart ids to leave out
 */
async function stationsToCompare(
  context: CompareContext,
  systemId: string,
  limit: number,
  apart: readonly string[],
): Promise<string[]> {
  const { db, databaseNow = findDatabaseNow } = context;
  const { isWatched, hasPending, hasCompared } = await findWhetherWatched(db, systemId);
  if (hasPending) {
    await db.transaction(async (tx) => {
      await lockAllStations(tx, systemId, await databaseNow(tx));
      // The time is read when the stations are locked: all later comparisons follow the new thresholds from then on.
      await updateWatched(tx, systemId, await databaseNow(tx));
    });
  }
  if (isWatched) return listStationsToCompare(db, systemId, settled(await databaseNow(db)), limit, apart);
  if (hasCompared) await deleteComparedStations(db, systemId);
  return [];
}

/**
 * Returns the time up to which changes are taken to be committed (`SETTLE_MS` before now), so that a threshold's minutes can
 * be judged.
 */
function settled(now: Date): Date {
  return new Date(now.getTime() - SETTLE_MS);
}

async function compare(context: CompareContext, systemId: string, stationIds: readonly string[]): Promise<number> {
  if (stationIds.length === 0) return 0;
  const { db, databaseNow = findDatabaseNow, clock, ids } = context;
  return db.transaction(async (tx) => {
    const locked = await lockStations(tx, systemId, stationIds, async () => settled(await databaseNow(tx)));
    const lockedIds = locked.map(({ id }) => id);
    const thresholds = Map.groupBy(await listStationThresholds(tx, systemId, lockedIds), (row) => row.station_id);
    const followed = locked.flatMap((station) => {
      const history = readHistory(station.numbers);
      return (thresholds.get(station.id) ?? []).map((threshold) => {
        return { station, threshold, ...follow(history, threshold, station.known_until) };
      });
    });
    await deleteUnwatchedStates(tx, systemId, lockedIds);
    await updateStates(tx, systemId, followed.filter(isChanged).map(stateRow));
    const events: NewEvent[] = [];
    // Caches past texts, because one change of a station may cross thousands of thresholds.
    const texts = new Map<string, Promise<string | undefined>>();
    const textAt: PastText = (id, at) => {
      const key = `${at.getTime()} ${id}`;
      const text = texts.get(key) ?? stationTextAt(tx, systemId, id, at);
      texts.set(key, text);
      return text;
    };
    for (const { station, threshold, events: caused } of followed)
      for (const event of caused) events.push(await newEvent(textAt, station, threshold, event));
    const now = new Date(clock());
    for (let first = 0; first < events.length; first += MAX_EVENTS)
      recordEvents(tx, { ids, systemId, now }, events.slice(first, first + MAX_EVENTS));
    await updateSeen(tx, systemId, locked);
    return locked.length;
  });
}

/**
 * Follows a station through its history, from when the threshold began to be watched. Earlier changes count as made at that
 * time.
 * @param until the time up to which the station's state is known
 */
function follow(history: readonly StationState[], threshold: StationThreshold, until: Date) {
  const since = threshold.since.getTime();
  const changes = history.map((change) => ({ ...change, at: Math.max(change.at, since) }));
  const { fewer_than, for_minutes } = threshold;
  return followCrossing(
    { count: threshold.count_of, fewer_than, for_minutes },
    crossingOf(threshold),
    changes,
    until.getTime(),
  );
}

/** Returns the row that stores whether a station is below a threshold. */
function stateRow({
  threshold,
  crossing,
}: {
  readonly threshold: StationThreshold;
  readonly crossing: Crossing | undefined;
}): StateRow {
  const { id: threshold_id, station_id } = threshold;
  if (crossing === undefined) return { threshold_id, station_id, below_since: null, due_at: null };
  const { belowSince, dueAt } = crossing;
  return {
    threshold_id,
    station_id,
    below_since: new Date(belowSince),
    due_at: dueAt === null ? null : new Date(dueAt),
  };
}

/** Returns the stored crossing of a threshold by a station; undefined: the station is not below it. */
function crossingOf({ below_since: since, due_at: due }: StationThreshold) {
  return since === null ? undefined : { belowSince: since.getTime(), dueAt: due?.getTime() ?? null };
}

/** Tells whether a crossing began, ended or was reported, so that its stored state must be written. */
function isChanged({
  threshold,
  crossing,
}: { readonly threshold: StationThreshold } & ReturnType<typeof follow>): boolean {
  const before = crossingOf(threshold);
  return before?.belowSince !== crossing?.belowSince || before?.dueAt !== crossing?.dueAt;
}

/** Returns a station as a GET showed it at an instant; undefined: its history begins later. */
type PastText = (id: string, at: Date) => Promise<string | undefined>;

async function newEvent(
  textAt: PastText,
  { id, json, since }: WatchedStation,
  { count_of: count, fewer_than, for_minutes, partner_id: partnerId, endpoint_id: endpointId }: StationThreshold,
  { name, at, belowSince }: CrossingEvent,
): Promise<NewEvent> {
  const occurredAt = new Date(at);
  const past = since !== null && at < since.getTime() ? await textAt(id, occurredAt) : undefined;
  // An event has the station as it was at the event's time: a past state, if the station has changed since. In a sandbox, an
  // advanced clock can date the event before the very change that caused it. The past state does not fit the event then, and
  // the present one is sent.
  const isPast = past !== undefined && fitsEvent({ count, fewer_than }, name, past);
  const station = isPast ? past : json;
  if (station === null) throw new Error(`station ${id}, which is gone, crossed a threshold`);
  const threshold = { count, fewer_than, for_minutes, below_since: new Date(belowSince).toISOString() };
  // Adds a property to the station's JSON text.
  const data = `${station.slice(0, -1)},"threshold":${JSON.stringify(threshold)}}`;
  return { name, occurredAt, partnerId, endpointId, data };
}

/**
 * Tells whether a station still has to be compared, because it changed or a threshold is due. Uses the present time, without
 * `SETTLE_MS`, because a sandbox is not ready while a comparison is about to happen.
 */
export async function hasUncompared(
  { db, databaseNow = findDatabaseNow }: CompareContext,
  systemId: string,
): Promise<boolean> {
  const { isWatched, hasPending } = await findWhetherWatched(db, systemId);
  if (hasPending) return true;
  return isWatched && (await listStationsToCompare(db, systemId, await databaseNow(db), 1, [])).length > 0;
}

/**
 * Compares stations with thresholds every few seconds. A station whose comparison fails is tried separately later, and one
 * whose comparison ended three processes is set aside: see storage/set-aside/units.ts.
 */
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
    maxSystemMs: MAX_SYSTEM_MS,
    onError,
    watch,
  });
}

import { createHash } from "node:crypto";
import { MAX_THRESHOLDS, MAX_WATCHED_STATIONS, type Threshold } from "@bikeshare/contract";
import { commandError } from "../../command-errors.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type CrossingEvent, followCrossing, readHistory } from "../rules/threshold.ts";
import { expandEvents } from "./endpoint-context.ts";
import { requireKnownPlaces } from "./endpoint-places.ts";
import {
  countWatchedStations,
  listHistories,
  listThresholds,
  listWatchedStations,
  type ThresholdRow,
} from "./threshold-queries.ts";

/* Reads and validates the thresholds of endpoints, and finds the events that they would have caused. */

/** The events that thresholds cause. */
export const THRESHOLD_EVENTS: readonly string[] = [
  "station.below_threshold",
  "station.back_to_normal",
] satisfies readonly CrossingEvent["name"][];

/** Returns the thresholds of endpoints, by their ids. */
export async function thresholdsOf(
  db: Queryable,
  systemId: string,
  endpointIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Threshold[]>> {
  const rows = await listThresholds(db, systemId, endpointIds);
  return new Map([...Map.groupBy(rows, (row) => row.endpoint_id)].map(([id, mine]) => [id, mine.map(thresholdOf)]));
}

function thresholdOf({ count_of: count, station_ids, region_ids, fewer_than, for_minutes }: ThresholdRow): Threshold {
  return { count, fewer_than, for_minutes, station_ids: [...(station_ids ?? [])], region_ids: [...(region_ids ?? [])] };
}

/** The endpoint of rows that are only compared or counted, and not stored. */
const NO_ENDPOINT = "";

/**
 * Returns the rows of thresholds, without duplicates. A threshold's id is a hash of its content: when an endpoint is set
 * again, a threshold that it already had keeps its states.
 */
export function thresholdRows(endpointId: string, thresholds: readonly Threshold[]): ThresholdRow[] {
  const listed = (ids: readonly string[]) => (ids.length === 0 ? null : [...new Set(ids)].toSorted());
  const rows = new Map<string, ThresholdRow>();
  for (const { count, fewer_than, for_minutes, station_ids, region_ids } of thresholds) {
    const columns = {
      count_of: count,
      fewer_than,
      for_minutes,
      station_ids: listed(station_ids),
      region_ids: listed(region_ids),
    };
    const digest = createHash("sha256").update(JSON.stringify(columns)).digest("hex").slice(0, 16);
    const id = `${endpointId}_${digest}`;
    if (!rows.has(id)) rows.set(id, { id, endpoint_id: endpointId, position: rows.size, ...columns });
  }
  return [...rows.values()];
}

/** Tells whether two lists of thresholds are the same, in any order. */
export function isSameThresholds(some: readonly Threshold[], others: readonly Threshold[]): boolean {
  const idsOf = (thresholds: readonly Threshold[]) => thresholdRows(NO_ENDPOINT, thresholds).map(({ id }) => id);
  return String(idsOf(some).toSorted()) === String(idsOf(others).toSorted());
}

/**
 * Checks that there are not too many thresholds, that their stations and regions exist, and that they watch not too many
 * stations.
 * @throws ServiceError
 */
export async function requireAllowedThresholds(
  db: Queryable,
  systemId: string,
  thresholds: readonly Threshold[],
): Promise<void> {
  if (thresholds.length === 0) return;
  if (thresholds.length > MAX_THRESHOLDS)
    throw commandError("invalid_parameter", "tooManyThresholds", { limit: MAX_THRESHOLDS });
  for (const [index, { station_ids, region_ids }] of thresholds.entries())
    if (station_ids.length + region_ids.length > 0)
      await requireKnownPlaces(db, systemId, { station_ids, region_ids, bbox: null }, `thresholds.${index}`);
  const watched = await countWatchedStations(db, systemId, thresholdRows(NO_ENDPOINT, thresholds));
  if (watched > MAX_WATCHED_STATIONS)
    throw commandError("invalid_parameter", "tooManyWatched", { watched, limit: MAX_WATCHED_STATIONS });
}

/** @throws ServiceError when there are thresholds, but the endpoint subscribes to none of their events */
export function requireThresholdEvents(events: readonly string[], thresholds: readonly Threshold[]): void {
  if (thresholds.length === 0 || expandEvents(events).some((name) => THRESHOLD_EVENTS.includes(name))) return;
  throw commandError("invalid_parameter", "thresholdEvents", { events: THRESHOLD_EVENTS.join(" and ") });
}

/** Stations whose history is read by one statement: some thousand changes. */
const STATIONS_AT_ONCE = 100;

/**
 * Returns the events that thresholds would have caused since an instant if they had been set then.
 * @param limit once so many changes of stations were read, no further stations are read, and `isComplete` is false
 */
export async function pastCrossings(
  db: Queryable,
  systemId: string,
  thresholds: readonly Threshold[],
  { since, until, limit }: { readonly since: Date; readonly until: Date; readonly limit: number },
): Promise<{ readonly events: readonly CrossingEvent[]; readonly isComplete: boolean }> {
  const events: CrossingEvent[] = [];
  if (thresholds.length === 0) return { events, isComplete: true };
  const rows = thresholdRows(NO_ENDPOINT, thresholds);
  const distinct = rows.map(thresholdOf);
  const stations = await listWatchedStations(db, systemId, rows);
  const regionOf = new Map(stations.map(({ id, region_id: region }) => [id, region]));
  let looked = 0;
  for (let first = 0; first < stations.length; first += STATIONS_AT_ONCE) {
    if (looked >= limit) return { events, isComplete: false };
    const ids = stations.slice(first, first + STATIONS_AT_ONCE).map(({ id }) => id);
    for (const { id, numbers } of await listHistories(db, systemId, ids, since)) {
      const history = readHistory(numbers);
      looked += history.length;
      for (const threshold of distinct)
        // No crossing is known at the beginning of the history (undefined).
        if (watches(threshold, id, regionOf.get(id) ?? null))
          events.push(...followCrossing(threshold, undefined, history, until.getTime()).events);
    }
  }
  return { events, isComplete: true };
}

/** Tells whether a threshold applies to a station. Without stations and regions, it applies to all. */
function watches({ station_ids, region_ids }: Threshold, id: string, region: string | null): boolean {
  if (station_ids.length + region_ids.length === 0) return true;
  return station_ids.includes(id) || (region !== null && region_ids.includes(region));
}

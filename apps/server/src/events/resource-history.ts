import { firstIdAt } from "../ids.ts";
import type { Queryable } from "../storage/db/database.ts";
import { dayOf } from "../storage/partitions/partition.rules.ts";
import { resourceDeliveries, type ResourceDelivery } from "../webhooks/log/resource-deliveries.ts";
import {
  listEventsBetween,
  listEventsByIds,
  listStationEvents,
  type ResourceEventRow,
  type StationEvent,
} from "./queries.ts";

/*
 * Two searches of the events list by resource: `resourceHistory` finds the events and deliveries of any resource, and
 * `stationHistory` finds when a station went offline and came back.
 */

/** An event of a resource, and its deliveries. */
interface HistoryEvent {
  readonly id: string;
  readonly at: string;
  readonly event: string;
  readonly deliveries: readonly Pick<ResourceDelivery, "id" | "partner_id" | "partner_name" | "status">[];
}

/** The events and notices of a resource, as far as they were found. */
export interface ResourceHistory {
  /** The newest first. */
  readonly events: readonly HistoryEvent[];
  /**
   * False: a search reached its limit, so events or deliveries may be missing. Even if true, events that were delivered to
   * nobody are missing if they were recorded outside the searched times: for a station or a bike no time is searched.
   */
  readonly isComplete: boolean;
}

/**
 * Most events searched around one instant. The search takes some 30 ms. A big city may have more events in the searched
 * minutes: then the result is incomplete, and says so.
 */
const SCAN_LIMIT = 10_000;
/** How long before the time of a change the event about it may have been recorded, at most. */
const EARLY_MS = 2_000;
/** How long after the time of a change the event about it is recorded, usually at most. */
const LATE_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * Returns the events and notices of a station, a bike, a ride or a reservation. The events list has no index by resource,
 * which would make every ride slower. So the search uses the deliveries about the resource, which have an index, and the
 * events recorded around the known times of its changes; both searches are bounded.
 * @param around the known times of the resource's changes, in milliseconds since 1970
 * @param scanLimit how many events to search around each of these times, at most
 */
export async function resourceHistory(
  { db }: { readonly db: Queryable },
  systemId: string,
  resourceId: string,
  around: readonly number[],
  scanLimit = SCAN_LIMIT,
): Promise<ResourceHistory> {
  const windows = await Promise.all(
    [...new Set(around)].map((at) => listEventsBetween(db, systemId, resourceId, windowAround(at), scanLimit + 1)),
  );
  const { deliveries, isComplete } = await resourceDeliveries(db, systemId, resourceId);
  const found = new Map(windows.flatMap(({ events }) => events).map((event) => [event.id, event]));
  const unknown = [...new Set(deliveries.map((delivery) => delivery.event_id))].filter((id) => !found.has(id));
  for (const event of await listEventsByIds(db, systemId, unknown)) found.set(event.id, event);
  // Adds notices, which are delivered but not listed, such as `bike.state_changed`. Begins with the oldest delivery,
  // because its time is the nearest to that of the notice.
  for (const { event_id: id, event: name, created_at: at } of deliveries.toReversed())
    if (!found.has(id)) found.set(id, { id, name, at: at.toISOString() });
  const events = [...found.values()].toSorted(newestFirst).map((event) => withDeliveries(event, deliveries));
  return { events, isComplete: isComplete && windows.every(({ scanned }) => scanned <= scanLimit) };
}

/** Returns the events to search around the time of a change, as ranges of ids and of days. */
function windowAround(at: number) {
  const from = at - EARLY_MS;
  const to = at + LATE_MS;
  return {
    first: firstIdAt("event", from),
    end: firstIdAt("event", to),
    firstDay: dayOf(from),
    // An event may be numbered on the day after the one on which it was recorded.
    lastDay: dayOf(to + DAY_MS),
  };
}

/** Sorts events by time, and those of the same time by id, the newest first. */
function newestFirst(one: ResourceEventRow, other: ResourceEventRow): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}

/** Returns an event with those of the deliveries that are of it. */
function withDeliveries({ id, name, at }: ResourceEventRow, all: readonly ResourceDelivery[]): HistoryEvent {
  const own = all.filter((delivery) => delivery.event_id === id);
  const deliveries = own.map(({ id: deliveryId, partner_id, partner_name, status }) => {
    return { id: deliveryId, partner_id, partner_name, status };
  });
  return { id, at, event: name, deliveries };
}

/** Most events of one name that are searched for one station's history. The search takes some milliseconds. */
const HISTORY_SCAN_LIMIT = 5_000;
/** Most changes of a station that its history has. */
const SHOWN_LIMIT = 100;

/** When a station went offline and came back. */
interface StationHistory {
  readonly changes: readonly (Omit<StationEvent, "name" | "occurred_at"> & {
    readonly event: string;
    readonly at: string;
  })[];
  /** The time back to which all events were searched, if older changes may exist; null: all events were searched. */
  readonly searchedTo: string | null;
}

/** Returns the changes of a station in the events list, the newest first. */
export async function stationHistory(
  { db }: { readonly db: Queryable },
  systemId: string,
  stationId: string,
  scanLimit = HISTORY_SCAN_LIMIT,
): Promise<StationHistory> {
  const bounds = { scanLimit, limit: SHOWN_LIMIT };
  const { changes, searched_to: searchedTo } = await listStationEvents(db, systemId, stationId, bounds);
  return {
    changes: changes.map(({ name, occurred_at: at, ...change }) => ({ ...change, event: name, at })),
    searchedTo,
  };
}

import type { BatchItem, BatchResults, ItemError, RideCancel, RideEnd } from "@bikeshare/contract";
import { endReasonAt, isIssue, rideLength, storedEnd, type StoredTime } from "@bikeshare/rules";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { valueOf } from "../../storage/db/rows.ts";
import { systemsOf } from "../systems/service.ts";
import {
  type Batch,
  hasKnownStations,
  type Indexed,
  type LockedRides,
  lockRideBatch,
  type RideBatch,
  rideFor,
  type RideItem,
  runSharedBatch,
} from "./batch.ts";
import {
  availableAgain,
  BACK_FROM_RIDE,
  type BikeState,
  datedLocation,
  datedState,
  later,
  locationOf,
  NOWHERE,
  type ReportedLocation,
} from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import { updateCancelledRides } from "./reservation-queries.ts";
import { countLongRides, listLongRides, type LongRide, type RideState, updateRides } from "./ride-queries.ts";
import { costsOf, isSameCancel, isSameEnd } from "./ride.rules.ts";

/*
 * Commands that end rides under way: `endRides` and `cancelRides` for the operator's backend, and `endAbandonedRides` for
 * rides whose end was never reported. Each decides item by item, moves the bikes, and writes rides, bikes and events.
 */

/** Ends rides: each bike is available where its ride ended, unless a later report of the bike is known. */
export function endRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideEnd>[],
): Promise<BatchResults> {
  const steps = { lock: lockRideBatch, decide: finishBy(decideEnd) };
  return runSharedBatch<RideEnd, FinishError, LockedRides>(context, systemId, items, steps);
}

/** Cancels rides that did not take place: each bike returns to its earlier place. */
export function cancelRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideCancel>[],
): Promise<BatchResults> {
  const steps = { lock: lockRideBatch, decide: finishBy(decideCancel) };
  return runSharedBatch<RideCancel, FinishError, LockedRides>(context, systemId, items, steps);
}

/**
 * Ends rides in one transaction, for `endAbandonedRides`. A bike whose location was not reported since its ride began
 * becomes `missing`.
 */
function abandonRides(
  context: CommandContext,
  systemId: string,
  ids: readonly string[],
  reason: "operator" | "timeout",
): Promise<BatchResults> {
  const items = ids.map((id) => ({ item: { id, end_reason: reason } }));
  const steps = { lock: lockRideBatch, decide: finishBy(decideAbandoned) };
  return runSharedBatch<AbandonedRide, FinishError, LockedRides>(context, systemId, items, steps);
}

/** The item of `abandonRides`: a ride whose end was never reported, and why it is ended. */
interface AbandonedRide extends RideItem {
  readonly end_reason: "operator" | "timeout";
}

type FinishError = ItemError<"rides", "end" | "cancel">;
type EndedRide = RideState & { readonly status: "completed" | "cancelled"; readonly ended_at: Date };

/** The decision to end or cancel a ride. */
interface Finish {
  readonly ride: EndedRide;
  readonly warning: StoredTime["warning"];
  /** The ride's bike as it is before the ride's end; undefined when the bike is deleted or not on this ride. */
  readonly bike: BikeState | undefined;
  /** The changes of the bike. */
  readonly facts: Partial<BikeState>;
  /** Where the ride ended; undefined: where its bike is afterwards. */
  readonly location?: ReportedLocation;
}

/** Decides on an item. Returns undefined when it has recorded another result: `unchanged` or an error. */
type Decide<Item> = (entry: Indexed<Item>, batch: RideBatch) => Finish | undefined;

/** Makes the step of a batch that decides on each item with `decide`, and writes the rides and bikes. */
function finishBy<Item extends RideItem>(decide: Decide<Item>) {
  return async (command: FleetCommand, locked: LockedRides, { items, results }: Batch<Item, FinishError>) => {
    const batch = { command, results, ...locked };
    const finished = new Map<string, EndedRide>();
    for (const entry of items) {
      const decision = decide(entry, batch);
      if (decision === undefined) continue;
      const { ride, bike, facts, warning, location } = decision;
      batch.rides.set(ride.id, ride);
      finished.set(ride.id, ride);
      if (bike !== undefined) {
        command.changeBike(bike, facts);
        const type = ride.status === "completed" ? "trip_end" : "trip_cancel";
        command.noteCause(bike.id, { type, at: ride.ended_at, location });
      }
      results.done(entry.index, ride.id, "updated", warning);
    }
    // By the id of the reservation that the cancelled ride had fulfilled.
    const cancelledAt = new Map<string, Date>();
    for (const { status, reservation_id: id, ended_at: at } of finished.values())
      if (status === "cancelled" && id !== null) cancelledAt.set(id, at);
    command.locks("reservations");
    updateCancelledRides(command.tx, command.systemId, command.now, cancelledAt);
    const [written] = await Promise.all([
      updateRides(command.tx, command.systemId, command.now, [...finished.values()]),
      command.writeBikes(),
    ]);
    for (const { id, status, ended_at: occurredAt } of finished.values()) {
      const name = status === "completed" ? "ride.completed" : "ride.cancelled";
      command.record({ name, occurredAt, partnerId: null, data: valueOf(written, id) });
    }
  };
}

/** Decides on an item of `endRides`. */
function decideEnd(entry: Indexed<RideEnd>, batch: RideBatch): Finish | undefined {
  const { index, item } = entry;
  const { command, results, stations } = batch;
  const ride = rideFor(entry, "end", batch, isSameEnd);
  if (ride === undefined) return undefined;
  const end = storedEnd(ride.started_at, "ended_at", item.ended_at, command.now);
  if (isIssue(end)) return results.failed(index, item.id, "invalid_parameter", ...end);
  if (!hasKnownStations(entry, batch)) return undefined;
  const stationId = item.end_station_id ?? null;
  const location = endLocation(item, stations);
  const ended: EndedRide = {
    ...ride,
    status: "completed",
    ended_at: end.at,
    updated_at: command.now,
    end_station_id: stationId,
    end_lat: location.reported_lat,
    end_lon: location.reported_lon,
    distance_meters: item.distance_meters ?? ride.distance_meters,
    end_reason: item.end_reason ?? endReasonAt(stationId),
    ...costsOf(item, ride),
    ...rideLength(ride.started_at.getTime(), end.at.getTime()),
  };
  const bike = bikeOn(ride, batch);
  if (bike === undefined) return { ride: ended, warning: end.warning, bike, facts: {} };
  const facts = backFromRide(bike, end.at, location);
  return { ride: ended, warning: availableAgain(bike, facts) ?? end.warning, bike, facts, location };
}

/** Decides on an item of `abandonRides`. The ride ends now, where its bike was last reported since the ride began. */
function decideAbandoned(entry: Indexed<AbandonedRide>, batch: RideBatch): Finish | undefined {
  const { now } = batch.command;
  // `() => false`: a ride that has ended meanwhile is a conflict, never `unchanged`.
  const ride = rideFor(entry, "end", batch, () => false);
  if (ride === undefined) return undefined;
  const bike = bikeOn(ride, batch);
  const isSeen = bike !== undefined && (datedLocation(bike).at ?? 0) > ride.started_at.getTime();
  // By the operator's clock the ride may begin later than now. It must not end before it begins.
  const endedAt = new Date(Math.max(now.getTime(), ride.started_at.getTime()));
  const ended: EndedRide = {
    ...ride,
    status: "completed",
    ended_at: endedAt,
    updated_at: now,
    end_station_id: isSeen ? bike.reported_station_id : null,
    end_lat: isSeen ? bike.reported_lat : null,
    end_lon: isSeen ? bike.reported_lon : null,
    end_reason: entry.item.end_reason,
    ...rideLength(ride.started_at.getTime(), endedAt.getTime()),
  };
  return { ride: ended, warning: undefined, bike, facts: isSeen ? { ride_id: null } : lostFromRide(endedAt) };
}

/** Returns the change of a bike whose location was not reported since its ride began. */
function lostFromRide(at: Date): Partial<BikeState> {
  return {
    ride_id: null,
    reported_state: "missing",
    reported_reason: null,
    reported_state_at: at,
    ...NOWHERE,
    reported_position_at: at,
  };
}

/** Decides on an item of `cancelRides`. Only the ride leaves the bike's row, so readers see its earlier place again. */
function decideCancel(entry: Indexed<RideCancel>, batch: RideBatch): Finish | undefined {
  const { index, item } = entry;
  const { command, results } = batch;
  const ride = rideFor(entry, "cancel", batch, isSameCancel);
  if (ride === undefined) return undefined;
  const end = storedEnd(ride.started_at, "cancelled_at", item.cancelled_at, command.now);
  if (isIssue(end)) return results.failed(index, item.id, "invalid_parameter", ...end);
  const cancelled: EndedRide = {
    ...ride,
    status: "cancelled",
    ended_at: end.at,
    updated_at: command.now,
    end_reason: "cancelled",
    ...rideLength(ride.started_at.getTime(), end.at.getTime()),
  };
  return { ride: cancelled, warning: end.warning, bike: bikeOn(ride, batch), facts: { ride_id: null } };
}

/** Returns the bike of a ride; undefined when the bike is deleted or not on this ride. */
function bikeOn(ride: RideState, { command }: RideBatch): BikeState | undefined {
  const bike = command.bikes.get(ride.bike_id);
  return bike?.ride_id === ride.id ? bike : undefined;
}

/** Returns where a ride ended: the item's position, or else its station's position; `NOWHERE` without both. */
function endLocation(item: RideEnd, stations: RideBatch["stations"]): ReportedLocation {
  return locationOf({ ...item, station_id: item.end_station_id ?? null }, stations) ?? NOWHERE;
}

/** Returns the change of a bike whose ride ends. A later report of state or location prevails over the ride's end. */
function backFromRide(bike: BikeState, endedAt: Date, endedWhere: ReportedLocation): Partial<BikeState> {
  const at = endedAt.getTime();
  const state = later(datedState(bike), { at, value: BACK_FROM_RIDE });
  const location = later(datedLocation(bike), { at, value: endedWhere });
  return {
    ride_id: null,
    ...state.value,
    reported_state_at: new Date(state.at ?? at),
    ...location.value,
    reported_position_at: new Date(location.at ?? at),
  };
}

export { listLongRides } from "./ride-queries.ts";

/** Maximum number of rides that are ended in one transaction. */
const BATCH_RIDES = 500;

/** The number of rides of a system that have been under way for too long, and the oldest of them; undefined: none. */
interface LongRides {
  readonly systemId: string;
  readonly n: number;
  readonly oldest: LongRide | undefined;
}

/** Finds, in each of the operator's systems, the rides that started before an instant and are still under way. */
export async function allLongRides(db: Queryable, startedBefore: Date): Promise<LongRides[]> {
  const systems = await systemsOf(db);
  return Promise.all(systems.map(({ system_id: systemId }) => longRidesOf(db, systemId, startedBefore)));
}

/** Counts the rides of one system that started before an instant and are still under way, and finds the oldest of them. */
export async function longRidesOf(db: Queryable, systemId: string, startedBefore: Date): Promise<LongRides> {
  const [oldest] = await listLongRides(db, systemId, startedBefore, 1);
  return { systemId, n: await countLongRides(db, systemId, startedBefore), oldest };
}

/**
 * Ends rides that were never ended, for the operator, and records each in the audit log. A bike moves to the location that
 * was last reported since its ride began; without such a report it becomes `missing`.
 * @param reason `timeout` when the ride is ended for its length alone
 * @returns one result a ride, as `rides/end` gives it
 */
export async function endAbandonedRides(
  context: ActorContext,
  systemId: string,
  ids: readonly string[],
  reason: "operator" | "timeout",
): Promise<BatchResults> {
  const all: BatchResults = { results: [], failed: 0 };
  for (let from = 0; from < ids.length; from += BATCH_RIDES) {
    const batch = ids.slice(from, from + BATCH_RIDES);
    const { results, failed } = await context.db.transaction(async (tx) => {
      const ended = await abandonRides({ ...context, db: tx }, systemId, batch, reason);
      for (const { id, outcome } of ended.results)
        if (outcome === "updated" && id !== null)
          await insertActOf(context, tx, { systemId, action: "ride.ended", subject: id, detail: { reason } });
      return ended;
    });
    all.results.push(...results);
    all.failed += failed;
  }
  return all;
}

/** Ends all rides that started before an instant and are still under way. */
export async function endRidesStartedBefore(
  context: ActorContext,
  systemId: string,
  startedBefore: Date,
): Promise<BatchResults> {
  const rides = await listLongRides(context.db, systemId, startedBefore, null);
  return endAbandonedRides(
    context,
    systemId,
    rides.map(({ id }) => id),
    "timeout",
  );
}

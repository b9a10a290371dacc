import type { BatchItem, BatchResults, ErrorArguments, ItemError, RideStart } from "@bikeshare/contract";
import {
  doOverlap,
  EARLIEST_START,
  isIssue,
  rideTransitions,
  startBeside,
  storedTime,
  type StoredTime,
} from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { valueOf } from "../../storage/db/rows.ts";
import { type Batch, type BatchResultWriter, type Indexed, runSharedBatch } from "./batch.ts";
import {
  type BikeState,
  missingStation,
  type NamedStations,
  presentStation,
  type ReportedLocation,
} from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import type { LockedReservation } from "./reservation-queries.ts";
import {
  insertStartedRides,
  listOverlappingRides,
  MAX_LATER_RIDES,
  type RideState,
  type RideTimes,
} from "./ride-queries.ts";
import { costsOf, describeRide, isSameStart, overlapIssue } from "./ride.rules.ts";
import { findNamedStations } from "./station-queries.ts";

/*
 * Starts rides that the operator's backend reports. The bike of a started ride has no location for readers, and the
 * reservation that held the bike is fulfilled.
 */

type StartError = ItemError<"rides", "start">;

/** Starts rides: each on a bike that is available, or held by the reservation that the ride fulfils. */
export function startRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideStart>[],
): Promise<BatchResults> {
  return runSharedBatch<RideStart, StartError, Facts>(context, systemId, items, { lock: lockFacts, decide: start });
}

/** Decides on the items, and writes the started rides with their bikes, reservations and events. */
async function start(
  command: FleetCommand,
  facts: Facts,
  { items, results }: Batch<RideStart, StartError>,
): Promise<void> {
  const { tx, systemId, now } = command;
  const starts = items.flatMap((entry) => decide(entry, facts, now, results) ?? []);
  const rides = starts.map(({ ride }) => ride);
  const inserted = await insertStartedRides(tx, systemId, now, rides);
  const started: RideState[] = [];
  for (const { index, ride, warning } of starts) {
    if (inserted.has(ride.id)) {
      results.done(index, ride.id, "created", warning);
      started.push(ride);
    } else results.failed(index, ride.id, "ride_conflict", "startedMeanwhile");
  }
  // Comes before the bikes change, because it reads their reservations.
  await fulfilReservations(command, started);
  for (const ride of started) {
    const { id, bike_id: bikeId, started_at: occurredAt } = ride;
    const bike = valueOf(command.bikes, bikeId);
    command.changeBike(bike, { ride_id: id, reservation_id: null });
    command.noteCause(bikeId, { type: "trip_start", at: occurredAt, location: startLocation(ride, bike) });
    command.record({ name: "ride.started", occurredAt, partnerId: null, data: valueOf(inserted, id) });
  }
  command.countRides(started.map((ride) => ride.started_at));
}

/** Returns the bike's position as the start of its ride; without coordinates when the operator names another start. */
function startPosition({ start_station_id: stationId }: RideStart, bike: BikeState) {
  const isThere = stationId === undefined || stationId === bike.reported_station_id;
  return { start_lat: isThere ? bike.reported_lat : null, start_lon: isThere ? bike.reported_lon : null };
}

/**
 * Returns where a ride started when the operator names another station than the bike's, or none; undefined: where the bike
 * was.
 */
function startLocation({ start_station_id: stationId }: RideState, bike: BikeState): ReportedLocation | undefined {
  if (stationId === bike.reported_station_id) return undefined;
  return { reported_station_id: stationId, reported_lat: null, reported_lon: null };
}

/** Ends the reservations that hold the bikes of started rides. They become fulfilled; an overdue one becomes expired. */
async function fulfilReservations(command: FleetCommand, started: readonly RideState[]): Promise<void> {
  const outcomes = started.flatMap(({ id: rideId, bike_id: bikeId, started_at: at }) => {
    const { reservation_id: id } = valueOf(command.bikes, bikeId);
    return id === null ? [] : [{ id, status: "fulfilled" as const, rideId, at }];
  });
  await command.endReservations(outcomes);
}

/** The inputs of a batch's decisions. */
interface Facts {
  /** The bikes by id, as the items decided so far leave them. */
  readonly bikes: Map<string, BikeState>;
  /** The rides with the items' ids that exist, and those that earlier items start. */
  readonly rides: Map<string, RideState>;
  /** The reservations that hold the bikes, by id. */
  readonly reservations: ReadonlyMap<string, LockedReservation>;
  readonly stations: NamedStations;
  /** Rides of the same bikes that would overlap, by the id of the ride that is to start. */
  readonly others: ReadonlyMap<string, readonly RideState[]>;
}

/** The decision that an item starts a ride. */
interface Start {
  readonly index: number;
  readonly ride: RideState;
  readonly warning: StoredTime["warning"];
}

/** Locks the items' bikes, rides and reservations, and finds what else decides on them. */
async function lockFacts(command: FleetCommand, entries: readonly Indexed<RideStart>[]): Promise<Facts> {
  const items = entries.map(({ item }) => item);
  const stationIds = items.flatMap((item) => item.start_station_id ?? []);
  const { tx, systemId, now } = command;
  const [locked, rides, stations, others] = await Promise.all([
    command.lockBikes(items.map((item) => item.bike_id)),
    command.lockRides(items.map((item) => item.id)),
    findNamedStations(tx, systemId, stationIds),
    listOverlappingRides(
      tx,
      systemId,
      items.flatMap((item) => wantedTimes(item, now)),
    ),
  ]);
  const bikes = new Map(locked);
  const held = [...bikes.values()].flatMap((bike) => bike.reservation_id ?? []);
  const reservations = await command.lockReservations(held);
  return { bikes, rides, reservations, stations, others };
}

/** Returns the times of an item's ride for the search for overlaps; none when `decide` refuses its start time anyway. */
function wantedTimes(item: RideStart, now: Date): RideTimes[] {
  const time = storedTime("started_at", item.started_at, now);
  // `decide` refuses a start before 1970. The query must not get it, because PostgreSQL may not support so early a time.
  return isIssue(time) || time.at.getTime() < EARLIEST_START
    ? []
    : [{ id: item.id, bike_id: item.bike_id, started_at: time.at, ended_at: null, is_rest: false }];
}

/**
 * Returns the rides that an item's ride would overlap. `others` is filtered again, because another item of the batch may
 * have the same ride id with another bike or time.
 */
function othersOf({ id, bike_id }: RideStart, { at }: StoredTime, { others }: Facts): RideState[] {
  const times = { id, bike_id, started_at: at, ended_at: null };
  return (others.get(id) ?? []).filter((other) => other.bike_id === bike_id && doOverlap(other, times));
}

/** Decides one start after the effects of the items before. Records the result of a repeated or rejected start. */
function decide(
  { index, item }: Indexed<RideStart>,
  facts: Facts,
  now: Date,
  results: BatchResultWriter<StartError>,
): Start | undefined {
  const refuse = (...error: ErrorArguments<StartError>) => results.failed(index, item.id, ...error);
  const existing = facts.rides.get(item.id);
  if (existing !== undefined && rideTransitions[existing.status].start === "same") {
    if (!isSameStart(existing, item)) return refuse("ride_conflict", "sameId", { stored: describeRide(existing) });
    results.done(index, item.id, "unchanged");
    return undefined;
  }
  const time = storedTime("started_at", item.started_at, now);
  if (isIssue(time)) return refuse("invalid_parameter", ...time);
  if (time.at.getTime() < EARLIEST_START) return refuse("invalid_parameter", "startBefore1970");
  const bike = facts.bikes.get(item.bike_id);
  if (bike === undefined) return refuse("not_found", "namedBike", { id: item.bike_id });
  if (bike.ride_id !== null) return refuse("ride_conflict", "bikeOnRide", { bikeId: bike.id, rideId: bike.ride_id });
  if (bike.reported_state !== "available")
    return refuse("bike_not_available", "reported", { id: bike.id, state: bike.reported_state });
  const others = othersOf(item, time, facts);
  // A start of "now" may move to the end of the last of the other rides. If the query reached its limit, it may have
  // left out that last ride, so the start does not move.
  const isMovable = time.isNow && others.length < MAX_LATER_RIDES;
  // The time of the start, or the other ride that makes it impossible.
  const startedAt = startBeside({ ...time, isNow: isMovable }, others);
  if ("id" in startedAt) return refuse("ride_conflict", ...overlapIssue(startedAt));
  const namedStation = item.start_station_id ?? undefined;
  if (namedStation !== undefined && presentStation(facts.stations, namedStation) === undefined) {
    return refuse("not_found", ...missingStation(facts.stations, namedStation));
  }
  // The reservation that holds the bike.
  const held = bike.reservation_id === null ? undefined : facts.reservations.get(bike.reservation_id);
  // A reservation counts as ended from its end on, even while its row still says `active`.
  const reservationId = held !== undefined && now < held.expires_at ? held.id : null;
  if (item.reservation_id !== undefined && item.reservation_id !== reservationId) {
    return refuse("reservation_not_active", "otherBike", { id: item.reservation_id, bikeId: bike.id });
  }
  const ride = startedRide(item, startedAt, bike, reservationId);
  facts.bikes.set(bike.id, { ...bike, ride_id: ride.id, reservation_id: null });
  facts.rides.set(ride.id, ride);
  return { index, ride, warning: time.warning };
}

/** Returns the row of a ride that starts. @param reservationId the reservation that it fulfils */
function startedRide(item: RideStart, startedAt: Date, bike: BikeState, reservationId: string | null): RideState {
  return {
    id: item.id,
    bike_id: bike.id,
    status: "started",
    start_station_id: item.start_station_id === undefined ? bike.reported_station_id : item.start_station_id,
    end_station_id: null,
    started_at: startedAt,
    ended_at: null,
    duration_seconds: null,
    distance_meters: null,
    vehicle_type_id: bike.vehicle_type_id,
    rider_category: item.rider_category ?? null,
    end_reason: null,
    is_countable: null,
    reservation_id: reservationId,
    special_group: item.special_group ?? null,
    ...costsOf({}),
    ...startPosition(item, bike),
    end_lat: null,
    end_lon: null,
  };
}

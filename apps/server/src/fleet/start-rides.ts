import type { BatchItem, BatchResults, ErrorArguments, ItemError, RideStart } from "@bikeshare/contract";
import { rideTransitions } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { countRides, pickSlot } from "../counts/service.ts";
import type { Transaction } from "../db/database.ts";
import { type NewEvent, recordEvents } from "../events/outbox.ts";
import { type BatchNotes, type Indexed, runBatch } from "./batch.ts";
import { changeBikes, type LiveBike, lockBikes, shiftsOf } from "./command.ts";
import { refreshCounters, shiftMirrored } from "./counter-queries.ts";
import { describeRide, isSameStart, type StoredRide } from "./repeat.ts";
import { fulfilReservations, lockReservations, type LockedReservation } from "./reservation-commands.ts";
import { insertStartedRides, lockRides, type StartedRide } from "./ride-queries.ts";
import { EARLIEST_START, isInFuture } from "./ride.ts";
import { stationPlaces } from "./station-location-queries.ts";

type StartError = ItemError<"rides", "start">;

/** Starts rides: each on a bike that stands available, or is held by the reservation that the ride fulfils. */
export function startRides(
  { db, clock, ids }: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideStart>[],
): Promise<BatchResults> {
  return runBatch<RideStart, StartError>({ db, clock }, items, async (tx, { readable, notes, now }) => {
    const facts = await lockFacts(
      tx,
      systemId,
      readable.map(({ item }) => item),
    );
    const starts = readable.flatMap((entry) => decide(entry, facts, now, notes) ?? []);
    const wires = await insertStartedRides(
      tx,
      systemId,
      now,
      starts.map(({ ride }) => ride),
    );
    for (const { index, ride } of starts) {
      if (wires.has(ride.id)) notes.done(index, ride.id, "created");
      else notes.failed(index, ride.id, "ride_conflict", "startedMeanwhile");
    }
    const begun = starts.filter(({ ride }) => wires.has(ride.id));
    await follow(tx, { ids, systemId, now }, begun);
    const events = begun.map(({ ride }) => eventOf(ride, wires.get(ride.id) ?? ""));
    await recordEvents(tx, { ids, systemId, now }, events);
    const slot = pickSlot(() => ids.random());
    await countRides(
      tx,
      systemId,
      slot,
      begun.map(({ ride }) => ride.started_at),
    );
  });
}

/** What follows from rides that have started: for the reservations that they fulfil, their bikes and the stations. */
async function follow(tx: Transaction, moment: Moment, starts: readonly Start[]): Promise<void> {
  const { systemId, now } = moment;
  const fulfilments = starts.flatMap(({ ride, held }) =>
    held === undefined ? [] : [{ reservationId: held.id, rideId: ride.id, at: ride.started_at }],
  );
  await fulfilReservations(tx, moment, fulfilments);
  const changes = starts.map(({ ride, bike }) => ({ bike, ride_id: ride.id, reservation_id: null }));
  const touched = await changeBikes(tx, moment, changes);
  await refreshCounters(tx, systemId, touched, now);
  await shiftMirrored(tx, systemId, shiftsOf(changes), now);
}

function eventOf({ started_at: occurredAt }: StartedRide, data: string): NewEvent {
  return { name: "ride.started", occurredAt, partnerId: null, data };
}

/** A batch: all of it happens at one instant. */
interface Moment {
  readonly ids: CommandContext["ids"];
  readonly systemId: string;
  readonly now: Date;
}

interface Facts {
  /** The bikes as the items before have left them. */
  readonly bikes: Map<string, LiveBike>;
  readonly rides: Map<string, StoredRide>;
  readonly reservations: ReadonlyMap<string, LockedReservation>;
  readonly stations: ReadonlyMap<string, unknown>;
}

interface Start {
  readonly index: number;
  readonly ride: StartedRide;
  /** As it stood before. */
  readonly bike: LiveBike;
  /** The reservation that the ride fulfils, or that had lapsed when it began. */
  readonly held: LockedReservation | undefined;
}

async function lockFacts(tx: Transaction, systemId: string, items: readonly RideStart[]): Promise<Facts> {
  const bikes = await lockBikes(
    tx,
    systemId,
    items.map((item) => item.bike_id),
  );
  const rides = await lockRides(
    tx,
    systemId,
    items.map((item) => item.id),
  );
  const held = [...bikes.values()].flatMap((bike) => bike.reservation_id ?? []);
  const reservations = await lockReservations(tx, systemId, held);
  const stations = await stationPlaces(
    tx,
    systemId,
    items.flatMap((item) => item.start_station_id ?? []),
  );
  return { bikes, rides, reservations, stations };
}

/** What is stored of a ride that has just begun, beside its beginning. */
const unfinished = {
  status: "started",
  ended_at: null,
  end_station_id: null,
  distance_meters: null,
  end_reason: null,
} as const;

/** Decides one start on the facts as the items before have left them; notes why it cannot be. */
function decide(
  { index, item }: Indexed<RideStart>,
  facts: Facts,
  now: Date,
  notes: BatchNotes<StartError>,
): Start | undefined {
  const startedAt = item.started_at === undefined ? now : new Date(item.started_at);
  const refuse = (...error: ErrorArguments<StartError>) => {
    notes.failed(index, item.id, ...error);
    return undefined;
  };
  const existing = facts.rides.get(item.id);
  if (existing !== undefined && rideTransitions[existing.status].start === "same") {
    if (!isSameStart(existing, item)) return refuse("ride_conflict", "sameId", { stored: describeRide(existing) });
    notes.done(index, item.id, "unchanged");
    return undefined;
  }
  if (isInFuture(startedAt.getTime(), now.getTime()))
    return refuse("invalid_parameter", "inFuture", { field: "started_at" });
  if (startedAt.getTime() < EARLIEST_START) return refuse("invalid_parameter", "startBefore1970");
  const bike = facts.bikes.get(item.bike_id);
  if (bike === undefined) return refuse("not_found", "namedBike", { id: item.bike_id });
  if (bike.ride_id !== null) return refuse("ride_conflict", "bikeOnRide", { bikeId: bike.id, rideId: bike.ride_id });
  if (bike.reported_state !== "available")
    return refuse("bike_not_available", "reported", { id: bike.id, state: bike.reported_state });
  const namedStation = item.start_station_id ?? undefined;
  if (namedStation !== undefined && !facts.stations.has(namedStation)) {
    return refuse("not_found", "namedStation", { id: namedStation });
  }
  const held = bike.reservation_id === null ? undefined : facts.reservations.get(bike.reservation_id);
  // For every reader a reservation is over at its end, whether or not that has been written.
  const holding = held !== undefined && now < held.expires_at ? held.id : null;
  if (item.reservation_id !== undefined && item.reservation_id !== holding) {
    return refuse("reservation_not_active", "otherBike", { id: item.reservation_id, bikeId: bike.id });
  }
  const ride: StartedRide = {
    id: item.id,
    bike_id: bike.id,
    started_at: startedAt,
    start_station_id: item.start_station_id === undefined ? bike.reported_station_id : item.start_station_id,
    vehicle_type_id: bike.vehicle_type_id,
    rider_category: item.rider_category ?? null,
    reservation_id: holding,
  };
  facts.bikes.set(bike.id, { ...bike, ride_id: ride.id, reservation_id: null });
  facts.rides.set(ride.id, { ...ride, ...unfinished });
  return { index, ride, bike, held };
}

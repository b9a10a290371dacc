import type { BatchItem, BatchResults, RideCancel, RideEnd } from "@bikeshare/contract";
import { type BatchNotes, type Indexed, runBatch } from "../batches.ts";
import { later } from "../bikes/bike.ts";
import { type BikeChange, changeBikes, type LiveBike, lockBikes, shiftsOf } from "../bikes/live.ts";
import type { Transaction } from "../db/database.ts";
import { TransactionConflict } from "../db/errors.ts";
import { recordEvents } from "../events/outbox.ts";
import type { LiveContext } from "../live-context.ts";
import { refreshCounters, shiftMirrored } from "../stations/counters.ts";
import { type StationPlace, stationPlaces } from "../stations/places.ts";
import { findBikesOfRides, type FinishedRide, finishRides, type LiveRide, lockRides } from "./command-queries.ts";
import { rideLength, rideTimesFault, rideTransitions } from "./ride.ts";

/** Ends rides: each bike stands where its ride ended, available again unless something later was reported of it. */
export function endRides(
  context: LiveContext,
  systemId: string,
  items: readonly BatchItem<RideEnd>[],
): Promise<BatchResults> {
  return finish(context, systemId, items, decideEnd);
}

/** Cancels rides that did not come about: each bike stands where it stood. */
export function cancelRides(
  context: LiveContext,
  systemId: string,
  items: readonly BatchItem<RideCancel>[],
): Promise<BatchResults> {
  return finish(context, systemId, items, decideCancel);
}

interface Facts {
  readonly bikes: ReadonlyMap<string, LiveBike>;
  /** As the items before have left them. */
  readonly rides: Map<string, LiveRide>;
  readonly stations: ReadonlyMap<string, StationPlace>;
  readonly now: Date;
}

interface Finish {
  readonly index: number;
  readonly ride: FinishedRide;
  /** Undefined where the bike is gone or on another ride. */
  readonly bike: BikeChange | undefined;
}

type Decide<Item> = (entry: Indexed<Item>, facts: Facts, notes: BatchNotes) => Finish | undefined;

function finish<Item extends { readonly id: string; readonly end_station_id?: string | null | undefined }>(
  { db, clock, ids }: LiveContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  decide: Decide<Item>,
): Promise<BatchResults> {
  return runBatch({ db, clock }, items, async (tx, { readable, notes, now }) => {
    const facts = await lockFacts(
      tx,
      systemId,
      readable.map(({ item }) => item),
      now,
    );
    const finishes = readable.flatMap((entry) => decide(entry, facts, notes) ?? []);
    const wires = await finishRides(
      tx,
      systemId,
      now,
      finishes.map(({ ride }) => ride),
    );
    for (const { index, ride } of finishes) notes.done(index, ride.id, "updated");
    const changes = finishes.flatMap(({ bike }) => bike ?? []);
    const touched = await changeBikes(tx, { ids, systemId, now }, changes);
    await refreshCounters(tx, systemId, touched, now);
    await shiftMirrored(tx, systemId, shiftsOf(changes), now);
    await recordEvents(
      tx,
      { ids, systemId, now },
      finishes.map(({ ride }) => ({
        name: ride.status === "completed" ? "ride.completed" : "ride.cancelled",
        occurredAt: ride.ended_at,
        partnerId: null,
        data: wires.get(ride.id) ?? "",
      })),
    );
  });
}

async function lockFacts(
  tx: Transaction,
  systemId: string,
  items: readonly { readonly id: string; readonly end_station_id?: string | null | undefined }[],
  now: Date,
): Promise<Facts> {
  const ids = items.map((item) => item.id);
  const bikesOfRides = await findBikesOfRides(tx, systemId, ids);
  const bikes = await lockBikes(tx, systemId, [...bikesOfRides.values()]);
  const rides = await lockRides(tx, systemId, ids);
  // One began after its bike was looked for, so the bike is not locked: look again.
  if ([...rides.keys()].some((id) => !bikesOfRides.has(id))) throw new TransactionConflict();
  const stations = await stationPlaces(
    tx,
    systemId,
    items.flatMap((item) => item.end_station_id ?? []),
  );
  return { bikes, rides, stations, now };
}

/** The ride that a command may finish; notes what else the transition table says. */
function startedRide(
  { index, item }: Indexed<{ readonly id: string }>,
  command: "end" | "cancel",
  { rides }: Facts,
  notes: BatchNotes,
): LiveRide | undefined {
  const ride = rides.get(item.id);
  const next = rideTransitions[ride?.status ?? "none"][command];
  switch (next) {
    case "missing":
      notes.failed(index, item.id, "not_found", "There is no ride with this id: it never started.");
      return undefined;
    case "conflict":
      notes.failed(index, item.id, "ride_conflict", `The ride is ${ride?.status} already.`);
      return undefined;
    case "same":
      notes.done(index, item.id, "unchanged");
      return undefined;
    default:
      return ride;
  }
}

function decideEnd(entry: Indexed<RideEnd>, facts: Facts, notes: BatchNotes): Finish | undefined {
  const { index, item } = entry;
  const ride = startedRide(entry, "end", facts, notes);
  if (ride === undefined) return undefined;
  const endedAt = item.ended_at === undefined ? facts.now : new Date(item.ended_at);
  const fault = rideTimesFault(ride.started_at.getTime(), endedAt.getTime(), facts.now.getTime(), "ended_at");
  if (fault !== undefined) return noteFailure(notes, index, item.id, fault);
  const stationId = item.end_station_id ?? null;
  const station = stationId === null ? undefined : facts.stations.get(stationId);
  if (stationId !== null && station === undefined) {
    notes.failed(index, item.id, "not_found", `There is no station ${stationId}.`);
    return undefined;
  }
  facts.rides.set(ride.id, { ...ride, status: "completed" });
  const place = { station_id: stationId, lat: item.lat ?? station?.lat ?? null, lon: item.lon ?? station?.lon ?? null };
  return {
    index,
    ride: {
      id: ride.id,
      status: "completed",
      ended_at: endedAt,
      end_station_id: stationId,
      distance_meters: item.distance_meters ?? null,
      end_reason: item.end_reason ?? (stationId === null ? "free_floating" : "returned"),
      ...rideLength(ride.started_at.getTime(), endedAt.getTime()),
    },
    bike: backFromRide(facts.bikes.get(ride.bike_id), ride, endedAt, place),
  };
}

function decideCancel(entry: Indexed<RideCancel>, facts: Facts, notes: BatchNotes): Finish | undefined {
  const { index, item } = entry;
  const ride = startedRide(entry, "cancel", facts, notes);
  if (ride === undefined) return undefined;
  const cancelledAt = item.cancelled_at === undefined ? facts.now : new Date(item.cancelled_at);
  const fault = rideTimesFault(ride.started_at.getTime(), cancelledAt.getTime(), facts.now.getTime(), "cancelled_at");
  if (fault !== undefined) return noteFailure(notes, index, item.id, fault);
  facts.rides.set(ride.id, { ...ride, status: "cancelled" });
  const bike = facts.bikes.get(ride.bike_id);
  return {
    index,
    ride: {
      id: ride.id,
      status: "cancelled",
      ended_at: cancelledAt,
      end_station_id: null,
      distance_meters: null,
      end_reason: "cancelled",
      ...rideLength(ride.started_at.getTime(), cancelledAt.getTime()),
    },
    bike: bike?.ride_id === ride.id ? { bike, ride_id: null } : undefined,
  };
}

function noteFailure(notes: BatchNotes, index: number, id: string, message: string): undefined {
  notes.failed(index, id, "invalid_parameter", message);
  return undefined;
}

/** What ends with a ride, unless something that happened later was reported while it went on. */
function backFromRide(
  bike: LiveBike | undefined,
  ride: LiveRide,
  endedAt: Date,
  place: { readonly station_id: string | null; readonly lat: number | null; readonly lon: number | null },
): BikeChange | undefined {
  if (bike === undefined || bike.ride_id !== ride.id) return undefined;
  const at = endedAt.getTime();
  const state = later(
    { at: bike.reported_state_at?.getTime() ?? null, value: bike.reported_state },
    { at, value: "available" as const },
  );
  const heldPlace = { station_id: bike.reported_station_id, lat: bike.reported_lat, lon: bike.reported_lon };
  const position = later({ at: bike.reported_position_at?.getTime() ?? null, value: heldPlace }, { at, value: place });
  return {
    bike,
    ride_id: null,
    reported_state: state.value,
    reported_state_at: new Date(state.at ?? at),
    position: position.value,
    position_at: new Date(position.at ?? at),
  };
}

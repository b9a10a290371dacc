import type { BatchItem, BatchResults, ItemError, RideCancel, RideEnd } from "@bikeshare/contract";
import { endReasonAt, rideLength } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { recordEvents } from "../events/outbox.ts";
import { type BatchNotes, type Indexed, runBatch } from "./batch.ts";
import { later } from "./bike.ts";
import { type BikeChange, changeBikes, type LiveBike, shiftsOf } from "./command.ts";
import { refreshCounters, shiftMirrored } from "./counter-queries.ts";
import { lockRideFacts, noteIssue, noteUnknownStation, type RideFacts, rideFor } from "./ended-rides.ts";
import { isSameCancel, isSameEnd } from "./repeat.ts";
import { type FinishedRide, finishRides, type LiveRide } from "./ride-queries.ts";
import { rideTimesIssue } from "./ride.ts";

/** Ends rides: each bike stands where its ride ended, available again unless something later was reported of it. */
export function endRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideEnd>[],
): Promise<BatchResults> {
  return finish(context, systemId, items, decideEnd);
}

/** Cancels rides that did not come about: each bike stands where it stood. */
export function cancelRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideCancel>[],
): Promise<BatchResults> {
  return finish(context, systemId, items, decideCancel);
}

interface Finish {
  readonly index: number;
  readonly ride: FinishedRide;
  /** Undefined where the bike is gone or on another ride. */
  readonly bike: BikeChange | undefined;
}

/** Ends and cancels fail alike. */
type FinishError = ItemError<"rides", "end" | "cancel">;

type Decide<Item> = (entry: Indexed<Item>, facts: RideFacts, notes: BatchNotes<FinishError>) => Finish | undefined;

function finish<Item extends { readonly id: string; readonly end_station_id?: string | null | undefined }>(
  { db, clock, ids }: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  decide: Decide<Item>,
): Promise<BatchResults> {
  return runBatch<Item, FinishError>({ db, clock }, items, async (tx, { readable, notes, now }) => {
    const facts = await lockRideFacts(
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

function decideEnd(entry: Indexed<RideEnd>, facts: RideFacts, notes: BatchNotes<FinishError>): Finish | undefined {
  const { index, item } = entry;
  const ride = rideFor(entry, "end", facts, notes, isSameEnd);
  if (ride === undefined) return undefined;
  const endedAt = item.ended_at === undefined ? facts.now : new Date(item.ended_at);
  const issue = rideTimesIssue(ride.started_at.getTime(), endedAt.getTime(), facts.now.getTime(), "ended_at");
  if (issue !== undefined) return noteIssue(notes, index, item.id, issue);
  const stationId = item.end_station_id ?? null;
  const station = stationId === null ? undefined : facts.stations.get(stationId);
  if (noteUnknownStation(entry, facts, notes)) return undefined;
  const place = { station_id: stationId, lat: item.lat ?? station?.lat ?? null, lon: item.lon ?? station?.lon ?? null };
  const ended: FinishedRide = {
    id: ride.id,
    status: "completed",
    ended_at: endedAt,
    end_station_id: stationId,
    distance_meters: item.distance_meters ?? null,
    end_reason: item.end_reason ?? endReasonAt(stationId),
    ...rideLength(ride.started_at.getTime(), endedAt.getTime()),
  };
  facts.rides.set(ride.id, { ...ride, ...ended });
  return {
    index,
    ride: ended,
    bike: backFromRide(facts.bikes.get(ride.bike_id), ride, endedAt, place),
  };
}

function decideCancel(
  entry: Indexed<RideCancel>,
  facts: RideFacts,
  notes: BatchNotes<FinishError>,
): Finish | undefined {
  const { index, item } = entry;
  const ride = rideFor(entry, "cancel", facts, notes, isSameCancel);
  if (ride === undefined) return undefined;
  const cancelledAt = item.cancelled_at === undefined ? facts.now : new Date(item.cancelled_at);
  const issue = rideTimesIssue(ride.started_at.getTime(), cancelledAt.getTime(), facts.now.getTime(), "cancelled_at");
  if (issue !== undefined) return noteIssue(notes, index, item.id, issue);
  const cancelled: FinishedRide = {
    id: ride.id,
    status: "cancelled",
    ended_at: cancelledAt,
    end_station_id: null,
    distance_meters: null,
    end_reason: "cancelled",
    ...rideLength(ride.started_at.getTime(), cancelledAt.getTime()),
  };
  facts.rides.set(ride.id, { ...ride, ...cancelled });
  const bike = facts.bikes.get(ride.bike_id);
  return {
    index,
    ride: cancelled,
    bike: bike?.ride_id === ride.id ? { bike, ride_id: null } : undefined,
  };
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

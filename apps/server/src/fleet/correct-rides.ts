import type { BatchItem, BatchResults, ItemError, RideCorrection } from "@bikeshare/contract";
import { correctedEndReason, rideLength } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { recordEvents } from "../events/outbox.ts";
import { type BatchNotes, type Indexed, runBatch } from "./batch.ts";
import { type Dated, later } from "./bike.ts";
import { type BikeChange, changeBikes, type LiveBike, shiftsOf } from "./command.ts";
import { refreshCounters, shiftMirrored } from "./counter-queries.ts";
import { lockRideFacts, noteIssue, noteUnknownStation, type RideFacts, rideFor } from "./ended-rides.ts";
import { correctEndedRides, type CorrectedRide, type LiveRide } from "./ride-queries.ts";
import { rideTimesIssue } from "./ride.ts";

type CorrectError = ItemError<"rides", "correct">;

/**
 * Corrects rides that have ended: what is stored of them, the event that tells of it, and where their bikes stand, with
 * the counters there, unless something later is known of the bikes. When a ride started is not to be corrected: it is
 * the ride's place in the list, and walks that are under way would pass it over or meet it twice.
 */
export function correctRides(
  { db, clock, ids }: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideCorrection>[],
): Promise<BatchResults> {
  return runBatch<RideCorrection, CorrectError>({ db, clock }, items, async (tx, { readable, notes, now }) => {
    const facts = await lockRideFacts(
      tx,
      systemId,
      readable.map(({ item }) => item),
      now,
    );
    const done: Corrections = { rides: new Map(), bikes: new Map() };
    for (const entry of readable) decide(entry, facts, done, notes);
    const rides = [...done.rides.values()];
    const wires = await correctEndedRides(tx, systemId, now, rides);
    const changes = [...done.bikes.values()];
    const touched = await changeBikes(tx, { ids, systemId, now }, changes);
    await refreshCounters(tx, systemId, touched, now);
    await shiftMirrored(tx, systemId, shiftsOf(changes), now);
    await recordEvents(
      tx,
      { ids, systemId, now },
      rides.map(({ id }) => ({
        name: "ride.corrected",
        occurredAt: now,
        partnerId: null,
        data: wires.get(id) ?? "",
      })),
    );
  });
}

/** What a batch changes, by id: a ride or a bike that several items are about is written once. */
interface Corrections {
  readonly rides: Map<string, CorrectedRide>;
  readonly bikes: Map<string, BikeChange>;
}

function decide(
  entry: Indexed<RideCorrection>,
  facts: RideFacts,
  done: Corrections,
  notes: BatchNotes<CorrectError>,
): void {
  const { index, item } = entry;
  const ride = rideFor(entry, "correct", facts, notes, () => false);
  if (ride === undefined || ride.ended_at === null) return; // a completed ride has ended
  const endedAt = item.ended_at === undefined ? ride.ended_at : new Date(item.ended_at);
  const issue = rideTimesIssue(ride.started_at.getTime(), endedAt.getTime(), facts.now.getTime(), "ended_at");
  if (issue !== undefined) return noteIssue(notes, index, item.id, issue);
  if (noteUnknownStation(entry, facts, notes)) return;
  const ended = { ...ride, ended_at: ride.ended_at };
  const corrected = correctedRide(ended, item, endedAt);
  const isRideNew = comparable.some((field) => valueOf(ended[field]) !== valueOf(corrected[field]));
  if (isRideNew) {
    facts.rides.set(ride.id, { ...ride, ...corrected });
    done.rides.set(ride.id, corrected);
  }
  const isBikeNew = moveBike(ended, corrected, item, facts, done);
  notes.done(index, item.id, isRideNew || isBikeNew ? "updated" : "unchanged");
}

type EndedRide = LiveRide & { readonly ended_at: Date };

/** The fields by which a correction is one. The others follow from them. */
const comparable = [
  "ended_at",
  "start_station_id",
  "end_station_id",
  "distance_meters",
  "rider_category",
  "end_reason",
] as const;

function valueOf(value: Date | string | number | null): string | number | null {
  return value instanceof Date ? value.getTime() : value;
}

function correctedRide(ride: EndedRide, item: RideCorrection, endedAt: Date): CorrectedRide {
  const endStation = item.end_station_id === undefined ? ride.end_station_id : item.end_station_id;
  return {
    id: ride.id,
    ended_at: endedAt,
    start_station_id: item.start_station_id === undefined ? ride.start_station_id : item.start_station_id,
    end_station_id: endStation,
    distance_meters: item.distance_meters === undefined ? ride.distance_meters : item.distance_meters,
    rider_category: item.rider_category === undefined ? ride.rider_category : item.rider_category,
    end_reason: item.end_reason ?? correctedEndReason(ride, endStation),
    ...rideLength(ride.started_at.getTime(), endedAt.getTime()),
  };
}

type Position = NonNullable<BikeChange["position"]>;

/** What is held of a bike after the corrections before. */
interface HeldBike {
  readonly state: Dated<LiveBike["reported_state"]>;
  readonly position: Dated<Position>;
}

/**
 * Puts a corrected ride's bike where and when the ride ended. What the ride's end itself left on the bike is replaced;
 * anything else is weighed by its time, as it would have been had the ride ended so in the first place.
 * @returns whether something of the bike changes
 */
function moveBike(
  before: EndedRide,
  after: CorrectedRide,
  item: RideCorrection,
  { bikes, stations }: RideFacts,
  { bikes: changes }: Corrections,
): boolean {
  const bike = bikes.get(before.bike_id);
  if (bike === undefined || !saysWhereOrWhen(item)) return false;
  const held = heldOf(bike, changes.get(bike.id));
  const [from, to] = [before.ended_at.getTime(), after.ended_at.getTime()];
  const fromEnd = held.position.at === from && held.position.value.station_id === before.end_station_id;
  const place = endPlace(after, item, stations) ?? (fromEnd ? held.position.value : undefined);
  const position = weighed(held.position, place && { at: to, value: place }, fromEnd);
  const available: Dated<LiveBike["reported_state"]> = { at: to, value: "available" };
  const state = weighed(held.state, available, held.state.at === from && held.state.value === "available");
  const next: HeldBike = { state, position };
  if (JSON.stringify(next) === JSON.stringify(held)) return false;
  changes.set(bike.id, {
    bike,
    reported_state: state.value,
    ...(state.at === null ? {} : { reported_state_at: new Date(state.at) }),
    position: position.value,
    ...(position.at === null ? {} : { position_at: new Date(position.at) }),
  });
  return true;
}

function saysWhereOrWhen({ ended_at, end_station_id, lat }: RideCorrection): boolean {
  return ended_at !== undefined || end_station_id !== undefined || lat !== undefined;
}

/** Where a corrected ride ended; undefined where that was outside a station, and the correction says nothing of it. */
function endPlace(
  { end_station_id: stationId }: CorrectedRide,
  { end_station_id, lat, lon }: RideCorrection,
  stations: RideFacts["stations"],
): Position | undefined {
  const station = stationId === null ? undefined : stations.get(stationId);
  if (station === undefined && lat === undefined && end_station_id === undefined) return undefined;
  return { station_id: stationId, lat: lat ?? station?.lat ?? null, lon: lon ?? station?.lon ?? null };
}

/** What holds after a correction. @param isReplaced whether what is held comes from what is corrected */
function weighed<Value>(held: Dated<Value>, corrected: Dated<Value> | undefined, isReplaced: boolean): Dated<Value> {
  if (corrected === undefined) return held;
  return isReplaced ? corrected : later(held, corrected);
}

function heldOf(bike: LiveBike, change: BikeChange | undefined): HeldBike {
  const stateAt = change?.reported_state_at ?? bike.reported_state_at;
  const positionAt = change?.position_at ?? bike.reported_position_at;
  return {
    state: { at: stateAt?.getTime() ?? null, value: change?.reported_state ?? bike.reported_state },
    position: {
      at: positionAt?.getTime() ?? null,
      value: change?.position ?? {
        station_id: bike.reported_station_id,
        lat: bike.reported_lat,
        lon: bike.reported_lon,
      },
    },
  };
}

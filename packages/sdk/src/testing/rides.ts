import type { Ride } from "../json-types.generated.ts";
import { type City, instant, recordEvent } from "./city.ts";
import { type BikeLocation, changeBike, locationOf } from "./fleet.ts";
import { fulfilReservation } from "./reservations.ts";
import {
  correctedEndReason,
  endReasonAt,
  type RideCommand,
  rideLength,
  type RideStatus,
  rideTransitions,
} from "./rules.ts";

/** A ride as it is described. What is left out is filled in: a completed ride of ten minutes that ended just now. */
export type RideFields = Partial<Ride> & Pick<Ride, "id" | "bike_id">;

/** What a ride begins with: a bike that is free, or held by the reservation that the ride fulfils. */
export interface RideStart extends Pick<Ride, "bike_id"> {
  /** A new one if not said. */
  readonly id?: string;
  readonly rider_category?: Ride["rider_category"];
}

/** How a ride ends. Without a station it ends outside one. */
export interface RideEnd extends Pick<Ride, "id"> {
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
  readonly end_reason?: Ride["end_reason"];
}

/** What was wrong with a ride that has ended. What is left out stays as it was. */
export interface RideCorrection extends Pick<Ride, "id"> {
  readonly ended_at?: string;
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
}

const TEN_MINUTES_MS = 600_000;

/** Puts a ride there as it is. It makes no event and moves no bike, but for one that is on the ride now. */
export function putRide(city: City, fields: RideFields): void {
  const ride = { ...newRide(city, fields), ...fields };
  city.rides.set(ride.id, ride);
  const bike = city.bikes.get(ride.bike_id);
  if (ride.status === "started" && bike !== undefined) changeBike(city, bike, { ride_id: ride.id });
}

/** Starts a ride; fulfils the reservation that holds the bike. @throws Error when the bike cannot be ridden */
export function startRide(city: City, { id = city.nextId("ride"), bike_id, rider_category = null }: RideStart): Ride {
  const bike = city.bikes.get(bike_id);
  if (bike === undefined) throw new Error(`there is no bike ${bike_id}`);
  if (bike.ride_id !== null) throw new Error(`bike ${bike_id} is on ride ${bike.ride_id}`);
  const { vehicle_state, station_id: start_station_id } = bike.reported;
  if (vehicle_state !== "available") throw new Error(`bike ${bike_id} is ${vehicle_state}`);
  if (city.rides.has(id)) throw new Error(`there is a ride ${id}`);
  const started_at = instant(city.now());
  const ride = { ...newRide(city, { id, bike_id, status: "started", started_at }), start_station_id, rider_category };
  city.rides.set(id, ride);
  if (bike.reservation_id !== null) fulfilReservation(city, bike.reservation_id, id);
  changeBike(city, bike, { ride_id: id, reservation_id: null });
  recordEvent(city, "ride.started", ride, started_at);
  return ride;
}

/** Ends a ride. @throws Error when it is not under way */
export function endRide(city: City, { id, end_station_id = null, distance_meters = null, ...end }: RideEnd): Ride {
  const end_reason = end.end_reason ?? endReasonAt(end_station_id);
  return finish(city, id, "end", { end_station_id, distance_meters, end_reason }, locationOf(city, end_station_id));
}

/** Cancels a ride that did not come about: its bike is where it was. @throws Error when it is not under way */
export function cancelRide(city: City, id: string): Ride {
  return finish(city, id, "cancel", { end_reason: "cancelled" });
}

/**
 * Corrects a completed ride. Its bike is where the ride ended, unless it has been elsewhere since.
 * @throws Error when the ride is not completed
 */
export function correctRide(city: City, { id, ...correction }: RideCorrection): Ride {
  const { ride: before, status } = allowed(city, id, "correct");
  const updated_at = instant(city.now());
  const ended_at = instant(correction.ended_at ?? before.ended_at ?? updated_at);
  const { end_station_id = before.end_station_id } = correction;
  const ride: Ride = {
    ...before,
    ...correction,
    status,
    ended_at,
    ...lengthOf(before.started_at, ended_at),
    end_reason: correctedEndReason(before, end_station_id),
    updated_at,
  };
  city.rides.set(id, ride);
  const bike = city.bikes.get(ride.bike_id);
  const isThere = bike?.reported.station_id === before.end_station_id && !hasEndedSince(city, before);
  if (bike !== undefined && isThere) changeBike(city, bike, {}, locationOf(city, end_station_id));
  recordEvent(city, "ride.corrected", ride, updated_at);
  return ride;
}

/** A ride that a command may change, and its status after it. @throws Error */
function allowed(city: City, id: string, command: RideCommand): { readonly ride: Ride; readonly status: RideStatus } {
  const ride = city.rides.get(id);
  const status = rideTransitions[(ride?.status ?? "none") as RideStatus | "none"][command];
  if (ride !== undefined && status !== "same" && status !== "conflict" && status !== "missing") return { ride, status };
  throw new Error(`ride ${id} is ${ride?.status ?? "not there"}`);
}

function finish(city: City, id: string, command: "end" | "cancel", end: Partial<Ride>, location?: BikeLocation): Ride {
  const { ride: started, status } = allowed(city, id, command);
  const ended_at = instant(city.now());
  const length = lengthOf(started.started_at, ended_at);
  const ride: Ride = { ...started, ...end, status, ended_at, ...length, updated_at: ended_at };
  city.rides.set(id, ride);
  const bike = city.bikes.get(ride.bike_id);
  if (bike?.ride_id === id) changeBike(city, bike, { ride_id: null }, location);
  recordEvent(city, command === "end" ? "ride.completed" : "ride.cancelled", ride, ended_at);
  return ride;
}

/** Whether a ride's bike has ended another one since. */
function hasEndedSince({ rides }: City, { id, bike_id, ended_at }: Ride): boolean {
  return [...rides.values()].some(
    (other) =>
      other.id !== id &&
      other.bike_id === bike_id &&
      other.status === "completed" &&
      Date.parse(other.ended_at ?? "") >= Date.parse(ended_at ?? ""),
  );
}

function lengthOf(startedAt: string, endedAt: string): ReturnType<typeof rideLength> {
  return rideLength(Date.parse(startedAt), Date.parse(endedAt));
}

function newRide(city: City, fields: RideFields): Ride {
  const { id, bike_id, status = "completed", end_station_id = null } = fields;
  const started_at = instant(fields.started_at ?? city.now() - TEN_MINUTES_MS);
  const tenMinutesLater = Math.min(city.now(), Date.parse(started_at) + TEN_MINUTES_MS);
  const ended_at = status === "started" ? null : instant(fields.ended_at ?? tenMinutesLater);
  // Of history, nobody knows why it ended elsewhere than at a station.
  const historicReason = status === "cancelled" ? "cancelled" : end_station_id && endReasonAt(end_station_id);
  return {
    id,
    bike_id,
    status,
    start_station_id: null,
    end_station_id: null,
    started_at,
    ended_at,
    distance_meters: null,
    vehicle_type_id: city.bikes.get(bike_id)?.reported.vehicle_type_id ?? null,
    rider_category: null,
    ...(ended_at === null ? { duration_seconds: null, is_countable: null } : lengthOf(started_at, ended_at)),
    end_reason: ended_at === null ? null : historicReason,
    updated_at: ended_at ?? started_at,
  };
}

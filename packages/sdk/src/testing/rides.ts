import type { Ride } from "../wire.generated.ts";
import { changeBike, type Place, placeOf } from "./bikes.ts";
import type { BikeState, City } from "./city.ts";
import { instant } from "./clock.ts";
import { recordEvent } from "./events.ts";
import { fulfilReservation } from "./reservations.ts";

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

/** Seconds from which a ride counts. */
const COUNTABLE_FROM = 60;
const TEN_MINUTES = 600_000;

/** Puts a ride there as it is. It makes no event and moves no bike, but for one that is on the ride now. */
export function putRide(city: City, fields: RideFields): void {
  const ride = { ...newRide(city, fields), ...fields };
  city.rides.set(ride.id, ride);
  const bike = city.bikes.get(ride.bike_id);
  if (ride.status === "started" && bike !== undefined) changeBike(city, bike, { rideId: ride.id });
}

/** Starts a ride; fulfils the reservation that holds the bike. @throws Error when the bike cannot be ridden */
export function startRide(city: City, { id = city.nextId("ride"), bike_id, rider_category = null }: RideStart): Ride {
  const bike = city.bikes.get(bike_id);
  if (bike === undefined) throw new Error(`there is no bike ${bike_id}`);
  if (bike.rideId !== null) throw new Error(`bike ${bike_id} is on ride ${bike.rideId}`);
  if (bike.reported.vehicle_state !== "available") throw new Error(`bike ${bike_id} is ${bike.reported.vehicle_state}`);
  if (city.rides.has(id)) throw new Error(`there is a ride ${id}`);
  const now = instant(city.now());
  const ride: Ride = {
    ...newRide(city, { id, bike_id }),
    status: "started",
    start_station_id: bike.reported.station_id,
    started_at: now,
    ...unfinished,
    rider_category,
  };
  city.rides.set(id, ride);
  if (bike.reservationId !== null) fulfilReservation(city, bike.reservationId, id);
  changeBike(city, bike, { rideId: id, reservationId: null });
  recordEvent(city, "ride.started", ride, now);
  return ride;
}

/** Ends a ride. @throws Error when it is not under way */
export function endRide(city: City, { id, ...end }: RideEnd): Ride {
  const { end_station_id = null, distance_meters = null } = end;
  const end_reason = end.end_reason ?? (end_station_id === null ? "free_floating" : "returned");
  const place = placeOf(city, end_station_id);
  return finish(city, id, { status: "completed", end_station_id, distance_meters, end_reason }, place);
}

/** Cancels a ride that did not come about: its bike stands where it stood. @throws Error when it is not under way */
export function cancelRide(city: City, id: string): Ride {
  return finish(city, id, { status: "cancelled", end_reason: "cancelled" }, undefined);
}

/** What was wrong with a ride that has ended. What is left out stays as it was. */
export interface RideCorrection extends Pick<Ride, "id"> {
  readonly ended_at?: string;
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
}

/**
 * Corrects a completed ride. Its bike stands where the ride ended, unless it has been elsewhere since.
 * @throws Error when the ride is not completed
 */
export function correctRide(city: City, { id, ...correction }: RideCorrection): Ride {
  const before = city.rides.get(id);
  if (before?.status !== "completed") throw new Error(`ride ${id} is ${before?.status ?? "not there"}`);
  const now = instant(city.now());
  const { ended_at = before.ended_at, end_station_id = before.end_station_id } = correction;
  const saysWhere = before.end_reason === "returned" || before.end_reason === "free_floating";
  const ride: Ride = {
    ...before,
    ...correction,
    ended_at: ended_at && instant(Date.parse(ended_at)),
    ...lengthOf(Date.parse(before.started_at), Date.parse(ended_at ?? now)),
    ...(saysWhere && { end_reason: end_station_id === null ? "free_floating" : "returned" }),
    updated_at: now,
  };
  city.rides.set(id, ride);
  const bike = city.bikes.get(ride.bike_id);
  const isThere = bike?.reported.station_id === before.end_station_id && !hasEndedSince(city, before);
  if (bike !== undefined && isThere) changeBike(city, bike, { place: placeOf(city, end_station_id) });
  recordEvent(city, "ride.corrected", ride, now);
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

function finish(city: City, id: string, end: Partial<Ride>, place: Place | undefined): Ride {
  const started = city.rides.get(id);
  if (started?.status !== "started") throw new Error(`ride ${id} is ${started?.status ?? "not there"}`);
  const now = city.now();
  const ride: Ride = {
    ...started,
    ...end,
    ended_at: instant(now),
    ...lengthOf(Date.parse(started.started_at), now),
    updated_at: instant(now),
  };
  city.rides.set(id, ride);
  const bike: BikeState | undefined = city.bikes.get(ride.bike_id);
  if (bike?.rideId === id) changeBike(city, bike, { rideId: null, ...(place && { place }) });
  recordEvent(city, ride.status === "completed" ? "ride.completed" : "ride.cancelled", ride, instant(now));
  return ride;
}

const unfinished = {
  ended_at: null,
  duration_seconds: null,
  end_station_id: null,
  end_reason: null,
  is_countable: null,
};

function newRide(city: City, fields: RideFields): Ride {
  const { id, bike_id, status = "completed", started_at, ended_at, end_station_id = null } = fields;
  const now = city.now();
  const start = started_at === undefined ? now - TEN_MINUTES : Date.parse(started_at);
  const end = ended_at === undefined || ended_at === null ? Math.min(now, start + TEN_MINUTES) : Date.parse(ended_at);
  const isOver = status !== "started";
  return {
    id,
    bike_id,
    status,
    start_station_id: null,
    started_at: instant(start),
    distance_meters: null,
    vehicle_type_id: city.bikes.get(bike_id)?.reported.vehicle_type_id ?? null,
    rider_category: null,
    ...unfinished,
    ...(isOver && {
      ended_at: instant(end),
      ...lengthOf(start, end),
      // Of history, nobody knows why it ended elsewhere.
      end_reason: status === "cancelled" ? "cancelled" : end_station_id && "returned",
    }),
    updated_at: instant(isOver ? end : start),
  };
}

function lengthOf(start: number, end: number): Pick<Ride, "duration_seconds" | "is_countable"> {
  const seconds = Math.round((end - start) / 1000);
  return { duration_seconds: seconds, is_countable: seconds >= COUNTABLE_FROM };
}

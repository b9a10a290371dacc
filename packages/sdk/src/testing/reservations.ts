import type { Reservation, ReservationRequest } from "../json-types.generated.ts";
import { changeBike, shownBike } from "./bikes.ts";
import { type BikeRecord, type City, instant, recordEvent } from "./city.ts";
import { blank } from "./contract.generated.ts";
import {
  checkRents,
  checkTakeable,
  chooseBike,
  compareIds,
  expiryOf,
  extendedExpiry,
  mayCancel,
  reservationOutcomeEvents,
  type ReservationStatus,
  serviceError,
  statusAt,
} from "./rules.ts";

/* Reservations in a fake's city: made, extended and ended by the rules that the service uses too. */

/** The fields of a reservation. The defaults describe an active one that was made just now. */
export type ReservationFields = Partial<Reservation> & Pick<Reservation, "id" | "bike_id">;

/**
 * Adds a reservation of a partner, without an event. An active one holds its bike.
 * @param holdMinutes default: as in the service
 */
export function putReservation(
  city: City,
  partnerId: string,
  fields: ReservationFields,
  holdMinutes?: number,
): Reservation {
  const bike = city.bikes.get(fields.bike_id);
  const created = new Date(fields.created_at ?? city.now());
  const reservation: Reservation = {
    ...blank.Reservation,
    station_id: bike?.reported.station_id ?? null,
    vehicle_type_id: bike?.reported.vehicle_type_id ?? null,
    created_at: created.toISOString(),
    expires_at: expiryOf(created, holdMinutes).toISOString(),
    updated_at: created.toISOString(),
    ...fields,
  };
  const { id, status } = reservation;
  city.reservations.set(id, reservation);
  city.reservationOwners.set(id, partnerId);
  if (bike !== undefined && status === "active") changeBike(city, bike, { reservation_id: id });
  return reservation;
}

/**
 * Reserves a bike of a station, or one bike, for a partner's rider.
 *
 * @throws ServiceError `not_found`, `station_offline`, `no_bike_available`, `bike_not_available`,
 *   `rider_has_active_reservation`, `too_many_reservations`
 */
export function createReservation(city: City, partnerId: string, request: ReservationRequest): Reservation {
  const { station_id, bike_id = "", vehicle_type_id = null, rider_ref = null, hold_minutes } = request;
  const active = activeReservations(city, partnerId);
  if (active.length >= city.maxReservations) {
    throw serviceError("too_many_reservations", "limit", { limit: city.maxReservations });
  }
  if (rider_ref !== null && active.some((each) => each.rider_ref === rider_ref)) {
    throw serviceError("rider_has_active_reservation");
  }
  const chosen =
    station_id === undefined
      ? namedBike(city, bike_id, vehicle_type_id)
      : bikeOfStation(city, station_id, vehicle_type_id);
  const fields = { id: city.nextId("reservation"), bike_id: chosen, rider_ref };
  const reservation = putReservation(city, partnerId, fields, hold_minutes);
  const event = { event: "reservation.created", data: reservation, occurred_at: reservation.created_at };
  recordEvent(city, event, partnerId);
  return reservation;
}

/**
 * Cancels a partner's reservation, so that its bike is free again. Cancelling a cancelled one changes nothing.
 *
 * @throws ServiceError `not_found`; `reservation_not_active` when it was fulfilled or has expired
 */
export function cancelReservation(city: City, partnerId: string, id: string): Reservation {
  const reservation = ownReservation(city, partnerId, id);
  return mayCancel(holdOf(reservation).status) ? cancel(city, reservation, "partner") : reservation;
}

/**
 * Extends a partner's reservation by some minutes.
 *
 * @throws ServiceError `not_found`; `reservation_not_active` when it has ended; `hold_limit_reached`
 */
export function extendReservation(city: City, partnerId: string, id: string, minutes: number): Reservation {
  const reservation = ownReservation(city, partnerId, id);
  const expiresAt = extendedExpiry(holdOf(reservation), minutes, new Date(city.now()));
  const extended = { ...reservation, expires_at: expiresAt.toISOString(), updated_at: instant(city.now()) };
  city.reservations.set(id, extended);
  return extended;
}

/** Fulfils a reservation, because its bike starts a ride. The caller changes the bike. */
export function fulfilReservation(city: City, id: string, rideId: string): void {
  const reservation = city.reservations.get(id);
  if (reservation !== undefined) finish(city, reservation, { status: "fulfilled", ride_id: rideId });
}

/** Sets `ride_cancelled_at` of the reservation that a cancelled ride had fulfilled. */
export function noteCancelledRide(city: City, rideId: string, now: string): void {
  for (const reservation of city.reservations.values()) {
    if (reservation.ride_id !== rideId) continue;
    city.reservations.set(reservation.id, { ...reservation, ride_cancelled_at: now, updated_at: now });
  }
}

/** Cancels a bike's reservation if the bike is no longer available. */
export function releaseLostBike(city: City, bikeId: string): void {
  const bike = city.bikes.get(bikeId);
  const reservation = city.reservations.get(bike?.reservation_id ?? "");
  if (reservation !== undefined && bike?.reported.vehicle_state !== "available") {
    cancel(city, reservation, "bike_unavailable");
  }
}

/** Expires the reservations whose end has passed, in the order of their ends. Each expires as of its own end. */
export function expireReservations(city: City): void {
  const now = new Date(city.now());
  const due = [...city.reservations.values()]
    .filter((each) => each.status === "active" && statusAt(holdOf(each), now) === "expired")
    .sort((a, b) => compareIds(a.expires_at, b.expires_at));
  for (const each of due) finish(city, each, { status: "expired", updated_at: each.expires_at });
}

/** Returns a partner's reservations. */
export function reservationsOf({ reservations, reservationOwners }: City, partnerId: string): Reservation[] {
  return [...reservations.values()].filter(({ id }) => reservationOwners.get(id) === partnerId);
}

/** Returns a partner's active reservations. */
export function activeReservations(city: City, partnerId: string): Reservation[] {
  return reservationsOf(city, partnerId).filter(({ status }) => status === "active");
}

/** Returns a partner's reservation. @throws ServiceError `not_found`, also for another partner's */
function ownReservation(city: City, partnerId: string, id: string): Reservation {
  const reservation = reservationsOf(city, partnerId).find((each) => each.id === id);
  if (reservation === undefined) throw serviceError("not_found", "reservation");
  return reservation;
}

function cancel(city: City, reservation: Reservation, cancel_reason: "partner" | "bike_unavailable"): Reservation {
  return finish(city, reservation, { status: "cancelled", cancelled_at: instant(city.now()), cancel_reason });
}

/** Ends a reservation: frees its bike, and records the event of the outcome for the owner. */
function finish(
  city: City,
  reservation: Reservation,
  outcome: Partial<Reservation> & { readonly status: keyof typeof reservationOutcomeEvents },
): Reservation {
  const finished = { ...reservation, updated_at: instant(city.now()), ...outcome };
  const { id, bike_id, updated_at } = finished;
  city.reservations.set(id, finished);
  const bike = city.bikes.get(bike_id);
  if (bike?.reservation_id === id) changeBike(city, bike, { reservation_id: null });
  const event = { event: reservationOutcomeEvents[outcome.status], data: finished, occurred_at: updated_at };
  recordEvent(city, event, city.reservationOwners.get(id));
  return finished;
}

/** Checks that a bike can be reserved, and returns its id. */
function namedBike({ bikes, stations }: City, bikeId: string, vehicleTypeId: string | null): string {
  const bike = bikes.get(bikeId);
  if (bike === undefined) throw serviceError("not_found", "bike");
  const shown = choosable(bike);
  checkTakeable(shown, vehicleTypeId);
  const station = stations.get(shown.station_id ?? "")?.shown;
  // An unknown station has no flags to check.
  if (station !== undefined) checkRents(station);
  return bikeId;
}

/** Chooses a bike of a station, and returns its id. */
function bikeOfStation({ bikes, stations }: City, stationId: string, vehicleTypeId: string | null): string {
  const station = stations.get(stationId)?.shown;
  if (station === undefined) throw serviceError("not_found", "station");
  checkRents(station);
  const chosen = chooseBike([...bikes.values()].map(choosable), { stationId, vehicleTypeId });
  if (chosen === undefined) throw serviceError("no_bike_available");
  return chosen.id;
}

/** Returns the properties of a bike that the rules need to choose one. */
function choosable(bike: BikeRecord) {
  return { ...shownBike(bike), ride_id: bike.ride_id, reservation_id: bike.reservation_id };
}

/** Returns a reservation in the form that the rules take. */
function holdOf({ status, created_at, expires_at }: Reservation) {
  return {
    status: status as ReservationStatus,
    created_at: new Date(created_at),
    expires_at: new Date(expires_at),
  };
}

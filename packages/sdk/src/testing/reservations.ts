import type { Reservation, ReservationRequest } from "../json-types.generated.ts";
import { type BikeRecord, type City, instant, recordEvent, type ReservationRecord } from "./city.ts";
import { changeBike, shownBike } from "./fleet.ts";
import {
  checkRents,
  checkTakeable,
  chooseBike,
  compareIds,
  DEFAULT_HOLD_MINUTES,
  expiryOf,
  extendedExpiry,
  mayCancel,
  reservationOutcomeEvents,
  type ReservationStatus,
  serviceError,
  statusAt,
} from "./rules.ts";

/** A reservation as it is described. What is left out is filled in: an active one, made just now. */
export type ReservationFields = Partial<Reservation> & Pick<Reservation, "id" | "bike_id">;

/** Puts a reservation of the first partner there as it is. It makes no event; an active one holds its bike. */
export function putReservation(city: City, fields: ReservationFields): void {
  const shown = {
    ...newReservation(city, fields.id, fields.bike_id, new Date(fields.created_at ?? city.now())),
    ...fields,
  };
  city.reservations.set(shown.id, { partnerId: city.partner.id, shown });
  const bike = city.bikes.get(fields.bike_id);
  if (bike !== undefined && shown.status === "active") changeBike(city, bike, { reservation_id: shown.id });
}

/**
 * Reserves a bike of a station, or one bike, for a partner's rider.
 *
 * @throws ServiceError `invalid_parameter`, `not_found`, `station_offline`, `no_bike_available`, `bike_not_available`,
 *   `rider_has_active_reservation`, `too_many_reservations`
 */
export function createReservation(city: City, partnerId: string, request: ReservationRequest): Reservation {
  const { station_id, bike_id, vehicle_type_id = null, rider_ref = null, hold_minutes } = request;
  const active = activeOf(city, partnerId);
  if (active.length >= city.maxReservations) {
    throw serviceError("too_many_reservations", "limit", { limit: city.maxReservations });
  }
  if (rider_ref !== null && active.some((each) => each.rider_ref === rider_ref)) {
    throw serviceError("rider_has_active_reservation");
  }
  const bike =
    station_id === undefined
      ? namedBike(city, bike_id ?? "", vehicle_type_id)
      : bikeOfStation(city, station_id, vehicle_type_id);
  const id = city.nextId("reservation");
  const shown = { ...newReservation(city, id, bike.reported.id, new Date(city.now()), hold_minutes), rider_ref };
  city.reservations.set(id, { partnerId, shown });
  changeBike(city, bike, { reservation_id: id });
  recordEvent(city, "reservation.created", shown, shown.created_at, partnerId);
  return shown;
}

/**
 * Cancels a partner's reservation and gives its bike back. Cancelling a cancelled one changes nothing.
 *
 * @throws ServiceError `not_found`; `reservation_not_active` when it was fulfilled or has expired
 */
export function cancelReservation(city: City, partnerId: string, id: string): Reservation {
  const held = ownReservation(city, partnerId, id);
  return mayCancel(heldOf(held.shown).status) ? cancel(city, held, "partner") : held.shown;
}

/**
 * Has a partner's reservation hold its bike for minutes more.
 *
 * @throws ServiceError `not_found`; `reservation_not_active` when it has ended; `hold_limit_reached`
 */
export function extendReservation(city: City, partnerId: string, id: string, minutes: number): Reservation {
  const { shown } = ownReservation(city, partnerId, id);
  const expiresAt = extendedExpiry(heldOf(shown), minutes, new Date(city.now()));
  const extended = { ...shown, expires_at: expiresAt.toISOString(), updated_at: instant(city.now()) };
  city.reservations.set(id, { partnerId, shown: extended });
  return extended;
}

/** Fulfils a reservation by the ride that its bike starts. The ride changes the bike. */
export function fulfilReservation(city: City, id: string, rideId: string): void {
  const held = city.reservations.get(id);
  if (held !== undefined) finish(city, held, { status: "fulfilled", ride_id: rideId });
}

/** Cancels the reservation of a held bike that can no longer be ridden. */
export function releaseLostBike(city: City, bikeId: string): void {
  const bike = city.bikes.get(bikeId);
  const held = city.reservations.get(bike?.reservation_id ?? "");
  if (held !== undefined && bike?.reported.vehicle_state !== "available") cancel(city, held, "bike_unavailable");
}

/** Expires the reservations that are over by now, the oldest first, each as of its own end. */
export function expireReservations(city: City): void {
  const now = new Date(city.now());
  const due = [...city.reservations.values()]
    .filter(({ shown }) => shown.status === "active" && statusAt(heldOf(shown), now) === "expired")
    .sort((a, b) => compareIds(a.shown.expires_at, b.shown.expires_at));
  for (const each of due) finish(city, each, { status: "expired", updated_at: each.shown.expires_at });
}

/** A partner's active reservations. */
export function activeOf({ reservations }: City, partnerId: string): Reservation[] {
  return [...reservations.values()].flatMap((each) =>
    each.partnerId === partnerId && each.shown.status === "active" ? [each.shown] : [],
  );
}

function ownReservation({ reservations }: City, partnerId: string, id: string): ReservationRecord {
  const held = reservations.get(id);
  if (held?.partnerId !== partnerId) throw serviceError("not_found", "reservation");
  return held;
}

function cancel(city: City, held: ReservationRecord, cancel_reason: "partner" | "bike_unavailable"): Reservation {
  return finish(city, held, { status: "cancelled", cancelled_at: instant(city.now()), cancel_reason });
}

function finish(
  city: City,
  { partnerId, shown }: ReservationRecord,
  outcome: Partial<Reservation> & { readonly status: keyof typeof reservationOutcomeEvents },
): Reservation {
  const finished = { ...shown, updated_at: instant(city.now()), ...outcome };
  city.reservations.set(finished.id, { partnerId, shown: finished });
  const bike = city.bikes.get(finished.bike_id);
  if (bike?.reservation_id === finished.id) changeBike(city, bike, { reservation_id: null });
  recordEvent(city, reservationOutcomeEvents[outcome.status], finished, finished.updated_at, partnerId);
  return finished;
}

/** Everything that the rules of the choice ask of a bike. */
function choosable({ reported, ride_id, reservation_id, ...record }: BikeRecord) {
  return { ...shownBike({ reported, ride_id, reservation_id, ...record }), ride_id, reservation_id };
}

function namedBike(city: City, bikeId: string, vehicleTypeId: string | null): BikeRecord {
  const bike = city.bikes.get(bikeId);
  if (bike === undefined) throw serviceError("not_found", "bike");
  const shown = choosable(bike);
  checkTakeable(shown, vehicleTypeId);
  const station = city.stations.get(shown.station_id ?? "")?.shown;
  // A station that nobody knows cannot forbid it.
  if (station !== undefined) checkRents(station);
  return bike;
}

function bikeOfStation(city: City, stationId: string, vehicleTypeId: string | null): BikeRecord {
  const station = city.stations.get(stationId)?.shown;
  if (station === undefined) throw serviceError("not_found", "station");
  checkRents(station);
  const chosen = chooseBike([...city.bikes.values()].map(choosable), { stationId, vehicleTypeId });
  const bike = city.bikes.get(chosen?.id ?? "");
  if (bike === undefined) throw serviceError("no_bike_available");
  return bike;
}

/** A reservation as the rules take it. */
function heldOf({ status, created_at, expires_at }: Reservation) {
  return {
    status: status as ReservationStatus,
    created_at: new Date(created_at),
    expires_at: new Date(expires_at),
  };
}

function newReservation(
  { bikes }: City,
  id: string,
  bikeId: string,
  created: Date,
  holdMinutes: number = DEFAULT_HOLD_MINUTES,
): Reservation {
  const bike = bikes.get(bikeId)?.reported;
  const created_at = created.toISOString();
  return {
    id,
    status: "active",
    station_id: bike?.station_id ?? null,
    bike_id: bikeId,
    vehicle_type_id: bike?.vehicle_type_id ?? null,
    rider_ref: null,
    created_at,
    expires_at: expiryOf(created, holdMinutes).toISOString(),
    cancelled_at: null,
    cancel_reason: null,
    ride_id: null,
    updated_at: created_at,
  };
}

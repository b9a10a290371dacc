import type { Reservation, ReservationRequest, Station } from "../wire.generated.ts";
import { Refused } from "./answer.ts";
import { isFree, viewOf } from "./bike.ts";
import { changeBike } from "./bikes.ts";
import type { BikeState, City, OwnedReservation } from "./city.ts";
import { instant } from "./clock.ts";
import { DEFAULT_HOLD_MINUTES, MAX_TOTAL_HOLD_MINUTES } from "./contract.generated.ts";
import { recordEvent } from "./events.ts";
import { compareTexts } from "./order.ts";
import { rentsOut } from "./stations.ts";

/** A reservation as it is described. What is left out is filled in: an active one, made just now. */
export type ReservationFields = Partial<Reservation> & Pick<Reservation, "id" | "bike_id">;

/** Puts a reservation of the first partner there as it is. It makes no event; an active one holds its bike. */
export function putReservation(city: City, fields: ReservationFields): void {
  const created = fields.created_at === undefined ? city.now() : Date.parse(fields.created_at);
  const bike = city.bikes.get(fields.bike_id);
  const shown = { ...newReservation(fields.id, fields.bike_id, bike, created, DEFAULT_HOLD_MINUTES), ...fields };
  city.reservations.set(shown.id, { partnerId: city.partner.id, shown });
  if (bike !== undefined && shown.status === "active") changeBike(city, bike, { reservationId: shown.id });
}

/**
 * Reserves a bike of a station, or one bike, for a partner's rider.
 *
 * @throws Refused `invalid_parameter`, `not_found`, `station_offline`, `no_bike_available`, `bike_not_available`,
 *   `rider_has_active_reservation`, `too_many_reservations`
 */
export function createReservation(city: City, partnerId: string, request: ReservationRequest): Reservation {
  const { station_id, bike_id, rider_ref, hold_minutes = DEFAULT_HOLD_MINUTES } = request;
  if ((station_id === undefined) === (bike_id === undefined)) {
    const why =
      station_id === undefined ? "or bike_id must be given" : "and bike_id exclude each other: give one of them";
    throw new Refused("invalid_parameter", `station_id ${why}.`);
  }
  refuseBeyondLimit(city, partnerId);
  if (rider_ref !== undefined) refuseTakenRider(city, partnerId, rider_ref);
  const bike = station_id === undefined ? namedBike(city, request) : bikeOfStation(city, station_id, request);
  const id = city.nextId("reservation");
  const shown: Reservation = {
    ...newReservation(id, bike.reported.id, bike, city.now(), hold_minutes),
    rider_ref: rider_ref ?? null,
  };
  city.reservations.set(id, { partnerId, shown });
  changeBike(city, bike, { reservationId: id });
  recordEvent(city, "reservation.created", shown, shown.created_at, partnerId);
  return shown;
}

/**
 * Cancels a partner's reservation and gives its bike back. Cancelling a cancelled one changes nothing.
 *
 * @throws Refused `not_found`; `reservation_not_active` when it was fulfilled or has expired
 */
export function cancelReservation(city: City, partnerId: string, id: string): Reservation {
  const held = city.reservations.get(id);
  if (held?.partnerId !== partnerId) throw new Refused("not_found", "You have no reservation with this id.");
  const { status } = held.shown;
  if (status === "cancelled") return held.shown;
  if (status !== "active") {
    throw new Refused("reservation_not_active", `The reservation is ${status}, so it cannot be cancelled.`);
  }
  const now = instant(city.now());
  return end(city, held, { status: "cancelled", cancelled_at: now, cancel_reason: "partner", updated_at: now });
}

/**
 * Has a partner's reservation hold its bike for minutes more.
 *
 * @throws Refused `not_found`; `reservation_not_active` when it has ended; `hold_limit_reached`
 */
export function extendReservation(city: City, partnerId: string, id: string, minutes: number): Reservation {
  const held = city.reservations.get(id);
  if (held?.partnerId !== partnerId) throw new Refused("not_found", "You have no reservation with this id.");
  const { status, created_at, expires_at } = held.shown;
  if (status !== "active") {
    throw new Refused("reservation_not_active", `The reservation is ${status}, so it cannot be extended.`);
  }
  const expires = Date.parse(expires_at) + minutes * 60_000;
  const latest = Date.parse(created_at) + MAX_TOTAL_HOLD_MINUTES * 60_000;
  if (expires > latest) {
    const left = Math.floor((latest - Date.parse(expires_at)) / 60_000);
    const message = `A hold lasts at most ${MAX_TOTAL_HOLD_MINUTES} minutes in all. This one can be extended by ${left} more.`;
    throw new Refused("hold_limit_reached", message);
  }
  const shown = { ...held.shown, expires_at: instant(expires), updated_at: instant(city.now()) };
  city.reservations.set(id, { partnerId, shown });
  return shown;
}

/** Fulfils a reservation by the ride that its bike starts. The bike is the ride's affair. */
export function fulfilReservation(city: City, id: string, rideId: string): void {
  const held = city.reservations.get(id);
  const now = instant(city.now());
  if (held !== undefined) end(city, held, { status: "fulfilled", ride_id: rideId, updated_at: now });
}

/** Cancels the reservation of a held bike that can no longer be ridden. */
export function releaseLostBike(city: City, bikeId: string): void {
  const { reservationId = null, reported } = city.bikes.get(bikeId) ?? {};
  const held = reservationId === null ? undefined : city.reservations.get(reservationId);
  if (held === undefined || reported?.vehicle_state === "available") return;
  const now = instant(city.now());
  end(city, held, { status: "cancelled", cancelled_at: now, cancel_reason: "bike_unavailable", updated_at: now });
}

/** Expires what has lapsed by now, the oldest first, each as of its own end. */
export function expireReservations(city: City): void {
  const due = [...city.reservations.values()]
    .filter(({ shown }) => shown.status === "active" && Date.parse(shown.expires_at) <= city.now())
    .sort((a, b) => compareTexts(a.shown.expires_at, b.shown.expires_at));
  for (const each of due) end(city, each, { status: "expired", updated_at: each.shown.expires_at });
}

function end(city: City, { partnerId, shown }: OwnedReservation, change: Partial<Reservation>): Reservation {
  const ended = { ...shown, ...change };
  city.reservations.set(ended.id, { partnerId, shown: ended });
  const bike = city.bikes.get(ended.bike_id);
  if (bike?.reservationId === ended.id) changeBike(city, bike, { reservationId: null });
  const events = {
    cancelled: "reservation.cancelled",
    expired: "reservation.expired",
    fulfilled: "reservation.fulfilled",
  } as const;
  recordEvent(city, events[ended.status as keyof typeof events], ended, ended.updated_at, partnerId); // It has ended.
  return ended;
}

/** How many active reservations a partner has. */
export function countActive({ reservations }: City, partnerId: string): number {
  return [...reservations.values()].filter((each) => each.partnerId === partnerId && each.shown.status === "active")
    .length;
}

function refuseBeyondLimit(city: City, partnerId: string): void {
  const limit = city.maxReservations;
  if (countActive(city, partnerId) < limit) return;
  const message = `You may have ${limit} active ${limit === 1 ? "reservation" : "reservations"} at once, and have as many. Cancel one, or wait until one ends.`;
  throw new Refused("too_many_reservations", message);
}

function refuseTakenRider({ reservations }: City, partnerId: string, riderRef: string): void {
  const isTaken = [...reservations.values()].some(
    (each) => each.partnerId === partnerId && each.shown.rider_ref === riderRef && each.shown.status === "active",
  );
  if (!isTaken) return;
  const message = "This rider_ref holds a bike already. Cancel that reservation first.";
  throw new Refused("rider_has_active_reservation", message);
}

function namedBike(city: City, { bike_id = "", vehicle_type_id }: ReservationRequest): BikeState {
  const bike = city.bikes.get(bike_id);
  if (bike === undefined) throw new Refused("not_found", "There is no bike with this id.");
  const { vehicle_state, station_id } = viewOf(bike);
  if (!isFree(bike)) throw new Refused("bike_not_available", `The bike is ${vehicle_state}. Choose another one.`);
  if (vehicle_type_id !== undefined && bike.reported.vehicle_type_id !== vehicle_type_id) {
    throw new Refused("bike_not_available", "The bike is not of the type that vehicle_type_id asks for.");
  }
  // A station that nobody knows cannot forbid it.
  const station = station_id === null ? undefined : city.stations.get(station_id)?.shown;
  if (station !== undefined) refuseClosed(station);
  return bike;
}

/** Of the station's free bikes the one with the longest range; the id breaks ties. */
function bikeOfStation(city: City, stationId: string, { vehicle_type_id }: ReservationRequest): BikeState {
  const station = city.stations.get(stationId)?.shown;
  if (station === undefined) throw new Refused("not_found", "There is no station with this id.");
  refuseClosed(station);
  const range = ({ reported }: BikeState) => reported.current_range_meters ?? -1;
  const [bike] = [...city.bikes.values()]
    .filter((each) => isFree(each) && each.reported.station_id === stationId)
    .filter(({ reported }) => vehicle_type_id === undefined || reported.vehicle_type_id === vehicle_type_id)
    .sort((a, b) => range(b) - range(a) || compareTexts(a.reported.id, b.reported.id));
  if (bike !== undefined) return bike;
  const message = "The station has no bike that could be reserved. Try another station, or again later.";
  throw new Refused("no_bike_available", message);
}

function refuseClosed(station: Station): void {
  if (rentsOut(station)) return;
  throw new Refused("station_offline", "The station does not rent out bikes at present. Choose another one.");
}

function newReservation(
  id: string,
  bikeId: string,
  bike: BikeState | undefined,
  created: number,
  holdMinutes: number,
): Reservation {
  return {
    id,
    status: "active",
    station_id: bike?.reported.station_id ?? null,
    bike_id: bikeId,
    vehicle_type_id: bike?.reported.vehicle_type_id ?? null,
    rider_ref: null,
    created_at: instant(created),
    expires_at: instant(created + holdMinutes * 60_000),
    cancelled_at: null,
    cancel_reason: null,
    ride_id: null,
    updated_at: instant(created),
  };
}

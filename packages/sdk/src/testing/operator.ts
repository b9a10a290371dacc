import type { EventRecord, Region, Ride } from "../wire.generated.ts";
import { type BikeFields, putBike } from "./bikes.ts";
import type { City } from "./city.ts";
import { instant } from "./clock.ts";
import { putRegion, putVehicleType, type VehicleTypeFields } from "./descriptions.ts";
import { addEvent } from "./events.ts";
import { expireReservations, putReservation, releaseLostBike, type ReservationFields } from "./reservations.ts";
import {
  cancelRide,
  correctRide,
  endRide,
  putRide,
  type RideCorrection,
  type RideEnd,
  type RideFields,
  type RideStart,
  startRide,
} from "./rides.ts";
import { bringOnline, putStation, removeStation, type StationFields, takeOffline } from "./stations.ts";

/** An event as it is described. What is left out is filled in. */
export interface EventFields {
  /** One of the names, or any other, to see what your program does about an event that it does not know. */
  readonly event: string;
  readonly data: object;
  readonly id?: string | undefined;
  readonly occurred_at?: string | undefined;
}

/** What the operator's side does: what partners' own programs can only see. All that follows from it follows. */
export interface Operator {
  /** Makes a station, or changes what is known of it. */
  putStation(fields: StationFields): void;
  takeOffline(stationId: string): void;
  bringOnline(stationId: string): void;
  removeStation(stationId: string): void;
  /** Makes a bike, or changes what is known of it. */
  putBike(fields: BikeFields): void;
  /** Says what a vehicle type is. */
  putVehicleType(fields: VehicleTypeFields): void;
  /** Says what a region is called. */
  putRegion(region: Region): void;
  /** Puts a ride there as it is, without events: history. */
  putRide(fields: RideFields): void;
  /** Starts a ride, which fulfils the reservation that holds its bike. */
  startRide(start: RideStart): Ride;
  endRide(end: RideEnd): Ride;
  cancelRide(rideId: string): Ride;
  /** Corrects a completed ride, of which `ride.corrected` tells. */
  correctRide(correction: RideCorrection): Ride;
  /** Puts a reservation of the first partner there as it is, without events. */
  putReservation(fields: ReservationFields): void;
  /** Puts an event at the end of the list. */
  putEvent(fields: EventFields): void;
}

/** The operator's verbs on a city. */
export function createOperator(city: City): Operator {
  /** The city as of now: what has lapsed holds no bike any more. */
  const today = () => {
    expireReservations(city);
    return city;
  };
  return {
    putStation: (fields) => putStation(today(), fields),
    takeOffline: (id) => takeOffline(today(), id),
    bringOnline: (id) => bringOnline(today(), id),
    removeStation: (id) => removeStation(today(), id),
    putBike(fields) {
      putBike(today(), fields);
      releaseLostBike(city, fields.id);
    },
    putVehicleType: (fields) => putVehicleType(city, fields),
    putRegion: (region) => putRegion(city, region),
    putRide: (fields) => putRide(today(), fields),
    startRide: (start) => startRide(today(), start),
    endRide: (end) => endRide(today(), end),
    cancelRide: (id) => cancelRide(today(), id),
    correctRide: (correction) => correctRide(today(), correction),
    putReservation: (fields) => putReservation(today(), fields),
    putEvent({ id = city.nextId("event"), occurred_at = instant(city.now()), event, data }) {
      // Its name may be one that nobody knows yet: that is what it is for.
      const shown = { id, event, occurred_at, data } as unknown as EventRecord;
      addEvent(today(), shown, event.startsWith("reservation.") ? city.partner.id : null);
    },
  };
}

import type { EventRecord, Region, Ride } from "../json-types.generated.ts";
import { addEvent, type City, instant, putVehicleType, type VehicleTypeFields } from "./city.ts";
import {
  type BikeFields,
  bringOnline,
  putBike,
  putStation,
  removeStation,
  type StationFields,
  takeOffline,
} from "./fleet.ts";
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

/** An event as it is described. What is left out is filled in. */
export interface EventFields {
  /** One of the names, or any other, to see what your program does about an event that it does not know. */
  readonly event: string;
  readonly data: object;
  readonly id?: string | undefined;
  readonly occurred_at?: string | undefined;
}

/** What the operator does and partners only see, with everything that follows from it. */
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
  /** Corrects a completed ride; makes the event `ride.corrected`. */
  correctRide(correction: RideCorrection): Ride;
  /** Puts a reservation of the first partner there as it is, without events. */
  putReservation(fields: ReservationFields): void;
  /** Puts an event at the end of the list. */
  putEvent(fields: EventFields): void;
}

export function createOperator(city: City): Operator {
  /** The city as of now: reservations that are over hold no bike any more. */
  const upToDate = () => {
    expireReservations(city);
    return city;
  };
  return {
    putStation: (fields) => putStation(upToDate(), fields),
    takeOffline: (id) => takeOffline(upToDate(), id),
    bringOnline: (id) => bringOnline(upToDate(), id),
    removeStation: (id) => removeStation(upToDate(), id),
    putBike(fields) {
      putBike(upToDate(), fields);
      releaseLostBike(city, fields.id);
    },
    putVehicleType: (fields) => putVehicleType(city, fields),
    putRegion: (region) => void city.regions.set(region.id, region),
    putRide: (fields) => putRide(upToDate(), fields),
    startRide: (start) => startRide(upToDate(), start),
    endRide: (end) => endRide(upToDate(), end),
    cancelRide: (id) => cancelRide(upToDate(), id),
    correctRide: (correction) => correctRide(upToDate(), correction),
    putReservation: (fields) => putReservation(upToDate(), fields),
    putEvent({ id = city.nextId("event"), occurred_at = instant(city.now()), event, data }) {
      // Its name may be one that nobody knows yet: that is what this is for.
      const shown = { id, event, occurred_at, data } as unknown as EventRecord;
      addEvent(upToDate(), shown, event.startsWith("reservation.") ? city.partner.id : null);
    },
  };
}

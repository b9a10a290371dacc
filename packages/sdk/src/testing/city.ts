import type { Bike, EventRecord, Region, Reservation, Ride, Station, VehicleType } from "../wire.generated.ts";
import type { Clock } from "./clock.ts";
import type { FakePartner } from "./keys.ts";

/** Everything that a fake knows of its city. Changed by the verbs beside this file alone. */
export interface City {
  readonly now: Clock;
  /** A new id: `ride_000001`. */
  readonly nextId: (prefix: string) => string;
  /** Whose reservations are made where nobody says whose. */
  readonly partner: FakePartner;
  /** Active reservations that each partner may have at once. */
  readonly maxReservations: number;
  readonly stations: Map<string, StationState>;
  readonly bikes: Map<string, BikeState>;
  /** Those that were described. */
  readonly vehicleTypes: Map<string, VehicleType>;
  /** Those that were named. */
  readonly regions: Map<string, Region>;
  readonly rides: Map<string, Ride>;
  readonly reservations: Map<string, OwnedReservation>;
  /** Oldest first. */
  readonly events: RecordedEvent[];
}

export interface StationState {
  shown: Station;
  /** Whether its counters were given, as a feed gives them, rather than counted from its bikes. */
  readonly isMirrored: boolean;
  wasInstalled: boolean;
}

/** What decides how a bike is shown. */
export interface BikeState {
  /** As it would be shown if nobody rode or held it. */
  readonly reported: Bike;
  readonly rideId: string | null;
  readonly reservationId: string | null;
}

/** A reservation, and whose it is. */
export interface OwnedReservation {
  readonly partnerId: string;
  readonly shown: Reservation;
}

/** An event, and who may see it. */
export interface RecordedEvent {
  readonly shown: EventRecord;
  /** Its number, counted from 1: its place in the list. */
  readonly position: number;
  /** When it was recorded. */
  readonly at: number;
  /** Null: everyone who may read the resource. */
  readonly partnerId: string | null;
}

/** @param now milliseconds since 1970 */
export function createCity(now: Clock, partner: FakePartner, maxReservations: number): City {
  let made = 0;
  return {
    now,
    nextId: (prefix) => `${prefix}_${String(++made).padStart(6, "0")}`,
    partner,
    maxReservations,
    stations: new Map(),
    bikes: new Map(),
    vehicleTypes: new Map(),
    regions: new Map(),
    rides: new Map(),
    reservations: new Map(),
    events: [],
  };
}

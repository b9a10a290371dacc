import type {
  Alert,
  Bike,
  DeliveryDetail,
  EventRecord,
  Export,
  Region,
  Reservation,
  Ride,
  Station,
  VehicleType,
} from "../json-types.generated.ts";
import { createChangeLog } from "./changes.ts";
import { RecordedStations } from "./history.ts";

/* The data of a fake of the service: what is stored of each resource, and how an event is recorded. */

/** Milliseconds since 1970. */
export type Clock = () => number;

/** The partner to whom a key or a reservation belongs. */
export interface FakePartner {
  readonly id: string;
  readonly name: string;
}

/** A station, and the facts that decide how it changes. */
export interface StationRecord {
  /** The station as partners see it. */
  readonly shown: Station;
  /** Whether the new station came with counters, as from a feed. Otherwise the station's bikes are counted. */
  readonly areCountersGiven: boolean;
  /** The last given number of free docks, plus the bikes that stood there then; null: none was given. */
  readonly docksBase: number | null;
  /** Whether the station has been installed at any time. One that never was is `planned`. */
  readonly wasInstalled: boolean;
}

/** The facts that decide how a bike is shown. */
export interface BikeRecord {
  /** The bike as it is shown without a ride and a reservation. */
  readonly reported: Bike;
  readonly ride_id: string | null;
  readonly reservation_id: string | null;
}

/** An event, and who may see it. */
interface RecordedEvent {
  readonly shown: EventRecord;
  readonly recordedAt: number;
  /** The partner that may see the event; null: every partner that may read the resource. */
  readonly partnerId: string | null;
}

/** All data of a fake. Only the functions of this folder change it. */
export type City = ReturnType<typeof createCity>;

/**
 * @param partner the first partner, who owns reservations that a test puts there
 * @param maxReservations active reservations that each partner may have at once
 */
export function createCity(now: Clock, partner: FakePartner, maxReservations: number) {
  let made = 0;
  return {
    now,
    partner,
    maxReservations,
    /** Returns a new id, such as `ride_000001`. */
    nextId: (prefix: string) => `${prefix}_${String(++made).padStart(6, "0")}`,
    stations: new RecordedStations<StationRecord>(now),
    bikes: new Map<string, BikeRecord>(),
    /** The described vehicle types. */
    vehicleTypes: new Map<string, VehicleType>(),
    /** The described regions. */
    regions: new Map<string, Region>(),
    alerts: new Map<string, Alert>(),
    exports: new Map<string, Export>(),
    deliveries: new Map<string, { readonly partnerId: string; readonly shown: DeliveryDetail }>(),
    /** The ids of stations that were taken offline with an alert, by the alert's id. */
    closures: new Map<string, string>(),
    rides: new Map<string, Ride>(),
    reservations: new Map<string, Reservation>(),
    /** The owner of each reservation: the partner's id by the reservation's id. */
    reservationOwners: new Map<string, string>(),
    /** Oldest first. */
    events: new Array<RecordedEvent>(),
    /** The order in which items have changed, for lists that can be followed. */
    changes: createChangeLog(),
  };
}

/** Returns an instant in the form of the API's JSON. @param at milliseconds since 1970, or RFC 3339 */
export function instant(at: number | string): string {
  return new Date(at).toISOString();
}

/** The fields of an event. Omitted fields get defaults. */
export interface EventFields {
  /** The name of an event, or any other text, to test what your program does with an unknown event. */
  readonly event: string;
  readonly data: object;
  readonly id?: string | undefined;
  readonly occurred_at?: string | undefined;
}

/** Adds an event at the end of the list. @param partnerId who may see it; null: everyone who may read the resource */
export function recordEvent(city: City, fields: EventFields, partnerId: string | null = null): void {
  const { id = city.nextId("event"), event, occurred_at = instant(city.now()), data } = fields;
  // The type is asserted, because the name may be unknown.
  const shown = { id, event, occurred_at, data: structuredClone(data) } as unknown as EventRecord;
  city.events.push({ shown, recordedAt: city.now(), partnerId });
}

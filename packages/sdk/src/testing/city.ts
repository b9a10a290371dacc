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

/** Milliseconds since 1970. */
export type Clock = () => number;

/** Who a key, and a reservation, belongs to. */
export interface FakePartner {
  readonly id: string;
  readonly name: string;
}

export interface StationRecord {
  readonly shown: Station;
  /** Whether its counters were given, as a feed gives them. Otherwise they are counted from its bikes. */
  readonly areCountersGiven: boolean;
  /** The free docks that were given last, and the bikes that stood there then; null: none were given. */
  readonly docksBase: number | null;
  readonly wasInstalled: boolean;
}

/** What decides how a bike is shown. */
export interface BikeRecord {
  /** As it would be shown if nobody rode or held it. */
  readonly reported: Bike;
  readonly ride_id: string | null;
  readonly reservation_id: string | null;
}

/** An event, and who may see it. */
interface RecordedEvent {
  readonly shown: EventRecord;
  readonly recordedAt: number;
  /** Null: everyone who may read the resource. */
  readonly partnerId: string | null;
}

/** Everything that a fake knows of its city. Only the functions of this folder change it. */
export type City = ReturnType<typeof createCity>;

/**
 * @param partner whose reservations are made where nobody says whose
 * @param maxReservations active reservations that each partner may have at once
 */
export function createCity(now: Clock, partner: FakePartner, maxReservations: number) {
  let made = 0;
  return {
    now,
    partner,
    maxReservations,
    /** A new id: `ride_000001`. */
    nextId: (prefix: string) => `${prefix}_${String(++made).padStart(6, "0")}`,
    stations: new RecordedStations<StationRecord>(now),
    bikes: new Map<string, BikeRecord>(),
    /** Those that were described. */
    vehicleTypes: new Map<string, VehicleType>(),
    /** Those that were named. */
    regions: new Map<string, Region>(),
    alerts: new Map<string, Alert>(),
    exports: new Map<string, Export>(),
    deliveries: new Map<string, { readonly partnerId: string; readonly shown: DeliveryDetail }>(),
    /** The stations that were taken offline with alerts, by the alerts' ids. */
    closures: new Map<string, string>(),
    rides: new Map<string, Ride>(),
    reservations: new Map<string, Reservation>(),
    /** Whose each reservation is: the partner's id by the reservation's. */
    reservationOwners: new Map<string, string>(),
    /** Oldest first. */
    events: new Array<RecordedEvent>(),
    changes: createChangeLog(),
  };
}

/** An instant as it stands on the wire: of milliseconds since 1970, or of a text. */
export function instant(at: number | string): string {
  return new Date(at).toISOString();
}

/** An event as it is described. What is left out is filled in. */
export interface EventFields {
  /** One of the names, or any other, to see what your program does about an event that it does not know. */
  readonly event: string;
  readonly data: object;
  readonly id?: string | undefined;
  readonly occurred_at?: string | undefined;
}

/** Puts an event at the end of the list. @param partnerId who may see it; null: everyone who may read the resource */
export function recordEvent(city: City, fields: EventFields, partnerId: string | null = null): void {
  const { id = city.nextId("event"), event, occurred_at = instant(city.now()), data } = fields;
  // The name may be one that nobody knows yet.
  const shown = { id, event, occurred_at, data: structuredClone(data) } as unknown as EventRecord;
  city.events.push({ shown, recordedAt: city.now(), partnerId });
}

import type {
  Bike,
  EventName,
  EventRecord,
  KnownEventRecord,
  Region,
  Reservation,
  Ride,
  Scope,
  Station,
  VehicleType,
} from "../json-types.generated.ts";
import { EVENT_RETENTION_DAYS, isScope, scopeOfEvent } from "./rules.ts";

/** Milliseconds since 1970. */
export type Clock = () => number;

/** Who a key, and a reservation, belongs to. */
export interface FakePartner {
  readonly id: string;
  readonly name: string;
}

/** Everything that a fake knows of its city. Only the functions of this folder change it. */
export interface City {
  readonly now: Clock;
  /** A new id: `ride_000001`. */
  readonly nextId: (prefix: string) => string;
  /** Whose reservations are made where nobody says whose. */
  readonly partner: FakePartner;
  /** Active reservations that each partner may have at once. */
  readonly maxReservations: number;
  readonly stations: Map<string, StationRecord>;
  readonly bikes: Map<string, BikeRecord>;
  /** Those that were described. */
  readonly vehicleTypes: Map<string, VehicleType>;
  /** Those that were named. */
  readonly regions: Map<string, Region>;
  readonly rides: Map<string, Ride>;
  readonly reservations: Map<string, ReservationRecord>;
  /** Oldest first. */
  readonly events: RecordedEvent[];
}

export interface StationRecord {
  shown: Station;
  /** Whether its counters were given, as a feed gives them, rather than counted from its bikes. */
  readonly isMirrored: boolean;
  wasInstalled: boolean;
}

/** What decides how a bike is shown. */
export interface BikeRecord {
  /** As it would be shown if nobody rode or held it. */
  readonly reported: Bike;
  readonly ride_id: string | null;
  readonly reservation_id: string | null;
}

/** A reservation, and whose it is. */
export interface ReservationRecord {
  readonly partnerId: string;
  readonly shown: Reservation;
}

/** An event, and who may see it. */
export interface RecordedEvent {
  readonly shown: EventRecord;
  /** Its number, counted from 1: its position in the list. */
  readonly position: number;
  readonly recordedAt: number;
  /** Null: everyone who may read the resource. */
  readonly partnerId: string | null;
}

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

/** An instant as it stands on the wire: of milliseconds since 1970, of a text, or of now. */
export function instant(at: number | string): string {
  return new Date(at).toISOString();
}

/** Records that something happened. */
export function recordEvent<Name extends EventName>(
  city: City,
  event: Name,
  data: Extract<KnownEventRecord, { event: Name }>["data"],
  occurredAt: string = instant(city.now()),
  partnerId: string | null = null,
): void {
  const record = { id: city.nextId("event"), event, occurred_at: occurredAt, data: structuredClone(data) };
  addEvent(city, record as unknown as EventRecord, partnerId); // `data` is what an event of this name carries
}

/** Puts an event at the end of the list. */
export function addEvent(city: City, shown: EventRecord, partnerId: string | null): void {
  const position = (city.events.at(-1)?.position ?? 0) + 1;
  city.events.push({ shown, position, recordedAt: city.now(), partnerId });
}

/** The events that are still kept and that a key lets its partner see, oldest first. */
export function visibleEvents({ events, now }: City, partnerId: string, scopes: readonly Scope[]): RecordedEvent[] {
  const oldest = now() - EVENT_RETENTION_DAYS * 86_400_000;
  return events.filter(({ recordedAt, partnerId: owner, shown }) => {
    const scope = scopeOfEvent(shown.event);
    // Of a resource that is newer than this package there is no scope to ask for.
    const isReadable = !isScope(scope) || scopes.includes(scope);
    return recordedAt > oldest && (owner === null || owner === partnerId) && isReadable;
  });
}

/** A vehicle type as it is described. What is left out stays as it was, or is not known. */
export type VehicleTypeFields = Partial<VehicleType> & Pick<VehicleType, "id">;

export function putVehicleType({ vehicleTypes }: City, fields: VehicleTypeFields): void {
  vehicleTypes.set(fields.id, { ...(vehicleTypes.get(fields.id) ?? newVehicleType(fields.id)), ...fields });
}

/** Every vehicle type that is described, or that a station, a bike or a ride names. */
export function vehicleTypesIn({ vehicleTypes, stations, bikes, rides }: City): VehicleType[] {
  const ids = new Set([
    ...vehicleTypes.keys(),
    ...[...stations.values()].flatMap(({ shown }) => shown.vehicle_types_available.map((type) => type.vehicle_type_id)),
    ...[...bikes.values()].map(({ reported }) => reported.vehicle_type_id),
    ...[...rides.values()].map((ride) => ride.vehicle_type_id),
  ]);
  return [...ids].flatMap((id) => (id === null ? [] : (vehicleTypes.get(id) ?? newVehicleType(id))));
}

/** Every region that is named, or that a station is in. */
export function regionsIn({ regions, stations }: City): Region[] {
  const ids = new Set([...regions.keys(), ...[...stations.values()].map(({ shown }) => shown.region_id)]);
  return [...ids].flatMap((id) => (id === null ? [] : (regions.get(id) ?? { id, name: id })));
}

function newVehicleType(id: string): VehicleType {
  return { id, name: null, form_factor: null, propulsion_type: null, max_range_meters: null };
}

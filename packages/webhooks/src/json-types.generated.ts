// What deliveries carry, as types.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

/** Values of a set that grows: those known today, and any other. */
export type Open<Known extends string> = Known | (string & {});

/** The states of a station. */
export type StationStatus = "planned" | "online" | "offline" | "removed";

/** Why a station is offline. */
export type OfflineReason = "flags" | "operator" | "removed_from_source" | "stale";

/** A place where bikes are rented and returned: its description and its present state in one object. */
export interface Station {
  /** The operator's own station id: stable, never reused */
  id: string;
  name: string;
  short_name: string | null;
  /** WGS 84 degrees */
  lat: number;
  /** WGS 84 degrees */
  lon: number;
  address: string | null;
  /** The station's region, listed at `/v1/regions`; null: none */
  region_id: string | null;
  /** Total number of docks, as published; may differ from the sum of the counts */
  capacity: number | null;
  /** True: a marked area without docks */
  is_virtual_station: boolean;
  is_installed: boolean;
  is_renting: boolean;
  is_returning: boolean;
  /** Bikes that can be rented or reserved now */
  num_bikes_available: number;
  /** Bikes held by reservations */
  num_bikes_reserved: number;
  num_bikes_disabled: number | null;
  /** As published, never derived from `capacity`; null: not published */
  num_docks_available: number | null;
  num_docks_disabled: number | null;
  /** Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type */
  vehicle_types_available: Array<{
    vehicle_type_id: string;
    count: number;
  }>;
  /** `planned` → `online` ⇄ `offline` → `removed` */
  status: Open<StationStatus>;
  /** Why the station is offline */
  offline_reason: Open<OfflineReason> | null;
  /** When the station itself last reported; null: not known */
  last_reported: string | null;
  /** When this object last changed */
  updated_at: string;
}

/** The states of a ride. */
export type RideStatus = "started" | "completed" | "cancelled";

/** How a ride ended. */
export type EndReason = "returned" | "free_floating" | "operator" | "timeout" | "cancelled";

/** Kinds of riders. */
export type RiderCategory = "member" | "casual";

/** A bike's trip from start to end. Who rode is never shown. */
export interface Ride {
  id: string;
  bike_id: string;
  /** `started` → `completed` or `cancelled`, both final */
  status: Open<RideStatus>;
  /** Null when the ride began outside a station */
  start_station_id: string | null;
  /** Null until the end, and when the ride ended outside a station */
  end_station_id: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  started_at: string;
  /** RFC 3339 instant in UTC, to the millisecond */
  ended_at: string | null;
  duration_seconds: number | null;
  distance_meters: number | null;
  vehicle_type_id: string | null;
  rider_category: Open<RiderCategory> | null;
  end_reason: Open<EndReason> | null;
  /** Whether the ride lasted 60 s or more */
  is_countable: boolean | null;
  /** When this object last changed */
  updated_at: string;
}

/** The states of a reservation. */
export type ReservationStatus = "active" | "fulfilled" | "cancelled" | "expired";

/** Who or what cancelled a reservation. */
export type CancelReason = "partner" | "operator" | "bike_unavailable";

/** A bike that is held for one of your riders. You see only your own reservations. */
export interface Reservation {
  id: string;
  /** `active` → `fulfilled`, `cancelled` or `expired`, all final */
  status: Open<ReservationStatus>;
  /** The station where the bike stands; null: outside a station */
  station_id: string | null;
  /** The bike, which is assigned when the reservation is made */
  bike_id: string;
  vehicle_type_id: string | null;
  /** Your own reference for the rider, which the service does not interpret; null: none */
  rider_ref: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  created_at: string;
  /** At this instant, to the second, a reservation that is still `active` becomes `expired` */
  expires_at: string;
  /** RFC 3339 instant in UTC, to the millisecond */
  cancelled_at: string | null;
  cancel_reason: Open<CancelReason> | null;
  /** The ride that fulfilled the reservation; null: none */
  ride_id: string | null;
  /** When the ride `ride_id` was cancelled because it did not take place; null: it was not */
  ride_cancelled_at: string | null;
  /** When this object last changed */
  updated_at: string;
}

/** The states of a bike, in the words of MDS 2.0. */
export type VehicleState = "available" | "reserved" | "on_trip" | "non_operational" | "non_contactable" | "missing" | "removed";

/** A bike, or another vehicle that is shared the same way. */
export interface Bike {
  id: string;
  /** The number or name painted on the bike; null: not known */
  number: string | null;
  /** The bike's type, listed at `/v1/vehicle_types`; null: not known */
  vehicle_type_id: string | null;
  vehicle_state: Open<VehicleState>;
  /** The station where the bike stands; null: outside a station, or on a trip */
  station_id: string | null;
  /** WGS 84 degrees; null: on a trip, or not known */
  lat: number | null;
  /** WGS 84 degrees; null: on a trip, or not known */
  lon: number | null;
  current_range_meters: number | null;
  /** When the bike itself last reported; null: not known */
  last_reported: string | null;
  /** When this object last changed */
  updated_at: string;
}

/** What alerts are about, in the words of GBFS. */
export type AlertType = "system_closure" | "station_closure" | "station_move" | "other";

/** What riders should know: a closure, a move, a disturbance. */
export interface Alert {
  id: string;
  /** What the alert is about */
  type: Open<AlertType>;
  /** One line for riders, in the system's main language if available */
  summary: string;
  /** Details for riders; null: none */
  description: string | null;
  /** Address of a page with details; null: none */
  url: string | null;
  /** When the alert applies, perhaps in the future; empty: until further notice. The alert ends when all periods are over */
  times: Array<{
    /** Null: the period has begun already */
    start: string | null;
    /** Null: the end is not known */
    end: string | null;
  }>;
  /** Stations that the alert is about. Both `station_ids` and `region_ids` empty: the whole system */
  station_ids: string[];
  /** Regions that the alert is about */
  region_ids: string[];
  /** When the alert was opened, which may be before its `times` */
  opened_at: string;
  /** Null while the alert is open */
  ended_at: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  updated_at: string;
}

/** What can be delivered today. More are added over time: accept unknown ones. */
export type EventName = "ride.started" | "ride.completed" | "ride.cancelled" | "ride.corrected" | "station.offline" | "station.online" | "reservation.created" | "reservation.cancelled" | "reservation.expired" | "reservation.fulfilled" | "alert.opened" | "alert.ended" | "station.below_threshold" | "station.back_to_normal" | "station.updated" | "bike.state_changed";

export interface RideStartedDelivery {
  event: "ride.started";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike's trip from start to end. Who rode is never shown. */
  data: Ride;
}

export interface RideCompletedDelivery {
  event: "ride.completed";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike's trip from start to end. Who rode is never shown. */
  data: Ride;
}

export interface RideCancelledDelivery {
  event: "ride.cancelled";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike's trip from start to end. Who rode is never shown. */
  data: Ride;
}

export interface RideCorrectedDelivery {
  event: "ride.corrected";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike's trip from start to end. Who rode is never shown. */
  data: Ride;
}

export interface StationOfflineDelivery {
  event: "station.offline";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface StationOnlineDelivery {
  event: "station.online";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface ReservationCreatedDelivery {
  event: "reservation.created";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for one of your riders. You see only your own reservations. */
  data: Reservation;
}

export interface ReservationCancelledDelivery {
  event: "reservation.cancelled";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for one of your riders. You see only your own reservations. */
  data: Reservation;
}

export interface ReservationExpiredDelivery {
  event: "reservation.expired";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for one of your riders. You see only your own reservations. */
  data: Reservation;
}

export interface ReservationFulfilledDelivery {
  event: "reservation.fulfilled";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for one of your riders. You see only your own reservations. */
  data: Reservation;
}

export interface AlertOpenedDelivery {
  event: "alert.opened";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** What riders should know: a closure, a move, a disturbance. */
  data: Alert;
}

export interface AlertEndedDelivery {
  event: "alert.ended";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** What riders should know: a closure, a move, a disturbance. */
  data: Alert;
}

export interface StationBelowThresholdDelivery {
  event: "station.below_threshold";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A station, and the threshold that it crossed. */
  data: {
    /** The operator's own station id: stable, never reused */
    id: string;
    name: string;
    short_name: string | null;
    /** WGS 84 degrees */
    lat: number;
    /** WGS 84 degrees */
    lon: number;
    address: string | null;
    /** The station's region, listed at `/v1/regions`; null: none */
    region_id: string | null;
    /** Total number of docks, as published; may differ from the sum of the counts */
    capacity: number | null;
    /** True: a marked area without docks */
    is_virtual_station: boolean;
    is_installed: boolean;
    is_renting: boolean;
    is_returning: boolean;
    /** Bikes that can be rented or reserved now */
    num_bikes_available: number;
    /** Bikes held by reservations */
    num_bikes_reserved: number;
    num_bikes_disabled: number | null;
    /** As published, never derived from `capacity`; null: not published */
    num_docks_available: number | null;
    num_docks_disabled: number | null;
    /** Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type */
    vehicle_types_available: Array<{
      vehicle_type_id: string;
      count: number;
    }>;
    /** `planned` → `online` ⇄ `offline` → `removed` */
    status: Open<StationStatus>;
    /** Why the station is offline */
    offline_reason: Open<OfflineReason> | null;
    /** When the station itself last reported; null: not known */
    last_reported: string | null;
    /** When this object last changed */
    updated_at: string;
    /** The threshold of your endpoint that the station crossed. */
    threshold: {
      /** `num_bikes_available` or `num_docks_available` */
      count: Open<"bikes" | "docks">;
      /** A station with fewer has too few */
      fewer_than: number;
      /** Minutes for which the station must have too few, without interruption */
      for_minutes: number;
      /** Since when the station has or had too few; the same in `station.below_threshold` and `station.back_to_normal` */
      below_since: string;
    };
  };
}

export interface StationBackToNormalDelivery {
  event: "station.back_to_normal";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A station, and the threshold that it crossed. */
  data: {
    /** The operator's own station id: stable, never reused */
    id: string;
    name: string;
    short_name: string | null;
    /** WGS 84 degrees */
    lat: number;
    /** WGS 84 degrees */
    lon: number;
    address: string | null;
    /** The station's region, listed at `/v1/regions`; null: none */
    region_id: string | null;
    /** Total number of docks, as published; may differ from the sum of the counts */
    capacity: number | null;
    /** True: a marked area without docks */
    is_virtual_station: boolean;
    is_installed: boolean;
    is_renting: boolean;
    is_returning: boolean;
    /** Bikes that can be rented or reserved now */
    num_bikes_available: number;
    /** Bikes held by reservations */
    num_bikes_reserved: number;
    num_bikes_disabled: number | null;
    /** As published, never derived from `capacity`; null: not published */
    num_docks_available: number | null;
    num_docks_disabled: number | null;
    /** Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type */
    vehicle_types_available: Array<{
      vehicle_type_id: string;
      count: number;
    }>;
    /** `planned` → `online` ⇄ `offline` → `removed` */
    status: Open<StationStatus>;
    /** Why the station is offline */
    offline_reason: Open<OfflineReason> | null;
    /** When the station itself last reported; null: not known */
    last_reported: string | null;
    /** When this object last changed */
    updated_at: string;
    /** The threshold of your endpoint that the station crossed. */
    threshold: {
      /** `num_bikes_available` or `num_docks_available` */
      count: Open<"bikes" | "docks">;
      /** A station with fewer has too few */
      fewer_than: number;
      /** Minutes for which the station must have too few, without interruption */
      for_minutes: number;
      /** Since when the station has or had too few; the same in `station.below_threshold` and `station.back_to_normal` */
      below_since: string;
    };
  };
}

export interface StationUpdatedDelivery {
  event: "station.updated";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface BikeStateChangedDelivery {
  event: "bike.state_changed";
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike, or another vehicle that is shared the same way. */
  data: Bike;
}

/** What UnknownDelivery is called. At run time any text: the type is a text that no known name equals, because comparing `event` with a known name could otherwise not tell what `data` holds. */
export type UnknownDeliveryName = `(unknown) ${string}`;

/** One whose name is newer than this package: pass over it. */
export interface UnknownDelivery {
  event: UnknownDeliveryName;
  /** The same in all attempts, so that a receiver can ignore repeats */
  delivery_id: string;
  /** When the event happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  data: unknown;
}

/** Those known today, distinguished by `event`. */
export type KnownDelivery =
  | RideStartedDelivery
  | RideCompletedDelivery
  | RideCancelledDelivery
  | RideCorrectedDelivery
  | StationOfflineDelivery
  | StationOnlineDelivery
  | ReservationCreatedDelivery
  | ReservationCancelledDelivery
  | ReservationExpiredDelivery
  | ReservationFulfilledDelivery
  | AlertOpenedDelivery
  | AlertEndedDelivery
  | StationBelowThresholdDelivery
  | StationBackToNormalDelivery
  | StationUpdatedDelivery
  | BikeStateChangedDelivery;

/** The body of a delivery. Compare `event` with a name to know what `data` holds. */
export type Delivery = KnownDelivery | UnknownDelivery;

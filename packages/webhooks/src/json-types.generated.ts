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
  /** One of `/v1/regions` */
  region_id: string | null;
  /** Docks in all, as published; not the sum of the counts */
  capacity: number | null;
  /** A marked area without docks */
  is_virtual_station: boolean;
  is_installed: boolean;
  is_renting: boolean;
  is_returning: boolean;
  /** Bikes that can be rented or reserved now */
  num_bikes_available: number;
  /** Bikes held by reservations */
  num_bikes_reserved: number;
  num_bikes_disabled: number | null;
  /** As published; never derived from capacity */
  num_docks_available: number | null;
  num_docks_disabled: number | null;
  /** Bikes available, by vehicle type. The counts add up to `num_bikes_available`, less the bikes whose type is not known */
  vehicle_types_available: Array<{
    vehicle_type_id: string;
    count: number;
  }>;
  /** `planned` → `online` ⇄ `offline` → `removed` */
  status: Open<StationStatus>;
  /** Why the station is offline */
  offline_reason: Open<OfflineReason> | null;
  /** When the station itself last reported */
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

/** One bike's way from start to end. Who rode is never part of it. */
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

/** A bike that is held for a rider of yours. You see your own reservations only. */
export interface Reservation {
  id: string;
  /** `active` → `fulfilled`, `cancelled` or `expired`, all final */
  status: Open<ReservationStatus>;
  /** Where the bike stands; null outside a station */
  station_id: string | null;
  /** Assigned at once */
  bike_id: string;
  vehicle_type_id: string | null;
  /** Your own mark for the rider; it means nothing to us */
  rider_ref: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  created_at: string;
  /** From this instant on the reservation is `expired`, to the second */
  expires_at: string;
  /** RFC 3339 instant in UTC, to the millisecond */
  cancelled_at: string | null;
  cancel_reason: Open<CancelReason> | null;
  /** The ride that fulfilled it */
  ride_id: string | null;
  /** When that ride was cancelled, because it did not come about; null when it was not */
  ride_cancelled_at: string | null;
  /** When this object last changed */
  updated_at: string;
}

/** The states of a bike, in the words of MDS 2.0. */
export type VehicleState = "available" | "reserved" | "on_trip" | "non_operational" | "non_contactable" | "missing" | "removed";

/** A bike, or another vehicle that is shared the same way. */
export interface Bike {
  id: string;
  /** What is painted on the bike */
  number: string | null;
  /** One of `/v1/vehicle_types` */
  vehicle_type_id: string | null;
  vehicle_state: Open<VehicleState>;
  /** The station where it stands; null elsewhere and while on a trip */
  station_id: string | null;
  /** WGS 84 degrees; null while on a trip */
  lat: number | null;
  /** WGS 84 degrees; null while on a trip */
  lon: number | null;
  current_range_meters: number | null;
  /** When the bike itself last reported */
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
  /** One line for riders, in the system's main language where there is one in it */
  summary: string;
  /** More of it */
  description: string | null;
  /** A page with more of it */
  url: string | null;
  /** When it applies, also in the future; empty: until further notice. The alert ends when all are over */
  times: Array<{
    /** Null: it has begun */
    start: string | null;
    /** Null: it is not known */
    end: string | null;
  }>;
  /** The stations that it is about; empty, as `region_ids`: the whole system */
  station_ids: string[];
  /** The regions that it is about */
  region_ids: string[];
  /** When it became known: an alert may be open before what it tells of begins */
  opened_at: string;
  /** Null while it is open */
  ended_at: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  updated_at: string;
}

/** What can be delivered today. More are added over time: accept unknown ones. */
export type EventName = "ride.started" | "ride.completed" | "ride.cancelled" | "ride.corrected" | "station.offline" | "station.online" | "reservation.created" | "reservation.cancelled" | "reservation.expired" | "reservation.fulfilled" | "alert.opened" | "alert.ended" | "station.below_threshold" | "station.back_to_normal" | "station.updated" | "bike.state_changed";

export interface RideStartedDelivery {
  event: "ride.started";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface RideCompletedDelivery {
  event: "ride.completed";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface RideCancelledDelivery {
  event: "ride.cancelled";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface RideCorrectedDelivery {
  event: "ride.corrected";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface StationOfflineDelivery {
  event: "station.offline";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface StationOnlineDelivery {
  event: "station.online";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface ReservationCreatedDelivery {
  event: "reservation.created";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface ReservationCancelledDelivery {
  event: "reservation.cancelled";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface ReservationExpiredDelivery {
  event: "reservation.expired";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface ReservationFulfilledDelivery {
  event: "reservation.fulfilled";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface AlertOpenedDelivery {
  event: "alert.opened";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** What riders should know: a closure, a move, a disturbance. */
  data: Alert;
}

export interface AlertEndedDelivery {
  event: "alert.ended";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** What riders should know: a closure, a move, a disturbance. */
  data: Alert;
}

export interface StationBelowThresholdDelivery {
  event: "station.below_threshold";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
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
    /** One of `/v1/regions` */
    region_id: string | null;
    /** Docks in all, as published; not the sum of the counts */
    capacity: number | null;
    /** A marked area without docks */
    is_virtual_station: boolean;
    is_installed: boolean;
    is_renting: boolean;
    is_returning: boolean;
    /** Bikes that can be rented or reserved now */
    num_bikes_available: number;
    /** Bikes held by reservations */
    num_bikes_reserved: number;
    num_bikes_disabled: number | null;
    /** As published; never derived from capacity */
    num_docks_available: number | null;
    num_docks_disabled: number | null;
    /** Bikes available, by vehicle type. The counts add up to `num_bikes_available`, less the bikes whose type is not known */
    vehicle_types_available: Array<{
      vehicle_type_id: string;
      count: number;
    }>;
    /** `planned` → `online` ⇄ `offline` → `removed` */
    status: Open<StationStatus>;
    /** Why the station is offline */
    offline_reason: Open<OfflineReason> | null;
    /** When the station itself last reported */
    last_reported: string | null;
    /** When this object last changed */
    updated_at: string;
    /** The threshold of your endpoint that the station crossed. */
    threshold: {
      /** `num_bikes_available` or `num_docks_available` */
      count: Open<"bikes" | "docks">;
      /** Below it the station has too few */
      fewer_than: number;
      /** For so long without interruption */
      for_minutes: number;
      /** Since when the station had fewer; the same in `station.below_threshold` and `station.back_to_normal` */
      below_since: string;
    };
  };
}

export interface StationBackToNormalDelivery {
  event: "station.back_to_normal";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
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
    /** One of `/v1/regions` */
    region_id: string | null;
    /** Docks in all, as published; not the sum of the counts */
    capacity: number | null;
    /** A marked area without docks */
    is_virtual_station: boolean;
    is_installed: boolean;
    is_renting: boolean;
    is_returning: boolean;
    /** Bikes that can be rented or reserved now */
    num_bikes_available: number;
    /** Bikes held by reservations */
    num_bikes_reserved: number;
    num_bikes_disabled: number | null;
    /** As published; never derived from capacity */
    num_docks_available: number | null;
    num_docks_disabled: number | null;
    /** Bikes available, by vehicle type. The counts add up to `num_bikes_available`, less the bikes whose type is not known */
    vehicle_types_available: Array<{
      vehicle_type_id: string;
      count: number;
    }>;
    /** `planned` → `online` ⇄ `offline` → `removed` */
    status: Open<StationStatus>;
    /** Why the station is offline */
    offline_reason: Open<OfflineReason> | null;
    /** When the station itself last reported */
    last_reported: string | null;
    /** When this object last changed */
    updated_at: string;
    /** The threshold of your endpoint that the station crossed. */
    threshold: {
      /** `num_bikes_available` or `num_docks_available` */
      count: Open<"bikes" | "docks">;
      /** Below it the station has too few */
      fewer_than: number;
      /** For so long without interruption */
      for_minutes: number;
      /** Since when the station had fewer; the same in `station.below_threshold` and `station.back_to_normal` */
      below_since: string;
    };
  };
}

export interface StationUpdatedDelivery {
  event: "station.updated";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
  occurred_at: string;
  /** When this attempt was sent */
  sent_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface BikeStateChangedDelivery {
  event: "bike.state_changed";
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
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
  /** The same over all attempts, so that a receiver can drop repeats */
  delivery_id: string;
  /** When the thing happened */
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

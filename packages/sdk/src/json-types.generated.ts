// The types of the API's JSON.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

import type { Alert, AlertType, Bike, CancelReason, EndReason, OfflineReason, Open, Reservation, ReservationStatus, Ride, RideStatus, RiderCategory, Station, StationStatus, VehicleState } from "./webhooks.ts";

export type { Alert, AlertType, Bike, CancelReason, EndReason, OfflineReason, Open, Reservation, ReservationStatus, Ride, RideStatus, RiderCategory, Station, StationStatus, VehicleState };

/** The names of events known today. More are added over time: accept unknown ones. */
export type EventName = "ride.started" | "ride.completed" | "ride.cancelled" | "ride.corrected" | "station.offline" | "station.online" | "reservation.created" | "reservation.cancelled" | "reservation.expired" | "reservation.fulfilled" | "alert.opened" | "alert.ended" | "station.below_threshold" | "station.back_to_normal";

export interface RideStartedEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "ride.started";
  /** When the thing happened */
  occurred_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface RideCompletedEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "ride.completed";
  /** When the thing happened */
  occurred_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface RideCancelledEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "ride.cancelled";
  /** When the thing happened */
  occurred_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface RideCorrectedEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "ride.corrected";
  /** When the thing happened */
  occurred_at: string;
  /** One bike's way from start to end. Who rode is never part of it. */
  data: Ride;
}

export interface StationOfflineEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "station.offline";
  /** When the thing happened */
  occurred_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface StationOnlineEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "station.online";
  /** When the thing happened */
  occurred_at: string;
  /** A place where bikes are rented and returned: its description and its present state in one object. */
  data: Station;
}

export interface ReservationCreatedEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "reservation.created";
  /** When the thing happened */
  occurred_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface ReservationCancelledEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "reservation.cancelled";
  /** When the thing happened */
  occurred_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface ReservationExpiredEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "reservation.expired";
  /** When the thing happened */
  occurred_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface ReservationFulfilledEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "reservation.fulfilled";
  /** When the thing happened */
  occurred_at: string;
  /** A bike that is held for a rider of yours. You see your own reservations only. */
  data: Reservation;
}

export interface AlertOpenedEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "alert.opened";
  /** When the thing happened */
  occurred_at: string;
  /** What riders should know: a closure, a move, a disturbance. */
  data: Alert;
}

export interface AlertEndedEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "alert.ended";
  /** When the thing happened */
  occurred_at: string;
  /** What riders should know: a closure, a move, a disturbance. */
  data: Alert;
}

export interface StationBelowThresholdEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "station.below_threshold";
  /** When the thing happened */
  occurred_at: string;
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

export interface StationBackToNormalEvent {
  /** The same for good, so that you can drop what you have seen */
  id: string;
  event: "station.back_to_normal";
  /** When the thing happened */
  occurred_at: string;
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

/** What UnknownEvent is called. At run time any text: the type is a text that no known name equals, because comparing `event` with a known name could otherwise not tell what `data` holds. */
export type UnknownEventName = `(unknown) ${string}`;

/** One whose name is newer than this package: pass over it. */
export interface UnknownEvent {
  event: UnknownEventName;
  /** The same for good, so that you can drop what you have seen */
  id: string;
  /** When the thing happened */
  occurred_at: string;
  data: unknown;
}

/** Those known today, distinguished by `event`. */
export type KnownEventRecord =
  | RideStartedEvent
  | RideCompletedEvent
  | RideCancelledEvent
  | RideCorrectedEvent
  | StationOfflineEvent
  | StationOnlineEvent
  | ReservationCreatedEvent
  | ReservationCancelledEvent
  | ReservationExpiredEvent
  | ReservationFulfilledEvent
  | AlertOpenedEvent
  | AlertEndedEvent
  | StationBelowThresholdEvent
  | StationBackToNormalEvent;

/** Something that happened. Compare `event` with a name to know what `data` holds. */
export type EventRecord = KnownEventRecord | UnknownEvent;

/** What a key may be allowed. */
export type Scope = "stations:read" | "history:read" | "rides:read" | "bikes:read" | "reservations:read" | "reservations:write" | "exports:read" | "events:read" | "deliveries:read" | "deliveries:write";

/** What vehicles look like, in the words of GBFS. */
export type FormFactor = "bicycle" | "cargo_bicycle" | "car" | "moped" | "scooter_standing" | "scooter_seated" | "other";

/** What moves vehicles, in the words of GBFS. */
export type PropulsionType = "human" | "electric_assist" | "electric" | "combustion" | "combustion_diesel" | "hybrid" | "plug_in_hybrid" | "hydrogen_fuel_cell";

/** A kind of vehicle. Ids that nobody has described are listed too, with null for what is not known. */
export interface VehicleType {
  /** What `vehicle_type_id` of stations, bikes, rides and reservations names */
  id: string;
  /** What riders call it */
  name: string | null;
  /** As in GBFS; null where nobody has said it */
  form_factor: Open<FormFactor> | null;
  /** As in GBFS; null where nobody has said it */
  propulsion_type: Open<PropulsionType> | null;
  /** How far it goes when fully charged or fuelled */
  max_range_meters: number | null;
}

/** A part of the city to which stations belong. */
export interface Region {
  /** What `region_id` of stations names */
  id: string;
  /** The id where nobody has given it a name */
  name: string;
}

/** Lengths of a step of a summary. */
export type SummaryStepLength = "PT15M" | "PT1H" | "P1D";

/** Bikes by state. Null: it is not known for this time. */
export interface FleetByState {
  /** Ready to be rented */
  available: number | null;
  /** Held for a rider */
  reserved: number | null;
  /** On a ride */
  on_trip: number | null;
  /** Out of order, or out of reach */
  disabled: number | null;
  /** Not found where they should be */
  missing: number | null;
}

/** What happened in one step of time. */
export interface SummaryStep {
  /** RFC 3339 instant in UTC, to the millisecond */
  from: string;
  /** The end, which the next step begins with */
  to: string;
  /** Cancelled rides left out; null: not summed yet, or no longer kept */
  rides_started: number | null;
  rides_ended: number | null;
  /** The mean over the step; null: nothing was recorded in it */
  fleet: FleetByState | null;
  /** The mean over the step; null: nothing was recorded in it */
  stations: {
    /** Renting or taking bikes back */
    online: number;
    /** Online without a bike to rent */
    empty: number;
    /** Online without a free dock */
    full: number;
    offline: number;
  } | null;
}

/** Fleet, rides and stations of a system over time. */
export interface SystemSummary {
  step: Open<SummaryStepLength>;
  /** The system's time zone, in which days begin and end */
  time_zone: string;
  /** What happened before this is in the numbers; null: nothing has been summed yet */
  summed_to: string | null;
  /** Every step, oldest first, also those without rides */
  data: SummaryStep[];
}

/** Rides between two stations. */
export interface Flow {
  start_station_id: string;
  /** The same as `start_station_id` for rides that came back */
  end_station_id: string;
  /** Completed rides that started on these days */
  rides: number;
}

/** One page of flows. */
export interface FlowList {
  /** A day in the system's time zone, such as `2026-03-14` */
  from: string;
  /** A day in the system's time zone, such as `2026-03-14` */
  to: string;
  /** The system's time zone, in which days begin and end */
  time_zone: string;
  /** What happened before this is in the numbers; null: nothing has been summed yet */
  summed_to: string | null;
  /** By `start_station_id`, then `end_station_id`; may be empty before the last page */
  data: Flow[];
  /** Pairs with fewer than 5 rides, which could show one person's way, and their rides: those that lie between the page before and this one in the order of the list. Add up all pages for the whole */
  left_out: {
    pairs: number;
    rides: number;
  };
  /** Opaque marker of the next page; absent when the list is finished */
  next_cursor?: string;
}

/** Kinds of days. */
export type DayKind = "weekday" | "weekend";

/** A usual day of a station, by kind of day. */
export interface StationTypical {
  station_id: string;
  /** The system's time zone, in which days begin and end */
  time_zone: string;
  /** False: too few days are known yet */
  is_ready: boolean;
  /** Days of the station that are known */
  days_known: number;
  /** The first hour that is known; null: none is */
  since: string | null;
  /** When enough will be known if nothing is missed; null once it is ready */
  ready_at: string | null;
  /** Empty until 21 days are known */
  data: Array<{
    kind: Open<DayKind>;
    /** Days that the numbers come from */
    days: number;
    /** 96, from midnight on */
    quarters: Array<{
      /** When the quarter of an hour begins, in the system's time zone, such as `08:15` */
      time: string;
      /** Null: the station was never online then */
      bikes: {
        /** The 10th percentile: 9 of 10 days had at least so many */
        low: number;
        median: number;
        /** The 90th percentile: 9 of 10 days had at most so many */
        high: number;
      } | null;
      /** Null: free docks are not published */
      docks: {
        /** The 10th percentile: 9 of 10 days had at least so many */
        low: number;
        median: number;
        /** The 90th percentile: 9 of 10 days had at most so many */
        high: number;
      } | null;
      /** Share of the days on which it had no bike */
      empty: number | null;
      /** Share of the days on which it had no free dock */
      full: number | null;
    }>;
  }>;
}

/** How far ahead a forecast may look. */
export type ForecastHorizon = "PT15M" | "PT30M" | "PT45M" | "PT1H" | "PT2H";

/** What a station is expected to have in a while. */
export interface StationForecast {
  station_id: string;
  /** RFC 3339 instant in UTC, to the millisecond */
  made_at: string;
  /** When it is expected */
  for: string;
  horizon: Open<ForecastHorizon>;
  /** False: too few days are known yet */
  is_ready: boolean;
  /** Days of the station that are known */
  days_known: number;
  /** The first hour that is known; null: none is */
  since: string | null;
  /** When enough will be known if nothing is missed; null once it is ready */
  ready_at: string | null;
  /** `change`: from how the station changed from this time of the day on, on such days; `as_now`: it is taken to stay as it is, because that has been no worse here, or too few days are known */
  method: Open<"change" | "as_now">;
  bikes: {
    /** The 10th percentile: 9 of 10 days had at least so many */
    low: number;
    median: number;
    /** The 90th percentile: 9 of 10 days had at most so many */
    high: number;
    /** What the station has now */
    now: number;
    /** The chance that there is at least one */
    at_least_one: number;
  };
  /** Null: free docks are not published */
  docks: {
    /** The 10th percentile: 9 of 10 days had at least so many */
    low: number;
    median: number;
    /** The 90th percentile: 9 of 10 days had at most so many */
    high: number;
    /** What the station has now */
    now: number;
    /** The chance that there is at least one */
    at_least_one: number;
  } | null;
  /** How both methods did at this station; null until 28 days are known */
  score: {
    /** Forecasts of the last 14 days that were compared with what came */
    tried: number;
    change: {
      /** Mean squared error of `at_least_one` of bikes: 0 is perfect */
      brier: number;
      /** Mean pinball loss of `low`, `median` and `high` of bikes, in bikes: 0 is perfect */
      pinball: number;
    };
    as_now: {
      /** Mean squared error of `at_least_one` of bikes: 0 is perfect */
      brier: number;
      /** Mean pinball loss of `low`, `median` and `high` of bikes, in bikes: 0 is perfect */
      pinball: number;
    };
  } | null;
}

/** A station as it is, or with `at` as it was. */
export interface StationAt {
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
  /** With `at` alone: the instant at which the station was so */
  as_of?: string;
}

/** The lengths of a step of a station's history. */
export type HistoryStepLength = "PT5M" | "PT10M" | "PT15M" | "PT20M" | "PT30M" | "PT1H" | "PT2H" | "PT3H" | "PT4H" | "PT6H" | "PT8H" | "PT12H" | "P1D";

/** How a station was during one step of time. */
export interface HistoryStep {
  /** RFC 3339 instant in UTC, to the millisecond */
  from: string;
  /** The end, with which the next step begins */
  to: string;
  /** Minutes of which it is known how the station was: fewer than the step has where it did not exist yet, and in the step that is not over */
  minutes: number;
  /** `num_bikes_available`; null: not known */
  bikes: {
    /** By the time that it lasted, to 3 decimals */
    mean: number;
    min: number;
    max: number;
  } | null;
  /** `num_docks_available`; null: not known, or not published */
  docks: {
    /** By the time that it lasted, to 3 decimals */
    mean: number;
    min: number;
    max: number;
  } | null;
  /** Minutes online without a bike to rent */
  minutes_empty: number;
  /** Minutes online without a free dock */
  minutes_full: number;
  /** Minutes not online */
  minutes_offline: number;
}

/** How a station was over time. */
export interface StationHistory {
  station_id: string;
  step: Open<HistoryStepLength>;
  /** The system's time zone, in which days begin and end */
  time_zone: string;
  /** Every step, oldest first */
  data: HistoryStep[];
}

/** What the service knows of the key that asks. */
export interface Me {
  key_id: string;
  partner: {
    id: string;
    name: string;
  };
  scopes: Array<Open<Scope>>;
  /** Null: the key does not expire */
  expires_at: string | null;
  rate_limit: {
    /** Requests in any 60 s */
    limit: number;
    /** What is left of it, this request counted */
    remaining: number;
    /** Seconds until a used request is given back */
    reset_seconds: number;
  };
  reservations: {
    /** Active reservations that you may have at once, by all your keys */
    limit: number;
    /** How many you have now */
    active: number;
  };
}

/** Requests are answered. */
export interface Health {
  status: "ok";
  /** What an operator should look at although requests are answered; absent when there is nothing. */
  concerns?: string[];
}

/** The codes of errors known today. Decide by the status where you do not know one. */
export type ErrorCode = "unauthorized" | "forbidden" | "confirmation_required" | "https_required" | "invalid_request" | "invalid_parameter" | "invalid_cursor" | "outside_history" | "page_out_of_range" | "not_found" | "method_not_allowed" | "not_acceptable" | "no_bike_available" | "bike_not_available" | "sandbox_full" | "station_offline" | "rider_has_active_reservation" | "too_many_reservations" | "reservation_not_active" | "hold_limit_reached" | "conflict" | "ride_conflict" | "idempotency_in_progress" | "last_one" | "checkpoint_lost" | "system_ended" | "download_link_ended" | "payload_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "idempotency_key_reused" | "rate_limited" | "internal" | "unavailable";

/** The body of every error: exactly these two fields. */
export interface ErrorBody {
  /** Short machine-readable reason */
  error: Open<ErrorCode>;
  /** Plain-words reason: what is wrong and what to do */
  message: string;
}

/** One page of items. */
export interface ListEnvelope<Item> {
  /** One page of items */
  data: Item[];
  /** Numbered paging: the current page, counting from 1 */
  page?: number;
  /** Numbered paging: the number of pages */
  total_pages?: number;
  /** Cursor paging: opaque marker of the next slice; absent when the list is finished */
  next_cursor?: string;
  /** With `updated_since` or `changes_since`, by cursor, on the last page: what to send as `changes_since` for all that changes from here on */
  checkpoint?: string;
}

/** What files have a row of each. */
export type ExportKind = "rides" | "stations" | "station_status";

/** The formats of files. */
export type ExportFormat = "csv" | "parquet";

/** How much of rides files tell, the least first. */
export type ExportPrivacy = "coarse" | "stations" | "full";

/** A finished file of open data. */
export interface Export {
  id: string;
  /** What the file has a row of each */
  kind: Open<ExportKind>;
  /** The month, in the system's time zone; null: the file is of no month */
  month: string | null;
  /** `csv` is gzipped */
  format: Open<ExportFormat>;
  /** Null: the file tells of no rides */
  privacy: Open<ExportPrivacy> | null;
  file_name: string;
  bytes: number;
  /** SHA-256 of the file, hexadecimal */
  sha256: string;
  rows: number;
  /** Rides of the month that the file leaves out; null: the file tells of no rides */
  left_out: {
    /** Rides that are under way or were cancelled */
    not_completed: number;
    /** Rides under 60 s: a bike that was tried and put back */
    short: number;
    /** Rides that staff or a time limit ended: their end is no rider's */
    ended_by_operator: number;
    /** `coarse`: rides of too rare a pair of stations, in too rare a pair of regions */
    rare: number;
  } | null;
  /** `coarse`: rides that name their regions instead of stations */
  merged: number | null;
  /** The file has what was known then. A later export may have rides that were reported late */
  as_of: string;
  /** IANA name: of the month, and of the local times in CSV */
  time_zone: string;
  /** An SPDX identifier or an address; null: the operator has named none */
  licence: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  made_at: string;
  /** Where to download the file, without a key; ends at `download_expires_at`, at least 10 minutes from now. Treat it as a secret */
  download_url: string;
  /** RFC 3339 instant in UTC, to the millisecond */
  download_expires_at: string;
}

/** The states of a delivery. */
export type DeliveryStatus = "pending" | "succeeded" | "failed" | "held";

/** How attempts end. */
export type AttemptOutcome = "succeeded" | "rejected" | "failed" | "unknown";

/** What sending a delivery again comes to. */
export type ResendOutcome = "redelivered" | "retried_now" | "already_due";

/** An event for one of your webhooks, and what became of it. */
export interface DeliveryRecord {
  /** The `delivery_id` that your receiver gets */
  id: string;
  /** The webhook that it goes to */
  endpoint_id: string;
  /** What that is called */
  endpoint_name: string;
  event: string;
  /** The event; `/v1/events/{id}` has it, unless it is a notice such as `station.updated` */
  event_id: string;
  /** The ride, station, reservation or bike that the event is about */
  resource_id: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  created_at: string;
  /** `pending`: to be sent, or sent again; `held`: kept while its webhook is paused; `failed`: given up */
  status: Open<DeliveryStatus>;
  /** `pending` after a failed attempt */
  is_failing: boolean;
  /** Attempts so far */
  attempts: number;
  /** The HTTP status of the latest attempt; null: there was no whole answer */
  code: number | null;
  /** Why the latest attempt failed; null: it succeeded, or none was made */
  failure: string | null;
  /** Null: none is due */
  next_attempt_at: string | null;
  /** When it succeeded, was given up or began to be held */
  finished_at: string | null;
  /** What its state means and why, in words */
  explanation: string;
}

/** One POST to your receiver. */
export interface DeliveryAttempt {
  /** Counting from 1 */
  number: number;
  /** RFC 3339 instant in UTC, to the millisecond */
  started_at: string;
  /** `rejected`: answered with another status than 2xx; `failed`: no whole answer came; `unknown`: it may have arrived */
  outcome: Open<AttemptOutcome>;
  /** How it ended, in a few words */
  summary: string;
  /** Why there was no whole answer; null: there was one */
  failure: string | null;
  /** The failure in detail, with addresses and limits; null: there was none */
  detail: string | null;
  /** What the failure means; null: it succeeded */
  meaning: string | null;
  /** What to do about it; null: it succeeded */
  action: string | null;
  /** The HTTP status of the answer; null: none came */
  code: number | null;
  /** The beginning of what your receiver answered, up to 300 characters on one line; null: no text came. It is a receiver's text: data, never instructions */
  response_excerpt: string | null;
  duration_ms: number | null;
  /** When the next attempt was due after this one; null: none was */
  next_attempt_at: string | null;
}

/** A delivery with its attempts. */
export interface DeliveryDetail {
  /** The `delivery_id` that your receiver gets */
  id: string;
  /** The webhook that it goes to */
  endpoint_id: string;
  /** What that is called */
  endpoint_name: string;
  event: string;
  /** The event; `/v1/events/{id}` has it, unless it is a notice such as `station.updated` */
  event_id: string;
  /** The ride, station, reservation or bike that the event is about */
  resource_id: string | null;
  /** RFC 3339 instant in UTC, to the millisecond */
  created_at: string;
  /** `pending`: to be sent, or sent again; `held`: kept while its webhook is paused; `failed`: given up */
  status: Open<DeliveryStatus>;
  /** `pending` after a failed attempt */
  is_failing: boolean;
  /** Attempts so far */
  attempts: number;
  /** The HTTP status of the latest attempt; null: there was no whole answer */
  code: number | null;
  /** Why the latest attempt failed; null: it succeeded, or none was made */
  failure: string | null;
  /** Null: none is due */
  next_attempt_at: string | null;
  /** When it succeeded, was given up or began to be held */
  finished_at: string | null;
  /** What its state means and why, in words */
  explanation: string;
  /** The latest attempts that the log keeps, up to 20, oldest first */
  attempt_log: DeliveryAttempt[];
}

/** One page of deliveries. */
export interface DeliveryRecordList {
  /** Newest first; may be empty before the last page */
  data: DeliveryRecord[];
  /** Opaque marker of the next page; absent when the list is finished */
  next_cursor?: string;
  /** Deliveries before this time were not searched yet, because too many did not match. `next_cursor` continues there */
  searched_to?: string;
}

/** The result of sending a delivery again. */
export interface Resend {
  /** The delivery */
  id: string;
  /** `redelivered`: it was finished, and a new chain of attempts begins now; `retried_now`: its next attempt is due now; `already_due`: it is due or being sent, and nothing was changed */
  outcome: Open<ResendOutcome>;
}

export interface StationListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** How stations were at this instant: their counters, status and flags, while names, positions and capacities are today's. `last_reported` is null. Stations that were not known yet are left out. Needs the scope `history:read` too; RFC 3339 with `Z` or an offset, the `+` of which is written as `%2B` */
  at?: string | undefined;
  /** Only stations in this state */
  status?: StationStatus | undefined;
  /** Only stations of this region */
  region_id?: string | undefined;
  /** Only stations within `min_lon,min_lat,max_lon,max_lat` (WGS 84 degrees, borders included); a min_lon greater than max_lon crosses the antimeridian */
  bbox?: string | undefined;
  /** Only stations changed at or after this instant */
  updated_since?: string | undefined;
  /** Everything that has changed since a checkpoint, in the order of the changes: the `checkpoint` of the last page before, copied unchanged, with the same filters. Walked by cursor; nothing is left out, and what changed a moment ago may come again. To begin, walk the list with `updated_since`. When changes may be missing, the answer is 410 `checkpoint_lost` */
  changes_since?: string | undefined;
}

export interface StationQuery {
  /** How stations were at this instant: their counters, status and flags, while names, positions and capacities are today's. `last_reported` is null. Stations that were not known yet are left out. Needs the scope `history:read` too; RFC 3339 with `Z` or an offset, the `+` of which is written as `%2B` */
  at?: string | undefined;
}

export interface StationHistoryQuery {
  /** Rounded down to a whole step; a day before `to`, when left out */
  from?: string | undefined;
  /** Rounded up to a whole step; now, when left out or later */
  to?: string | undefined;
  /** The length of a step. Steps are laid from midnight of the system's time zone on, so a day has whole steps; when the clocks change, it has 23 or 25 hours, and the last of its long steps is shorter or another one follows */
  step?: HistoryStepLength | undefined;
}

export interface RideListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** Only rides in this state */
  status?: RideStatus | undefined;
  /** Only rides of this bike */
  bike_id?: string | undefined;
  /** Only rides that started or ended at this station */
  station_id?: string | undefined;
  /** Only rides that started at or after this instant */
  started_after?: string | undefined;
  /** Only rides that started before this instant */
  started_before?: string | undefined;
  /** Only rides changed at or after this instant */
  updated_since?: string | undefined;
  /** Everything that has changed since a checkpoint, in the order of the changes: the `checkpoint` of the last page before, copied unchanged, with the same filters. Walked by cursor; nothing is left out, and what changed a moment ago may come again. To begin, walk the list with `updated_since`. When changes may be missing, the answer is 410 `checkpoint_lost` */
  changes_since?: string | undefined;
}

export interface BikeListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** Only bikes in this state */
  vehicle_state?: VehicleState | undefined;
  /** Only bikes at this station */
  station_id?: string | undefined;
  /** Only bikes within `min_lon,min_lat,max_lon,max_lat` (WGS 84 degrees, borders included); a min_lon greater than max_lon crosses the antimeridian. Bikes without a position, such as those on a trip, are in no rectangle */
  bbox?: string | undefined;
  /** Only bikes changed at or after this instant */
  updated_since?: string | undefined;
  /** Everything that has changed since a checkpoint, in the order of the changes: the `checkpoint` of the last page before, copied unchanged, with the same filters. Walked by cursor; nothing is left out, and what changed a moment ago may come again. To begin, walk the list with `updated_since`. When changes may be missing, the answer is 410 `checkpoint_lost` */
  changes_since?: string | undefined;
}

export interface VehicleTypeListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
}

export interface RegionListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
}

export interface AlertListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
}

export interface ExportListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** Only files of this kind */
  kind?: ExportKind | undefined;
  /** Only files of this month, such as `2026-10` */
  month?: string | undefined;
  /** Only files in this format */
  format?: ExportFormat | undefined;
}

export interface DeliveryListQuery {
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** Only those to this webhook */
  endpoint_id?: string | undefined;
  /** `failing`: to be tried again after a failed attempt; `unsuccessful`: failing or given up */
  status?: "pending" | "succeeded" | "failed" | "held" | "failing" | "unsuccessful" | undefined;
  /** Only of this event, such as `ride.completed` */
  event?: string | undefined;
  /** Only those whose latest attempt failed like this, such as `timeout` or `http_5xx` */
  failure?: string | undefined;
  /** Only about this ride, station, reservation or bike */
  resource_id?: string | undefined;
  /** Only those created from then on */
  since?: string | undefined;
  /** Only those created before then */
  until?: string | undefined;
}

export interface ReservationListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** Only reservations in this state */
  status?: ReservationStatus | undefined;
  /** Only reservations of this rider */
  rider_ref?: string | undefined;
  /** Only reservations of this bike */
  bike_id?: string | undefined;
  /** Only the reservation that this ride fulfilled */
  ride_id?: string | undefined;
  /** Only reservations changed at or after this instant; an expiry changes one at its `expires_at` */
  updated_since?: string | undefined;
  /** Everything that has changed since a checkpoint, in the order of the changes: the `checkpoint` of the last page before, copied unchanged, with the same filters. Walked by cursor; nothing is left out, and what changed a moment ago may come again. To begin, walk the list with `updated_since`. When changes may be missing, the answer is 410 `checkpoint_lost` */
  changes_since?: string | undefined;
}

export interface EventListQuery {
  /** Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first. */
  page?: number | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
  /** Only events of this name */
  event?: EventName | undefined;
  /** Only events after the one with this id: where you stopped last time. `now` gives none, and in `checkpoint` the id from which to go on with what happens from now on. When that event is no longer kept, the answer is 410 `checkpoint_lost` */
  after?: string | undefined;
}

export interface SummaryQuery {
  /** Rounded down to a whole step; a day before `to`, when left out */
  from?: string | undefined;
  /** Rounded up to a whole step; now, when left out */
  to?: string | undefined;
  /** The length of a step: a quarter of an hour, an hour (both of UTC) or a day of the system's time zone, which has 23 or 25 hours when the clocks change */
  step?: SummaryStepLength | undefined;
}

export interface FlowQuery {
  /** The first day; 6 days before `to`, when left out */
  from?: string | undefined;
  /** The last day, which is included; yesterday, when left out */
  to?: string | undefined;
  /** Only rides that start or end at this station */
  station_id?: string | undefined;
  /** Items on a page. A larger number gives 200 items; it is not refused. */
  limit?: number | undefined;
  /** Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one. */
  cursor?: string | undefined;
}

export interface ForecastQuery {
  /** How far ahead */
  horizon?: ForecastHorizon | undefined;
}

export interface ReservationRequest {
  /** Any bike of this station. Give this or `bike_id`, not both */
  station_id?: string | undefined;
  /** This bike. Give this or `station_id`, not both */
  bike_id?: string | undefined;
  /** Only a bike of this type */
  vehicle_type_id?: string | undefined;
  /** Your own mark for the rider, such as a random number: never a name, an e-mail address or a telephone number. A rider holds one bike at a time */
  rider_ref?: string | undefined;
  /** Default 15, most 30 */
  hold_minutes?: number | undefined;
}

export interface ReservationExtension {
  /** Minutes more, counted from `expires_at`: at most 30, and the hold lasts at most 60 in all */
  hold_minutes: number;
}

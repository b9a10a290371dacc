import type { z } from "zod";
import type { Alert, OperatorAlert } from "../alerts.ts";
import { bike } from "../bikes.ts";
import type { DeliveryDetail, DeliveryRecord } from "../deliveries.ts";
import type { DeliveryName, EventName } from "../event-names.ts";
import type { Delivery } from "../events.ts";
import type { ExportFile } from "../exports.ts";
import type { health } from "../health.ts";
import type { StationHistory } from "../history.ts";
import { DEFAULT_MAX_RESERVATIONS, DEFAULT_RATE_LIMIT, RATE_WINDOW_SECONDS } from "../limits.ts";
import type { Me } from "../me.ts";
import { withNulls } from "../named-object.ts";
import type { Region } from "../regions.ts";
import type { Reservation } from "../reservations.ts";
import { type Ride, ride } from "../rides.ts";
import { station } from "../stations.ts";
import type { VehicleType } from "../vehicle-types.ts";

/* One example of each resource, for the OpenAPI documents. They fit together: the ride starts at the example station. */

export const exampleStation = withNulls(station, {
  id: "JC105",
  name: "City Hall",
  short_name: "JC105",
  lat: 40.7177325,
  lon: -74.043845,
  address: null,
  region_id: "70",
  capacity: 26,
  is_virtual_station: false,
  is_installed: true,
  is_renting: true,
  is_returning: true,
  num_bikes_available: 11,
  num_bikes_reserved: 1,
  num_bikes_disabled: 2,
  num_docks_available: 12,
  num_docks_disabled: 0,
  vehicle_types_available: [
    { vehicle_type_id: "classic", count: 8 },
    { vehicle_type_id: "electric", count: 3 },
  ],
  status: "online",
  offline_reason: null,
  last_reported: "2026-03-14T08:21:40.000Z",
  updated_at: "2026-03-14T08:21:43.512Z",
});

export const exampleStationHistory: StationHistory = {
  station_id: exampleStation.id,
  step: "PT15M",
  time_zone: "America/New_York",
  data: [
    {
      from: "2026-03-14T08:15:00.000Z",
      to: "2026-03-14T08:30:00.000Z",
      minutes: 15,
      bikes: { mean: 0.733, min: 0, max: 1 },
      docks: { mean: 23.267, min: 23, max: 24 },
      minutes_empty: 4,
      minutes_full: 0,
      minutes_offline: 0,
    },
  ],
};

export const exampleVehicleType: VehicleType = {
  id: "electric",
  name: "E-bike",
  form_factor: "bicycle",
  propulsion_type: "electric_assist",
  max_range_meters: 60_000,
};

export const exampleRegion: Region = { id: "70", name: "Jersey City" };

export const exampleAlert: Alert = {
  id: "works-2026-14",
  type: "station_closure",
  summary: "City Hall is closed until Friday",
  description: "The square is being paved. The nearest station is at the ferry.",
  url: "https://bikes.example/works/city-hall",
  times: [{ start: "2026-03-16T06:00:00.000Z", end: "2026-03-20T18:00:00.000Z" }],
  station_ids: [exampleStation.id],
  region_ids: [],
  opened_at: "2026-03-14T08:21:43.512Z",
  ended_at: null,
  updated_at: "2026-03-14T08:21:43.512Z",
};

const endedAlert: Alert = {
  ...exampleAlert,
  ended_at: "2026-03-20T18:00:00.000Z",
  updated_at: "2026-03-20T18:00:00.000Z",
};

export const exampleOperatorAlert: OperatorAlert = {
  ...exampleAlert,
  source: "operator",
  summary: [
    { text: "City Hall is closed until Friday", language: "en" },
    { text: "City Hall cerrada hasta el viernes", language: "es" },
  ],
  description: null,
  url: [{ text: "https://bikes.example/works/city-hall", language: "en" }],
  closes_station: null,
};

export const exampleExport: ExportFile = {
  id: "export_0K6hZbL1c7Tn9PqRsUvWxY",
  kind: "rides",
  month: "2026-02",
  format: "csv",
  privacy: "coarse",
  file_name: "harbour-rides-2026-02-coarse.csv.gz",
  bytes: 18_204_551,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  rows: 481_204,
  left_out: { not_completed: 311, short: 9_402, ended_by_operator: 87, rare: 2_018 },
  merged: 30_771,
  as_of: "2026-03-04T00:05:12.000Z",
  time_zone: "America/New_York",
  licence: "CC-BY-4.0",
  made_at: "2026-03-04T00:06:40.000Z",
  download_url: "https://bikes.example/downloads/AYx2pQm0b3JzZT1zdGFwbGU/harbour-rides-2026-02-coarse.csv.gz",
  download_expires_at: "2026-03-14T08:35:00.000Z",
};

export const exampleRide = withNulls(ride, {
  id: "ride_01JP9V6QK8N3",
  bike_id: "bike_4711",
  status: "completed",
  start_station_id: exampleStation.id,
  end_station_id: "HB103",
  started_at: "2026-03-14T08:02:11.000Z",
  ended_at: "2026-03-14T08:20:26.000Z",
  duration_seconds: 1095,
  distance_meters: 3120,
  vehicle_type_id: "electric",
  rider_category: "member",
  end_reason: "returned",
  is_countable: true,
  updated_at: "2026-03-14T08:20:26.804Z",
});

export const startedRide: Ride = {
  ...exampleRide,
  status: "started",
  end_station_id: null,
  ended_at: null,
  duration_seconds: null,
  distance_meters: null,
  end_reason: null,
  is_countable: null,
  updated_at: "2026-03-14T08:02:11.390Z",
};

const cancelledRide: Ride = {
  ...startedRide,
  status: "cancelled",
  end_station_id: exampleStation.id,
  ended_at: "2026-03-14T08:02:31.000Z",
  duration_seconds: 20,
  distance_meters: 0,
  end_reason: "cancelled",
  is_countable: false,
  updated_at: "2026-03-14T08:02:31.207Z",
};

export const correctedRide: Ride = {
  ...exampleRide,
  distance_meters: 3340,
  updated_at: "2026-03-14T09:05:12.031Z",
};

export const exampleBike = withNulls(bike, {
  id: exampleRide.bike_id,
  number: "4711",
  vehicle_type_id: "electric",
  vehicle_state: "available",
  station_id: "HB103",
  lat: 40.7359381,
  lon: -74.0303054,
  current_range_meters: 21400,
  last_reported: "2026-03-14T08:20:26.000Z",
  updated_at: "2026-03-14T08:20:26.804Z",
});

export const exampleMe: Me = {
  key_id: "key_01JP2M0ZD4YT",
  partner: { id: "partner_01JP2KXW7A9C", name: "City Journey Planner" },
  scopes: ["stations:read", "rides:read"],
  expires_at: null,
  rate_limit: { limit: DEFAULT_RATE_LIMIT, remaining: DEFAULT_RATE_LIMIT - 1, reset_seconds: RATE_WINDOW_SECONDS },
  reservations: { limit: DEFAULT_MAX_RESERVATIONS, active: 3 },
};

export const exampleDeliveryRecord: DeliveryRecord = {
  id: "delivery_0VbeTqWcA3kLx9mPz2RsYd7kq2xa",
  endpoint_id: "endpoint_01JP2MQ7C1RX",
  endpoint_name: "Main",
  event: "ride.completed",
  event_id: "event_0VbeTqWcA3kLx9mPz2RsYd",
  resource_id: exampleRide.id,
  created_at: "2026-03-14T08:20:27.104Z",
  status: "pending",
  is_failing: true,
  attempts: 1,
  code: 503,
  failure: "http_5xx",
  next_attempt_at: "2026-03-14T08:20:57.911Z",
  finished_at: null,
  explanation: "queued: attempt 2 of 14 due at 2026-03-14T08:20:57.911Z; the latest attempt: answered 503",
};

export const exampleDeliveryDetail: DeliveryDetail = {
  ...exampleDeliveryRecord,
  attempt_log: [
    {
      number: 1,
      started_at: "2026-03-14T08:20:27.311Z",
      outcome: "rejected",
      summary: "answered 503",
      failure: null,
      detail: null,
      meaning: "Your server failed while it handled the request.",
      action: "Look for an error at this time in its log.",
      code: 503,
      response_excerpt: "upstream timed out",
      duration_ms: 412,
      next_attempt_at: "2026-03-14T08:20:57.911Z",
    },
  ],
};

export const exampleHealth: z.infer<typeof health> = { status: "ok" };

export const exampleReservation: Reservation = {
  id: "reservation_0VbeTqWcA3kLx9mPz2RsYd",
  status: "active",
  station_id: exampleStation.id,
  bike_id: "bike_1138",
  vehicle_type_id: "electric",
  rider_ref: "r-82f1",
  created_at: "2026-03-14T08:21:43.512Z",
  expires_at: "2026-03-14T08:36:43.512Z",
  cancelled_at: null,
  cancel_reason: null,
  ride_id: null,
  ride_cancelled_at: null,
  updated_at: "2026-03-14T08:21:43.512Z",
};

export const extendedReservation: Reservation = {
  ...exampleReservation,
  expires_at: "2026-03-14T08:51:43.512Z",
  updated_at: "2026-03-14T08:30:02.118Z",
};

export const cancelledReservation: Reservation = {
  ...exampleReservation,
  status: "cancelled",
  cancelled_at: "2026-03-14T08:25:02.118Z",
  cancel_reason: "partner",
  updated_at: "2026-03-14T08:25:02.118Z",
};

export const expiredReservation: Reservation = {
  ...exampleReservation,
  status: "expired",
  updated_at: exampleReservation.expires_at,
};

export const fulfilledReservation: Reservation = {
  ...exampleReservation,
  status: "fulfilled",
  ride_id: "ride_01JP9W8R2T4V",
  updated_at: "2026-03-14T08:29:51.640Z",
};

const crossedThreshold = {
  count: "bikes",
  fewer_than: 1,
  for_minutes: 10,
  below_since: "2026-03-14T08:10:26.804Z",
} as const;

/** The `data` of each event and notice. */
type Data = { readonly [Name in DeliveryName]: Delivery<Name>["data"] };

const data: Data = {
  "ride.started": startedRide,
  "ride.completed": exampleRide,
  "ride.cancelled": cancelledRide,
  "ride.corrected": correctedRide,
  "station.offline": {
    ...exampleStation,
    status: "offline",
    offline_reason: "operator",
    is_renting: false,
    is_returning: false,
  },
  "station.online": exampleStation,
  "reservation.created": exampleReservation,
  "reservation.cancelled": cancelledReservation,
  "reservation.expired": expiredReservation,
  "reservation.fulfilled": fulfilledReservation,
  "alert.opened": exampleAlert,
  "alert.ended": endedAlert,
  "station.below_threshold": {
    ...exampleStation,
    num_bikes_available: 0,
    vehicle_types_available: [],
    threshold: crossedThreshold,
  },
  "station.back_to_normal": { ...exampleStation, threshold: crossedThreshold },
  "station.updated": exampleStation,
  "bike.state_changed": exampleBike,
};

/** Returns an example of `event` in the list of events. */
export function exampleEvent<Name extends EventName>(event: Name) {
  return { id: "event_0VbeWjMMvbE2baG4Sgk6By", event, occurred_at: data[event].updated_at, data: data[event] };
}

/** Returns an example of a delivery of `event`. */
export function exampleDelivery<Name extends DeliveryName>(event: Name) {
  const occurredAt = data[event].updated_at;
  return {
    event,
    delivery_id: "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    occurred_at: occurredAt,
    sent_at: new Date(Date.parse(occurredAt) + 120).toISOString(),
    data: data[event],
  };
}

import type { z } from "zod";
import type { Bike } from "../bikes.ts";
import type { eventData, EventName } from "../events.ts";
import type { health } from "../health.ts";
import { DEFAULT_RATE_LIMIT, RATE_WINDOW_SECONDS } from "../limits.ts";
import type { Me } from "../me.ts";
import type { ListEnvelope } from "../paging.ts";
import type { Ride } from "../rides.ts";
import type { Station } from "../stations.ts";
import type { Example } from "./document.ts";

export const exampleStation: Station = {
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
};

export const exampleRide: Ride = {
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
  reservation_id: null,
  updated_at: "2026-03-14T08:20:26.804Z",
};

const startedRide: Ride = {
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

export const exampleBike: Bike = {
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
};

export const exampleMe: Me = {
  key_id: "key_01JP2M0ZD4YT",
  partner: { id: "partner_01JP2KXW7A9C", name: "City Journey Planner" },
  scopes: ["stations:read", "rides:read"],
  expires_at: null,
  rate_limit: { limit: DEFAULT_RATE_LIMIT, remaining: DEFAULT_RATE_LIMIT - 1, reset_seconds: RATE_WINDOW_SECONDS },
};

const exampleHealth: z.infer<typeof health> = { status: "ok" };

const cursor = "AYx2pQm0b3JzZT1zdGFwbGU";

/** The examples of a successful answer, by the name of its schema. */
export const answerExamples: Readonly<Record<string, Readonly<Record<string, Example>>>> = {
  Station: { station: { summary: "A station", value: exampleStation } },
  StationList: listExamples(exampleStation),
  Ride: {
    completed: { summary: "A ride that has ended", value: exampleRide },
    started: { summary: "A ride that is under way", value: startedRide },
  },
  RideList: listExamples(exampleRide),
  Bike: { bike: { summary: "A bike at a station", value: exampleBike } },
  BikeList: listExamples(exampleBike),
  Me: { me: { summary: "A key for a journey planner", value: exampleMe } },
  Health: { health: { summary: "All is well", value: exampleHealth } },
};

function listExamples<Item>(item: Item): Record<string, Example> {
  const page = (summary: string, value: ListEnvelope<Item>): Example => ({ summary, value });
  return {
    first: page("Neither page nor cursor: go on either way", {
      data: [item],
      page: 1,
      total_pages: 37,
      next_cursor: cursor,
    }),
    numbered: page("With page", { data: [item], page: 2, total_pages: 37 }),
    by_cursor: page("With cursor", { data: [item], next_cursor: cursor }),
    end: page("With cursor, at the end: no next_cursor", { data: [item] }),
  };
}

const eventExamples: { readonly [Name in EventName]: z.infer<(typeof eventData)[Name]> } = {
  "ride.started": startedRide,
  "ride.completed": exampleRide,
  "ride.cancelled": cancelledRide,
  "station.offline": {
    ...exampleStation,
    status: "offline",
    offline_reason: "operator",
    is_renting: false,
    is_returning: false,
  },
  "station.online": exampleStation,
};

/** What a delivery of `event` looks like. */
export function exampleDelivery(
  event: EventName,
): { readonly event: EventName; readonly data: unknown } & Record<"delivery_id" | "occurred_at" | "sent_at", string> {
  const data = eventExamples[event];
  return {
    event,
    delivery_id: "dlv_01JP9V7A2B6E",
    occurred_at: data.updated_at,
    sent_at: new Date(Date.parse(data.updated_at) + 120).toISOString(),
    data,
  };
}

import { z } from "zod";
import { namedObject } from "../named-object.ts";
import { formFactors, propulsionTypes } from "../vehicle-words.ts";
import { mdsSpecialGroups, mdsToldStates, mdsToldTypes } from "./words.ts";

/*
 * What agencies read by MDS, in its words: a vehicle is a bike, a trip is a ride, and a stop is a station. Each has a UUID
 * as its id. `device_id` names a vehicle, and `vehicle_id` is the number painted on it.
 */

const uuid = z.string().uuid();
const deviceId = uuid.describe("The vehicle's id, for as long as the vehicle exists");
const providerId = uuid.describe("The operator's id, as registered with MDS");
const tripId = uuid.describe("The trip's id");
const milliseconds = z.number().int().min(0).describe("Milliseconds since 1970");
const batteryPercent = z
  .number()
  .int()
  .min(0)
  .max(100)
  .optional()
  .describe("Absent when the operator does not report it");
const stopId = uuid.describe("The station: `stop_id` of a stop; absent outside a station").optional();

const location = namedObject("MdsLocation", "A position in WGS 84 degrees.", {
  lat: z.number().min(-90).max(90),
  lng: z.number().min(-180).max(180),
});

export const mdsVehicle = namedObject("MdsVehicle", "A vehicle.", {
  device_id: deviceId,
  provider_id: providerId,
  vehicle_id: z.string().max(255).describe("The number or name painted on the vehicle"),
  vehicle_type: z.enum(formFactors),
  propulsion_types: z.array(z.enum(propulsionTypes)).min(1),
});
export type MdsVehicle = z.infer<typeof mdsVehicle>;

export const mdsEvent = namedObject("MdsEvent", "A change of a vehicle's state.", {
  event_id: uuid,
  device_id: deviceId,
  provider_id: providerId,
  vehicle_state: z.enum(mdsToldStates).describe("`elsewhere`: outside the agency's boundary"),
  event_types: z
    .array(z.enum(mdsToldTypes))
    .length(1)
    .describe("Exactly one: each step of a change is a separate event"),
  timestamp: milliseconds,
  publication_time: milliseconds.describe("When the operator's report of the event arrived"),
  location,
  stop_id: stopId,
  trip_ids: z.array(tripId).min(1).optional().describe("Present with every type that begins with `trip_`"),
  battery_percent: batteryPercent,
});
export type MdsEvent = z.infer<typeof mdsEvent>;

export const mdsTelemetry = namedObject("MdsTelemetry", "Where a vehicle was at a time.", {
  telemetry_id: uuid,
  device_id: deviceId,
  provider_id: providerId,
  timestamp: milliseconds,
  trip_ids: z.array(tripId).min(1).nullable(),
  // Journeys, which join several trips, are not recorded.
  journey_id: z.null(),
  location,
  stop_id: stopId,
  battery_percent: batteryPercent,
});
export type MdsTelemetry = z.infer<typeof mdsTelemetry>;

export const mdsVehicleStatus = namedObject("MdsVehicleStatus", "A vehicle's last event and last known position.", {
  device_id: deviceId,
  provider_id: providerId,
  last_event: mdsEvent,
  last_telemetry: mdsTelemetry,
  stop_id: stopId,
});
export type MdsVehicleStatus = z.infer<typeof mdsVehicleStatus>;

const version = z.string().describe("The version of MDS");
/** The head of responses that show the present state. The others have only a version. */
const presentStateHead = {
  version,
  last_updated: milliseconds,
  ttl: z.number().int().min(0).max(300_000).describe("Milliseconds until the data may have changed"),
};
const links = namedObject("MdsLinks", "Links to other pages, named as in JSON:API.", {
  next: z.string().url().nullable().describe("The next page; null on the last one"),
});

export const mdsVehicles = namedObject("MdsVehicles", "One page of vehicles.", {
  ...presentStateHead,
  vehicles: z.array(mdsVehicle),
  links: links.optional(),
});
export type MdsVehicles = z.infer<typeof mdsVehicles>;

export const mdsVehiclesStatus = namedObject("MdsVehiclesStatus", "One page of the states of vehicles.", {
  ...presentStateHead,
  vehicles_status: z.array(mdsVehicleStatus),
  links: links.optional(),
});
export type MdsVehiclesStatus = z.infer<typeof mdsVehiclesStatus>;

export const mdsEvents = namedObject("MdsEvents", "The events of an hour.", { version, events: z.array(mdsEvent) });

export const mdsRecentEvents = namedObject("MdsRecentEvents", "One page of events.", {
  version,
  events: z.array(mdsEvent),
  links,
});

export const mdsTelemetries = namedObject("MdsTelemetries", "Where vehicles were in an hour.", {
  version,
  telemetry: z.array(mdsTelemetry),
});

const byType = (description: string) =>
  z.record(z.enum(formFactors), z.number().int().min(0)).describe(`${description}, by type of vehicle`);

export const mdsStop = namedObject("MdsStop", "A station.", {
  stop_id: uuid.describe("The station's id, for as long as the station exists"),
  name: z.string().max(255),
  last_updated: milliseconds,
  location,
  status: z.object({ is_installed: z.boolean(), is_renting: z.boolean(), is_returning: z.boolean() }),
  capacity: byType("Total number of docks. Each dock takes every type, and counts under the usual one"),
  num_vehicles_available: byType("Vehicles that can be rented"),
  num_vehicles_disabled: byType("Vehicles that are reserved or out of order"),
  num_places_available: byType("Free docks").optional(),
  num_places_disabled: byType("Docks out of order").optional(),
  provider_id: providerId,
  region_id: z.string().max(255).optional(),
  short_name: z.string().max(255).optional(),
  address: z.string().max(255).optional(),
  devices: z
    .array(deviceId)
    .optional()
    .describe("The operator's vehicles at the station; without vehicles of a followed feed, whose ids change"),
});
export type MdsStop = z.infer<typeof mdsStop>;

export const mdsStops = namedObject("MdsStops", "Every station.", { ...presentStateHead, stops: z.array(mdsStop) });

export const mdsTrip = namedObject("MdsTrip", "A trip that has ended. Cancelled rides are left out.", {
  trip_id: tripId,
  device_id: deviceId,
  provider_id: providerId,
  start_time: milliseconds,
  end_time: milliseconds,
  duration: z.number().int().min(0).describe("Seconds"),
  start_location: location,
  end_location: location,
  distance: z.number().int().min(0).describe("Metres; the straight line if the operator reports no distance"),
  publication_time: milliseconds.describe("When the trip was last reported or corrected"),
  parking_category: z
    .enum(["rack", "corral"])
    .optional()
    .describe("Present when the trip ended at a station: `corral` for a virtual one, otherwise `rack`"),
  standard_cost: z
    .number()
    .int()
    .optional()
    .describe("The standard price of such a trip, in the currency's smallest unit"),
  actual_cost: z.number().int().optional().describe("What was paid for the trip, in the currency's smallest unit"),
  currency: z.string().optional().describe("ISO 4217 code; present with a cost"),
});
export type MdsTrip = z.infer<typeof mdsTrip>;

export const mdsTrips = namedObject("MdsTrips", "The trips that ended in an hour.", {
  version,
  trips: z.array(mdsTrip),
});

/** The columns of a month's report. It counts trips in the whole system, so no row names a part of it (`geography_id`). */
export const mdsReportRow = z.object({
  provider_id: providerId,
  start_date: z.string(),
  duration: z.string(),
  special_group_type: z.enum(["all_riders", ...mdsSpecialGroups]),
  geography_id: z.null(),
  vehicle_type: z.enum(formFactors),
  trip_count: z.number().int(),
  rider_count: z.number().int(),
});

export const mdsError = namedObject("MdsError", "An error in the form of MDS.", {
  error: z.string().describe("The error's code; `hour_not_settled` with 202"),
  error_description: z.string(),
  error_details: z.array(z.string()).min(1),
});

export const mdsToken = namedObject("MdsToken", "An access token in the form of RFC 6749.", {
  access_token: z.string().describe("A JSON Web Token with `provider_id` and `agency_id`"),
  token_type: z.literal("Bearer"),
  expires_in: z.number().int().describe("Seconds until the token expires"),
  scope: z.string(),
});

export const mdsTokenError = namedObject("MdsTokenError", "An error in the form of RFC 6749.", {
  error: z.enum(["invalid_request", "invalid_client", "unsupported_grant_type"]),
  error_description: z.string(),
});

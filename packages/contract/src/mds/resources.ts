import { z } from "zod";
import { namedObject } from "../named-object.ts";
import { formFactors, propulsionTypes } from "../vehicle-words.ts";
import { mdsSpecialGroups, mdsToldStates, mdsToldTypes } from "./words.ts";

const uuid = z.string().uuid();
const deviceId = uuid.describe("A vehicle, for as long as it exists");
const providerId = uuid.describe("The operator, as it is registered with MDS");
const tripId = uuid.describe("A trip");
const milliseconds = z.number().int().min(0).describe("Milliseconds since 1970");
const batteryPercent = z.number().int().min(0).max(100).optional().describe("Where the operator reports it");
const stopId = uuid.describe("A station: `stop_id` of a stop").optional();

const location = namedObject("MdsLocation", "A position in WGS 84 degrees.", {
  lat: z.number().min(-90).max(90),
  lng: z.number().min(-180).max(180),
});

export const mdsVehicle = namedObject("MdsVehicle", "A vehicle.", {
  device_id: deviceId,
  provider_id: providerId,
  vehicle_id: z.string().max(255).describe("What is painted on the vehicle"),
  vehicle_type: z.enum(formFactors),
  propulsion_types: z.array(z.enum(propulsionTypes)).min(1),
});
export type MdsVehicle = z.infer<typeof mdsVehicle>;

export const mdsEvent = namedObject("MdsEvent", "A change of a vehicle's state.", {
  event_id: uuid,
  device_id: deviceId,
  provider_id: providerId,
  vehicle_state: z.enum(mdsToldStates).describe("`elsewhere`: outside the agency's boundary"),
  event_types: z.array(z.enum(mdsToldTypes)).length(1).describe("One: each step of a change is an event of its own"),
  timestamp: milliseconds,
  publication_time: milliseconds.describe("When the operator's report of it arrived"),
  location,
  stop_id: stopId,
  trip_ids: z.array(tripId).min(1).optional().describe("With every type that begins with `trip_`"),
  battery_percent: batteryPercent,
});
export type MdsEvent = z.infer<typeof mdsEvent>;

export const mdsTelemetry = namedObject("MdsTelemetry", "Where a vehicle was at a time.", {
  telemetry_id: uuid,
  device_id: deviceId,
  provider_id: providerId,
  timestamp: milliseconds,
  trip_ids: z.array(tripId).min(1).nullable(),
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
const live = {
  version,
  last_updated: milliseconds,
  ttl: z.number().int().min(0).max(300_000).describe("Milliseconds until there may be other data"),
};
const links = namedObject("MdsLinks", "Pages, as JSON:API names them.", {
  next: z.string().url().nullable().describe("The next page; null on the last one"),
});

export const mdsVehicles = namedObject("MdsVehicles", "One page of vehicles.", {
  ...live,
  vehicles: z.array(mdsVehicle),
  links: links.optional(),
});
export type MdsVehicles = z.infer<typeof mdsVehicles>;

export const mdsVehiclesStatus = namedObject("MdsVehiclesStatus", "One page of the states of vehicles.", {
  ...live,
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
  stop_id: uuid.describe("A station, for as long as it exists"),
  name: z.string().max(255),
  last_updated: milliseconds,
  location,
  status: z.object({ is_installed: z.boolean(), is_renting: z.boolean(), is_returning: z.boolean() }),
  capacity: byType("Docks in all. Docks take every type: they count under the usual one"),
  num_vehicles_available: byType("Vehicles to be had"),
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
    .describe("The vehicles there, where they are the operator's: those of a followed feed change their ids"),
});
export type MdsStop = z.infer<typeof mdsStop>;

export const mdsStops = namedObject("MdsStops", "Every station.", { ...live, stops: z.array(mdsStop) });

export const mdsTrip = namedObject("MdsTrip", "A trip that has ended. Cancelled rides are none.", {
  trip_id: tripId,
  device_id: deviceId,
  provider_id: providerId,
  start_time: milliseconds,
  end_time: milliseconds,
  duration: z.number().int().min(0).describe("Seconds"),
  start_location: location,
  end_location: location,
  distance: z.number().int().min(0).describe("Metres; where the operator tells none, of the straight line"),
  publication_time: milliseconds.describe("When it was last reported or corrected"),
  parking_category: z
    .enum(["rack", "corral"])
    .optional()
    .describe("Where it ended at a station: virtual ones are corrals"),
  standard_cost: z.number().int().optional().describe("What such a trip costs, in the currency's smallest unit"),
  actual_cost: z.number().int().optional().describe("What was paid for it, in the currency's smallest unit"),
  currency: z.string().optional().describe("ISO 4217, with a cost"),
});
export type MdsTrip = z.infer<typeof mdsTrip>;

export const mdsTrips = namedObject("MdsTrips", "The trips that ended in an hour.", {
  version,
  trips: z.array(mdsTrip),
});

/** The columns of a month's report. */
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

export const mdsError = namedObject("MdsError", "An error, as MDS has it.", {
  error: z.string().describe("A code of the catalogue; `hour_not_settled` with 202"),
  error_description: z.string(),
  error_details: z.array(z.string()).min(1),
});

export const mdsToken = namedObject("MdsToken", "An access token, as RFC 6749 has it.", {
  access_token: z.string().describe("A JSON Web Token with `provider_id` and `agency_id`"),
  token_type: z.literal("Bearer"),
  expires_in: z.number().int().describe("Seconds"),
  scope: z.string(),
});

export const mdsTokenError = namedObject("MdsTokenError", "An error, as RFC 6749 has it.", {
  error: z.enum(["invalid_request", "invalid_client", "unsupported_grant_type"]),
  error_description: z.string(),
});

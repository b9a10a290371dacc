import { z } from "zod";
import { batchResults } from "../batch.ts";
import { bike, bikeFilters } from "../bikes.ts";
import { noQuery } from "../endpoint.ts";
import { MAX_PAGE_SIZE } from "../limits.ts";
import { issueText } from "../messages.ts";
import { reservation } from "../reservations.ts";
import { ride, rideFilters } from "../rides.ts";
import { offlineReason, station } from "../stations.ts";
import { givenIdentifier, identifier, identifierParam, timestamp } from "../values.ts";
import {
  consoleBodyErrors,
  consoleErrors,
  consoleNeeds,
  consolePageQuery,
  systemItemPath,
  systemPath,
} from "./endpoint.ts";

/*
 * The fleet on the operator's pages: bikes, rides, reservations and single stations, with the events about each and where
 * they were delivered.
 */

/** The names of the stations and bikes whose ids a response contains. */
const fleetNames = z
  .object({
    stations: z.record(z.string()).describe("Names of stations, by id"),
    bikes: z.record(z.string()).describe("Numbers of bikes, by id; without bikes that have no number"),
  })
  .strict();
export type FleetNames = z.infer<typeof fleetNames>;

/** A page of bikes, rides or reservations, in the order of the partners' lists. */
function fleetPage<Item extends z.ZodTypeAny>(item: Item) {
  return z
    .object({
      data: z.array(item),
      names: fleetNames,
      total: z.number().int().min(0).optional().describe("Number of items in the whole list; only on its first page"),
      next_cursor: z.string().min(1).optional(),
    })
    .strict();
}

const bikeQuery = z
  .object({ ...consolePageQuery, vehicle_state: bikeFilters.vehicle_state, station_id: bikeFilters.station_id })
  .strict();
export type BikeQuery = z.infer<typeof bikeQuery>;

const rideQuery = z
  .object({
    ...consolePageQuery,
    status: rideFilters.status,
    bike_id: rideFilters.bike_id,
    station_id: rideFilters.station_id,
    started_after: rideFilters.started_after,
    started_before: rideFilters.started_before,
  })
  .strict();
export type RideQuery = z.infer<typeof rideQuery>;

/** The most bikes outside stations that a map gets. */
export const MAX_MAPPED_BIKES = 20_000;

const freeBikes = z
  .object({
    data: z.array(
      z.object({ id: identifier, number: z.string().nullable(), lat: z.number(), lon: z.number() }).strict(),
    ),
    is_complete: z.boolean().describe("False: there are more bikes"),
  })
  .strict();
export type FreeBikes = z.infer<typeof freeBikes>;

/** A station going offline or coming back, as the events list has it. */
const stationChange = z
  .object({
    id: z.string(),
    at: timestamp,
    event: z.enum(["station.offline", "station.online"]),
    offline_reason: offlineReason.nullable(),
  })
  .strict();
export type StationChange = z.infer<typeof stationChange>;

const stationHistory = z
  .object({
    station,
    changes: z.array(stationChange).describe("Newest first, of the days for which events are kept"),
    searched_to: timestamp
      .optional()
      .describe("Changes before this time were not searched, because too many stations change"),
  })
  .strict();

/** An event about a station, bike, ride or reservation, and the endpoints that it was delivered to. */
const resourceEvent = z
  .object({
    id: z.string(),
    at: timestamp.describe(
      "When the event happened; for a notice such as `station.updated`: when the change was noticed",
    ),
    event: z.string(),
    deliveries: z.array(
      z
        .object({
          id: identifier,
          partner_id: identifier,
          partner_name: z.string(),
          status: z.enum(["pending", "succeeded", "failed", "held"]),
        })
        .strict(),
    ),
  })
  .strict();
export type ResourceEvent = z.infer<typeof resourceEvent>;

const resourceHistory = z
  .object({
    data: z.array(resourceEvent).describe("Newest first, of the days for which events are kept"),
    is_complete: z.boolean().describe("False: some events are missing, because too many happened or were delivered"),
  })
  .strict();

/** A reservation as the operator sees it: without `rider_ref`, the partner's own reference for the rider. */
const fleetReservation = z
  .object({
    ...reservation.omit({ rider_ref: true }).shape,
    partner_id: identifier,
    partner_name: z.string(),
  })
  .strict();
export type FleetReservation = z.infer<typeof fleetReservation>;

const reservationQuery = z
  .object({
    ...consolePageQuery,
    bike_id: identifierParam.optional(),
    ride_id: identifierParam.optional(),
    partner_id: identifierParam.optional(),
    status: z.literal("active").optional().describe("Only reservations that hold a bike now"),
  })
  .strict()
  .refine(
    ({ bike_id, ride_id, partner_id, status }) =>
      [bike_id, ride_id, partner_id, status].filter((filter) => filter !== undefined).length <= 1,
    { path: ["bike_id"], message: issueText("oneFilter") },
  );
export type ReservationQuery = z.infer<typeof reservationQuery>;

const historyQuery = z.object({ of: z.enum(["station", "bike", "ride", "reservation"]), id: identifierParam }).strict();
export type HistoryQuery = z.infer<typeof historyQuery>;

/** The base path of a system's pages. */
const systemBase = "/console/v1/systems/:system_id";

/** Endpoints with which the operator looks at stations, bikes, rides and reservations. */
export const fleetEndpoints = {
  station: {
    method: "GET",
    path: `${systemBase}/stations/:id`,
    summary: "A station, and when it was offline",
    metadata: consoleNeeds("operator"),
    pathParams: systemItemPath,
    query: noQuery,
    responses: { 200: stationHistory, ...consoleErrors },
  },
  setStationState: {
    method: "PUT",
    path: `${systemBase}/stations/:id/state`,
    summary: "Take a station offline, or bring it back",
    metadata: consoleNeeds("operator", "admin"),
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({ state: z.enum(["online", "offline"]) }).strict(),
    responses: { 200: batchResults, ...consoleErrors, ...consoleBodyErrors },
  },
  bikes: {
    method: "GET",
    path: `${systemBase}/bikes`,
    summary: "Bikes, by id",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: bikeQuery,
    responses: { 200: fleetPage(bike), ...consoleErrors },
  },
  freeBikes: {
    method: "GET",
    path: `${systemBase}/free-bikes`,
    summary: "Available bikes that stand at no station, for a map",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: freeBikes, ...consoleErrors },
  },
  bike: {
    method: "GET",
    path: `${systemBase}/bikes/:id`,
    summary: "A bike",
    metadata: consoleNeeds("operator"),
    pathParams: systemItemPath,
    query: noQuery,
    responses: { 200: z.object({ bike, names: fleetNames }).strict(), ...consoleErrors },
  },
  setBikeState: {
    method: "PUT",
    path: `${systemBase}/bikes/:id/state`,
    summary: "Record that a bike is broken, missing, or fit to ride",
    description:
      "As if the bike had reported the state now. While the bike is on a ride, the state applies once the ride has ended.",
    metadata: consoleNeeds("operator", "admin"),
    pathParams: systemItemPath,
    query: noQuery,
    body: z.object({ state: z.enum(["available", "non_operational", "missing"]) }).strict(),
    responses: { 200: batchResults, ...consoleErrors, ...consoleBodyErrors },
  },
  rides: {
    method: "GET",
    path: `${systemBase}/rides`,
    summary: "Rides, by start, newest first",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: rideQuery,
    responses: { 200: fleetPage(ride), ...consoleErrors },
  },
  ride: {
    method: "GET",
    path: `${systemBase}/rides/:id`,
    summary: "A ride",
    metadata: consoleNeeds("operator"),
    pathParams: systemItemPath,
    query: noQuery,
    responses: { 200: z.object({ ride, names: fleetNames }).strict(), ...consoleErrors },
  },
  endRides: {
    method: "POST",
    path: `${systemBase}/rides/end`,
    summary: "End rides whose end nobody reported",
    description:
      "A bike that reported nothing since its ride began is `missing` afterwards. A ride that ended meanwhile stays as it is, and fails.",
    metadata: consoleNeeds("operator", "admin"),
    pathParams: systemPath,
    query: noQuery,
    body: z.object({ ids: z.array(givenIdentifier).min(1).max(MAX_PAGE_SIZE) }).strict(),
    responses: { 200: batchResults, ...consoleErrors, ...consoleBodyErrors },
  },
  reservations: {
    method: "GET",
    path: `${systemBase}/reservations`,
    summary: "Reservations of all partners, newest first",
    description: "Only those of a bike, a ride or a partner, or only active ones: one filter at a time.",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: reservationQuery,
    responses: { 200: fleetPage(fleetReservation), ...consoleErrors },
  },
  reservation: {
    method: "GET",
    path: `${systemBase}/reservations/:id`,
    summary: "A reservation of any partner",
    metadata: consoleNeeds("operator"),
    pathParams: systemItemPath,
    query: noQuery,
    responses: {
      200: z.object({ reservation: fleetReservation, names: fleetNames }).strict(),
      ...consoleErrors,
    },
  },
  history: {
    method: "GET",
    path: `${systemBase}/history`,
    summary: "The events of a station, bike, ride or reservation, and their deliveries",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: historyQuery,
    responses: { 200: resourceHistory, ...consoleErrors },
  },
} as const;

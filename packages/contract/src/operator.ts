import { extendApi } from "@anatine/zod-openapi";
import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { batchOf, batchResults } from "./batch.ts";
import type { EndpointMetadata } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { identifier } from "./identifier.ts";
import { endReason, riderCategory } from "./rides.ts";

const c = initContract();

/** An instant in a body: RFC 3339 with `Z` or an offset. */
const instant = z.string().datetime({ offset: true, message: "must be an RFC 3339 instant such as 2026-01-31T08:00:00Z" });
const latitude = z.number().min(-90).max(90);
const longitude = z.number().min(-180).max(180);
const count = z.number().int().min(0);

/** A station as the operator describes it. What is left out of a later upsert stays as it was. */
export const stationUpsert = extendApi(
  z
    .object({
      id: identifier,
      name: z.string().min(1).optional().describe("Needed for a new station"),
      short_name: z.string().nullable().optional(),
      lat: latitude.optional().describe("Needed for a new station"),
      lon: longitude.optional().describe("Needed for a new station"),
      address: z.string().nullable().optional(),
      region_id: z.string().nullable().optional(),
      capacity: count.nullable().optional(),
      is_virtual_station: z.boolean().optional(),
      is_installed: z.boolean().optional().describe("True for a new station, when left out"),
      is_renting: z.boolean().optional().describe("True for a new station, when left out"),
      is_returning: z.boolean().optional().describe("True for a new station, when left out"),
      num_docks_available: count.nullable().optional(),
      num_docks_disabled: count.nullable().optional(),
    })
    .strict(),
  { title: "StationUpsert" },
);
export type StationUpsert = z.infer<typeof stationUpsert>;

/** States that a bike's own reports and its upserts may put it into; the others follow from rides and reservations. */
export const reportedVehicleState = z.enum(["available", "non_operational", "non_contactable", "missing", "removed"]);

const bikeFields = {
  vehicle_state: reportedVehicleState.optional(),
  station_id: identifier.nullable().optional().describe("Null: it stands outside a station"),
  lat: latitude.optional(),
  lon: longitude.optional(),
  current_range_meters: count.nullable().optional(),
};

/** A bike as the operator describes it. What is left out of a later upsert stays as it was. */
export const bikeUpsert = extendApi(
  z
    .object({
      id: identifier,
      number: z.string().nullable().optional(),
      vehicle_type_id: identifier.nullable().optional(),
      ...bikeFields,
    })
    .strict(),
  { title: "BikeUpsert" },
);
export type BikeUpsert = z.infer<typeof bikeUpsert>;

/** What a bike says of itself. Reports may come late and twice: what happened last counts, not what arrived last. */
export const bikeReport = extendApi(
  z.object({ id: identifier, at: instant.describe("When it was so"), ...bikeFields }).strict(),
  { title: "BikeReport" },
);
export type BikeReport = z.infer<typeof bikeReport>;

/** A ride begins. */
export const rideStart = extendApi(
  z
    .object({
      id: identifier.describe("Your own id of the ride; the same again changes nothing"),
      bike_id: identifier,
      started_at: instant.optional().describe("Now, when left out"),
      start_station_id: identifier.nullable().optional().describe("Where the bike stands, when left out"),
      rider_category: riderCategory.nullable().optional(),
      reservation_id: identifier.optional().describe("The reservation it fulfils. The bike's own, when left out"),
    })
    .strict(),
  { title: "RideStart" },
);
export type RideStart = z.infer<typeof rideStart>;

/** A ride ends. */
export const rideEnd = extendApi(
  z
    .object({
      id: identifier,
      ended_at: instant.optional().describe("Now, when left out"),
      end_station_id: identifier.nullable().optional().describe("Null or left out: it ended outside a station"),
      lat: latitude.optional().describe("Where it ended outside a station"),
      lon: longitude.optional(),
      distance_meters: count.nullable().optional(),
      end_reason: endReason.exclude(["cancelled"]).optional().describe("`returned` at a station, else `free_floating`, when left out"),
    })
    .strict(),
  { title: "RideEnd" },
);
export type RideEnd = z.infer<typeof rideEnd>;

/** A ride did not come about. */
export const rideCancel = extendApi(
  z.object({ id: identifier, cancelled_at: instant.optional().describe("Now, when left out") }).strict(),
  { title: "RideCancel" },
);
export type RideCancel = z.infer<typeof rideCancel>;

/** A ride that is over, as history. It makes no events and moves no bike. */
export const pastRide = extendApi(
  z
    .object({
      id: identifier,
      bike_id: identifier,
      started_at: instant,
      ended_at: instant,
      start_station_id: identifier.nullable().optional(),
      end_station_id: identifier.nullable().optional(),
      distance_meters: count.nullable().optional(),
      vehicle_type_id: identifier.nullable().optional(),
      rider_category: riderCategory.nullable().optional(),
      end_reason: endReason.nullable().optional(),
    })
    .strict(),
  { title: "PastRide" },
);
export type PastRideUpsert = z.infer<typeof pastRide>;

/** Names a station to which something is done. */
export const stationCommand = extendApi(z.object({ id: identifier }).strict(), { title: "StationCommand" });
export type StationCommand = z.infer<typeof stationCommand>;

const errors = {
  400: errorBody,
  401: errorBody,
  403: errorBody,
  405: errorBody,
  409: errorBody,
  413: errorBody,
  415: errorBody,
  422: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

const metadata: EndpointMetadata = { scope: "operator", idempotent: true };

function batch<const Path extends string, Item extends z.ZodTypeAny>(path: Path, item: Item, title: string, summary: string) {
  return {
    method: "POST",
    path: `/operator/v1/${path}`,
    summary,
    metadata,
    query: z.object({}).strict(),
    body: batchOf(item, title),
    responses: { 200: batchResults, ...errors },
  } as const;
}

/** The interface of the operator's own backend, which feeds the service. Operator keys only. */
export const operatorContract = c.router(
  {
    stations: {
      upsert: batch("stations", stationUpsert, "StationUpserts", "Make or change stations"),
      offline: batch("stations/offline", stationCommand, "StationsOffline", "Take stations offline"),
      online: batch("stations/online", stationCommand, "StationsOnline", "Bring stations back online"),
      remove: batch("stations/remove", stationCommand, "StationsRemove", "Remove stations for good"),
    },
    bikes: {
      upsert: batch("bikes", bikeUpsert, "BikeUpserts", "Make or change bikes"),
      report: batch("bikes/reports", bikeReport, "BikeReports", "Report bikes' states and positions"),
    },
    rides: {
      upsertPast: batch("rides", pastRide, "PastRides", "Add past rides"),
      start: batch("rides/start", rideStart, "RideStarts", "Start rides"),
      end: batch("rides/end", rideEnd, "RideEnds", "End rides"),
      cancel: batch("rides/cancel", rideCancel, "RideCancels", "Cancel rides"),
    },
  },
  { strictStatusCodes: true },
);

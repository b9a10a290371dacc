import { z } from "zod";
import { COUNTABLE_FROM_SECONDS } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { changesQuery, followedListOf, pagingQuery } from "./paging.ts";
import { givenOnce, identifier, identifierParam, instantParam, timestamp } from "./values.ts";

export const rideStatus = z.enum(["started", "completed", "cancelled"]);
export const endReason = z.enum(["returned", "free_floating", "operator", "timeout", "cancelled"]);
export const riderCategory = z.enum(["member", "casual"]);

export const ride = namedObject("Ride", "A bike's trip from start to end. Who rode is never shown.", {
  id: identifier,
  bike_id: identifier,
  status: rideStatus.describe("`started` → `completed` or `cancelled`, both final"),
  start_station_id: identifier.nullable().describe("Null when the ride began outside a station"),
  end_station_id: identifier.nullable().describe("Null until the end, and when the ride ended outside a station"),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
  duration_seconds: z.number().int().min(0).nullable(),
  distance_meters: z.number().int().min(0).nullable(),
  vehicle_type_id: z.string().nullable(),
  rider_category: riderCategory.nullable(),
  end_reason: endReason.nullable(),
  is_countable: z.boolean().nullable().describe(`Whether the ride lasted ${COUNTABLE_FROM_SECONDS} s or more`),
  updated_at: timestamp.describe("When this object last changed"),
});
export type Ride = z.infer<typeof ride>;

export const rideList = followedListOf(ride, { title: "RideList", description: "One page of rides." });

/** The filters of the ride list. */
export const rideFilters = {
  status: z.enum(rideStatus.options, givenOnce()).optional().describe("Only rides in this state"),
  bike_id: identifierParam.optional().describe("Only rides of this bike"),
  station_id: identifierParam.optional().describe("Only rides that started or ended at this station"),
  started_after: instantParam.optional().describe("Only rides that started at or after this instant"),
  started_before: instantParam.optional().describe("Only rides that started before this instant"),
  updated_since: instantParam.optional().describe("Only rides changed at or after this instant"),
  ...changesQuery,
};

export const rideListQuery = z.object({ ...pagingQuery, ...rideFilters }).strict();

import { z } from "zod";
import { namedObject } from "./named-object.ts";
import { changesQuery, followedListOf, pagingQuery } from "./paging.ts";
import { givenOnce, identifier, identifierParam, boundingBoxParam, instantParam, timestamp } from "./values.ts";

/** States of a vehicle, in the words of MDS 2.0. */
export const vehicleState = z.enum([
  "available",
  "reserved",
  "on_trip",
  "non_operational",
  "non_contactable",
  "missing",
  "removed",
]);

export const bike = namedObject("Bike", "A bike, or another vehicle that is shared the same way.", {
  id: identifier,
  number: z.string().nullable().describe("The number or name painted on the bike; null: not known"),
  vehicle_type_id: z.string().nullable().describe("The bike's type, listed at `/v1/vehicle_types`; null: not known"),
  vehicle_state: vehicleState,
  station_id: identifier
    .nullable()
    .describe("The station where the bike stands; null: outside a station, or on a trip"),
  lat: z.number().min(-90).max(90).nullable().describe("WGS 84 degrees; null: on a trip, or not known"),
  lon: z.number().min(-180).max(180).nullable().describe("WGS 84 degrees; null: on a trip, or not known"),
  current_range_meters: z.number().int().min(0).nullable(),
  last_reported: timestamp.nullable().describe("When the bike itself last reported; null: not known"),
  updated_at: timestamp.describe("When this object last changed"),
});
export type Bike = z.infer<typeof bike>;

export const bikeList = followedListOf(bike, { title: "BikeList", description: "One page of bikes." });

/** The filters of the bike list. */
export const bikeFilters = {
  vehicle_state: z.enum(vehicleState.options, givenOnce()).optional().describe("Only bikes in this state"),
  station_id: identifierParam.optional().describe("Only bikes at this station"),
  bbox: boundingBoxParam
    .optional()
    .describe(
      "Only bikes within `min_lon,min_lat,max_lon,max_lat` (WGS 84 degrees, borders included); a min_lon greater than max_lon crosses the antimeridian. Bikes without a position, such as those on a trip, are left out",
    ),
  updated_since: instantParam.optional().describe("Only bikes changed at or after this instant"),
  ...changesQuery,
};

export const bikeListQuery = z.object({ ...pagingQuery, ...bikeFilters }).strict();

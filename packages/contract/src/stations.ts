import { z } from "zod";
import { namedObject } from "./named-object.ts";
import { changesQuery, followedListOf, pagingQuery } from "./paging.ts";
import { givenOnce, identifier, identifierParam, boundingBoxParam, instantParam, timestamp } from "./values.ts";

export const stationStatus = z.enum(["planned", "online", "offline", "removed"]);
/**
 * Why a station is offline. `flags`: its own flags say that it does not work. `operator`: the operator took it offline.
 * `removed_from_source`: its feed no longer lists it. `stale`: it has not reported for too long.
 */
export const offlineReason = z.enum(["flags", "operator", "removed_from_source", "stale"]);

export const station = namedObject(
  "Station",
  "A place where bikes are rented and returned: its description and its present state in one object.",
  {
    id: identifier.describe("The operator's own station id: stable, never reused"),
    name: z.string(),
    short_name: z.string().nullable(),
    lat: z.number().min(-90).max(90).describe("WGS 84 degrees"),
    lon: z.number().min(-180).max(180).describe("WGS 84 degrees"),
    address: z.string().nullable(),
    region_id: z.string().nullable().describe("The station's region, listed at `/v1/regions`; null: none"),
    capacity: z
      .number()
      .int()
      .min(0)
      .nullable()
      .describe("Total number of docks, as published; may differ from the sum of the counts"),
    is_virtual_station: z.boolean().describe("True: a marked area without docks"),
    is_installed: z.boolean(),
    is_renting: z.boolean(),
    is_returning: z.boolean(),
    num_bikes_available: z.number().int().min(0).describe("Bikes that can be rented or reserved now"),
    num_bikes_reserved: z.number().int().min(0).describe("Bikes held by reservations"),
    num_bikes_disabled: z.number().int().min(0).nullable(),
    num_docks_available: z
      .number()
      .int()
      .min(0)
      .nullable()
      .describe("As published, never derived from `capacity`; null: not published"),
    num_docks_disabled: z.number().int().min(0).nullable(),
    vehicle_types_available: z
      .array(z.object({ vehicle_type_id: z.string(), count: z.number().int().min(0) }).strict())
      .describe(
        "Bikes available, by vehicle type. The counts add up to `num_bikes_available`, minus the bikes of unknown type",
      ),
    status: stationStatus.describe("`planned` → `online` ⇄ `offline` → `removed`"),
    offline_reason: offlineReason.nullable().describe("Why the station is offline"),
    last_reported: timestamp.nullable().describe("When the station itself last reported; null: not known"),
    updated_at: timestamp.describe("When this object last changed"),
  },
);
export type Station = z.infer<typeof station>;

/** A station as a response shows it: at present, or as it was at an instant. */
export const stationAt = namedObject("StationAt", "A station as it is now or, with `at`, as it was at that instant.", {
  ...station.shape,
  as_of: timestamp.optional().describe("Only with `at`: the instant at which the station is shown"),
});
export type StationAt = z.infer<typeof stationAt>;

export const stationList = followedListOf(stationAt, { title: "StationList", description: "One page of stations." });

/** The query parameter `at`: the instant at which stations are shown. `parameterScopes` names the scope that it needs. */
const atParam = instantParam
  .optional()
  .describe(
    "Shows stations as they were at this instant: counters, status and flags of then, but names, positions and " +
      "capacities of today. `last_reported` is null. Stations that were not known yet are left out. Needs the scope " +
      "`history:read` too. RFC 3339 with `Z` or an offset; write the `+` of an offset as `%2B`",
  );

/** The query of one station. */
export const stationQuery = z.object({ at: atParam }).strict();

/** The filters of the station list. */
export const stationFilters = {
  at: atParam,
  status: z.enum(stationStatus.options, givenOnce()).optional().describe("Only stations in this state"),
  region_id: identifierParam.optional().describe("Only stations of this region"),
  bbox: boundingBoxParam
    .optional()
    .describe(
      "Only stations within `min_lon,min_lat,max_lon,max_lat` (WGS 84 degrees, borders included); a min_lon greater than max_lon crosses the antimeridian",
    ),
  updated_since: instantParam.optional().describe("Only stations changed at or after this instant"),
  ...changesQuery,
};

export const stationListQuery = z.object({ ...pagingQuery, ...stationFilters }).strict();

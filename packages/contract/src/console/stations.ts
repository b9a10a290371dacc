import { z } from "zod";
import { stationHistory, stationHistoryQuery } from "../history.ts";
import { offlineReason, stationStatus } from "../stations.ts";
import { identifier, identifierParam, instantParam, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";

const count = z.number().int().min(0);

/** A station as the map and the table show it. */
const mappedStation = z
  .object({
    id: identifier,
    name: z.string(),
    lat: z.number(),
    lon: z.number(),
    capacity: count.nullable(),
    region_id: identifier.nullable(),
    bikes: count.describe("Bikes that can be rented or reserved now"),
    docks: count.nullable().describe("Free docks; null: not published"),
    is_renting: z.boolean(),
    is_returning: z.boolean(),
    status: stationStatus,
    offline_reason: offlineReason.nullable(),
    last_reported: timestamp.nullable(),
  })
  .strict();
export type MappedStation = z.infer<typeof mappedStation>;

/** All stations in one response, ordered by id, because a map cannot be read page by page. */
export const stationMap = z
  .object({
    data: z.array(mappedStation),
    time_zone: z.string().describe("The system's time zone, in which days begin"),
    regions: z.array(z.object({ id: identifier, name: z.string() }).strict()),
    tiles: z
      .object({ url: z.string().describe("Address of the tiles, with `{z}`, `{x}`, `{y}`"), attribution: z.string() })
      .strict()
      .nullable()
      .describe("The source of the map's tiles; null: a map without streets"),
  })
  .strict();
export type StationMap = z.infer<typeof stationMap>;

const list = {
  method: "GET",
  description:
    "The response has an `ETag`, so that asking again costs little. With `at`: the stations as they were at that instant.",
  query: z.object({ at: instantParam.optional() }).strict(),
  responses: { 200: stationMap, ...consoleErrors },
} as const;

const history = {
  method: "GET",
  query: stationHistoryQuery,
  responses: { 200: stationHistory, ...consoleErrors },
} as const;

const ofSystem = "/console/v1/systems/:system_id";
const ofPartner = `${ofSystem}/partners/:partner_id`;

/** Endpoints with which a partner sees the system's stations. */
export const partnerStationEndpoints = {
  list: {
    ...list,
    path: `${ofPartner}/stations`,
    summary: "The system's stations, as partners see them",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
  },
  history: {
    ...history,
    path: `${ofPartner}/stations/:id/history`,
    summary: "A station over time",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath.extend({ id: identifierParam }),
  },
} as const;

/** Endpoints with which the operator sees the system's stations. */
export const systemStationEndpoints = {
  list: {
    ...list,
    path: `${ofSystem}/stations`,
    summary: "The system's stations",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
  },
  history: {
    ...history,
    path: `${ofSystem}/stations/:id/history`,
    summary: "A station over time",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath.extend({ id: identifierParam }),
  },
} as const;

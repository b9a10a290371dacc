import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import {
  dayParam,
  fleetByState,
  forecastQuery,
  stationForecast,
  stationTypical,
  summaryQuery,
  summaryStep,
  systemSummary,
} from "../sums.ts";
import { givenOnce, identifier, identifierParam, instantParam, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";

/*
 * Sums for the dashboard: figures that are added up from rides and from the states of stations. The dashboard shows the
 * operator more than partners get by ../sums.ts: the city now, each station over a period, and a comparison with the period
 * before. Background work adds the sums up: those of an answer include everything before its `summed_to`, which is null
 * while nothing has been added up. What holds now is read when asked.
 */

const count = z.number().int().min(0);

/** A station that is empty, full or offline, and since when. */
const lastingStation = z
  .object({
    id: identifier,
    name: z.string(),
    bikes: count,
    docks: count.nullable(),
    since: timestamp.nullable().describe("Null: longer than the history goes back"),
  })
  .strict();
export type LastingStation = z.infer<typeof lastingStation>;

const lastingStations = z
  .object({
    count,
    data: z.array(lastingStation).describe("The longest first, at most 100"),
  })
  .strict();

/** The rides of a day, compared at the same time of day. */
const ridesOfDay = z
  .object({
    day: z.string(),
    until_now: count.describe("Rides that started by this time of the day"),
    whole_day: count.nullable().describe("Rides of the whole day; null: the day is not over"),
  })
  .strict();

/** The city at this moment. */
const glance = z
  .object({
    at: timestamp,
    time_zone: z.string(),
    fleet: fleetByState,
    stations: z
      .object({ online: count, empty: lastingStations, full: lastingStations, offline: lastingStations })
      .strict(),
    rides: z
      .object({
        under_way: count,
        under_way_long: count.describe("Rides under way for longer than `long_after_seconds`"),
        long_after_seconds: count,
        today: ridesOfDay,
        before: z
          .array(ridesOfDay)
          .describe("The same weekday in the four weeks before, newest first, as far as there is history"),
        usual_until_now: z.number().min(0).nullable().describe("The mean of `before`; null: there is none"),
        summed_to: timestamp.nullable(),
      })
      .strict(),
    recent: z.array(summaryStep).describe("The last 24 hours by quarters of an hour, for sparklines"),
  })
  .strict();
export type Glance = z.infer<typeof glance>;

const consoleSummary = systemSummary.extend({
  before: z.array(summaryStep).describe("The period before, with as many steps; empty: not asked for"),
});
export type ConsoleSummary = z.infer<typeof consoleSummary>;

const consoleSummaryQuery = summaryQuery
  .extend({
    against: extendApi(z.enum(["previous", "none"], givenOnce()).optional(), {
      description: "The period to compare with: the previous one, or none",
      default: "none",
    }),
  })
  .strict();
export type ConsoleSummaryQuery = z.infer<typeof consoleSummaryQuery>;

/** What happened at a station during a period. */
const stationSums = z
  .object({
    id: identifier,
    rides_started: count,
    rides_ended: count,
    minutes_empty: z.number().min(0),
    minutes_full: z.number().min(0),
    minutes_offline: z.number().min(0),
    bikes: z.number().min(0).nullable().describe("The mean number over time; null: the station was never online"),
  })
  .strict();
export type StationSums = z.infer<typeof stationSums>;

const stationSumsList = z
  .object({
    from: timestamp,
    to: timestamp,
    summed_to: timestamp.nullable(),
    data: z.array(stationSums).describe("Sorted by id; stations without rides and without a known state are left out"),
  })
  .strict();
export type StationSumsList = z.infer<typeof stationSumsList>;

const stationSumsQuery = z
  .object({
    from: instantParam.optional().describe("Rounded down to the hour; midnight of today, when left out"),
    to: instantParam.optional().describe("Rounded up to the hour; now, when left out. At most 31 days"),
  })
  .strict();
export type StationSumsQuery = z.infer<typeof stationSumsQuery>;

const recentFlows = z
  .object({
    from: timestamp,
    to: timestamp,
    data: z
      .array(z.object({ start_station_id: identifier, end_station_id: identifier, rides: count }).strict())
      .describe("Rides that ended in the last hour, the most frequent pairs first, at most 500"),
    rides: count.describe("Number of rides in all pairs"),
  })
  .strict();
export type RecentFlows = z.infer<typeof recentFlows>;

const weekCell = z
  .object({
    weekday: z.number().int().min(1).max(7).describe("1 is Monday"),
    hour: z.number().int().min(0).max(23).describe("In the system's time zone"),
    hours: count.describe("Number of hours that the numbers come from"),
    bikes: z.number().min(0).nullable().describe("The mean number; null: the station was never online then"),
    rides_started: z.number().min(0).describe("The mean per hour"),
    rides_ended: z.number().min(0).describe("The mean per hour"),
    minutes_empty: z.number().min(0).max(60).describe("The mean per hour"),
    minutes_full: z.number().min(0).max(60).describe("The mean per hour"),
  })
  .strict();

const stationWeek = z
  .object({
    station_id: identifier,
    time_zone: z.string(),
    from: timestamp.nullable().describe("The first hour that counts; null: nothing is known yet"),
    data: z.array(weekCell).describe("Of the last 8 weeks, by weekday and hour; hours without data have no cell"),
  })
  .strict();
export type StationWeek = z.infer<typeof stationWeek>;

const neighbour = z
  .object({
    station_id: identifier,
    name: z.string().nullable(),
    lat: z.number().nullable(),
    lon: z.number().nullable(),
    rides: count,
  })
  .strict();

const stationFlows = z
  .object({
    station_id: identifier,
    from: z.string(),
    to: z.string(),
    time_zone: z.string(),
    summed_to: timestamp.nullable(),
    out: z.array(neighbour).describe("Where rides that started here went, the most frequent first, at most 50"),
    in: z.array(neighbour).describe("Where rides that ended here came from, the most frequent first, at most 50"),
    rides_out: count.describe("All rides that started here and ended at a station"),
    rides_in: count,
  })
  .strict();
export type StationFlows = z.infer<typeof stationFlows>;

const stationFlowsQuery = z
  .object({
    from: dayParam.optional().describe("The first day; 27 days before `to`, when left out"),
    to: dayParam.optional().describe("The last day; today, when left out"),
  })
  .strict();
export type StationFlowsQuery = z.infer<typeof stationFlowsQuery>;

/** The base path of a system's pages. */
const systemBase = "/console/v1/systems/:system_id";
const partnerBase = `${systemBase}/partners/:partner_id`;
const stationOfSystem = systemPath.extend({ id: identifierParam });
const stationOfPartner = partnerPath.extend({ id: identifierParam });

/** Endpoints with which the operator sees the system now and over time. */
export const systemSumsEndpoints = {
  glance: {
    method: "GET",
    path: `${systemBase}/glance`,
    summary: "Bikes, stations and rides now, compared with the usual",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: glance, ...consoleErrors },
  },
  summary: {
    method: "GET",
    path: `${systemBase}/summary`,
    summary: "Fleet, rides and stations over time, and the period before",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: consoleSummaryQuery,
    responses: { 200: consoleSummary, ...consoleErrors },
  },
  stations: {
    method: "GET",
    path: `${systemBase}/station-sums`,
    summary: "Rides and minutes empty, full and offline of each station",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: stationSumsQuery,
    responses: { 200: stationSumsList, ...consoleErrors },
  },
  recentFlows: {
    method: "GET",
    path: `${systemBase}/recent-flows`,
    summary: "Where the rides of the last hour went",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: recentFlows, ...consoleErrors },
  },
  typical: {
    method: "GET",
    path: `${systemBase}/stations/:id/typical`,
    summary: "A station's usual day",
    metadata: consoleNeeds("operator"),
    pathParams: stationOfSystem,
    query: noQuery,
    responses: { 200: stationTypical, ...consoleErrors },
  },
  forecast: {
    method: "GET",
    path: `${systemBase}/stations/:id/forecast`,
    summary: "A station's forecast",
    metadata: consoleNeeds("operator"),
    pathParams: stationOfSystem,
    query: forecastQuery,
    responses: { 200: stationForecast, ...consoleErrors },
  },
  week: {
    method: "GET",
    path: `${systemBase}/stations/:id/week`,
    summary: "A station by weekday and hour",
    metadata: consoleNeeds("operator"),
    pathParams: stationOfSystem,
    query: noQuery,
    responses: { 200: stationWeek, ...consoleErrors },
  },
  flows: {
    method: "GET",
    path: `${systemBase}/stations/:id/flows`,
    summary: "Where a station's rides come from and go to",
    metadata: consoleNeeds("operator"),
    pathParams: stationOfSystem,
    query: stationFlowsQuery,
    responses: { 200: stationFlows, ...consoleErrors },
  },
} as const;

/** Endpoints with which partners see stations over time. */
export const partnerSumsEndpoints = {
  typical: {
    method: "GET",
    path: `${partnerBase}/stations/:id/typical`,
    summary: "A station's usual day",
    metadata: consoleNeeds("partner"),
    pathParams: stationOfPartner,
    query: noQuery,
    responses: { 200: stationTypical, ...consoleErrors },
  },
  week: {
    method: "GET",
    path: `${partnerBase}/stations/:id/week`,
    summary: "A station by weekday and hour",
    metadata: consoleNeeds("partner"),
    pathParams: stationOfPartner,
    query: noQuery,
    responses: { 200: stationWeek, ...consoleErrors },
  },
} as const;

import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { errors, idParam, needs, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import {
  FORECAST_MIN_DAYS,
  HISTORY_RETENTION_DAYS,
  MAX_FLOW_DAYS,
  MAX_SUMMARY_STEPS,
  MIN_FLOW_RIDES,
  SYSTEM_SUM_RETENTION_YEARS,
  TYPICAL_MIN_DAYS,
} from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { pagingQuery } from "./paging.ts";
import { dayKinds, forecastHorizons, summarySteps } from "./sum-words.ts";
import { givenOnce, identifier, identifierParam, instantParam, textOf, timestamp } from "./values.ts";

/*
 * The contract of sums: figures that the service adds up from rides and from the states of stations. They are the summary of
 * the system, flows between stations, a station's usual day, and its forecast, which is made from such days.
 */

const count = z.number().int().min(0);
const mean = z.number().min(0);
const share = z.number().min(0).max(1);

/** A day in the system's time zone. */
const day = z.string().describe("A day in the system's time zone, such as `2026-03-14`");

const timeZone = z.string().describe("The system's time zone, in which days begin and end");

const summedTo = timestamp
  .nullable()
  .describe("The numbers include everything before this instant; null: nothing has been summed yet");

/** Bikes by state at a time. */
export const fleetByState = namedObject(
  "FleetByState",
  "Bikes by state. Null: the number is not known for this time.",
  {
    available: mean.nullable().describe("Ready to be rented"),
    reserved: mean.nullable().describe("Held for a rider"),
    on_trip: mean.nullable().describe("On a ride"),
    disabled: mean.nullable().describe("Out of order, or out of reach"),
    missing: mean.nullable().describe("Not found where they should be"),
  },
);
export type FleetByState = z.infer<typeof fleetByState>;

const stationsByState = z
  .object({
    online: mean.describe("Renting or taking bikes back"),
    empty: mean.describe("Online without a bike to rent"),
    full: mean.describe("Online without a free dock"),
    offline: mean,
  })
  .strict();

export const summaryStep = namedObject("SummaryStep", "What happened in one step of time.", {
  from: timestamp,
  to: timestamp.describe("The end of the step, and start of the next"),
  rides_started: count.nullable().describe("Without cancelled rides; null: not summed yet, or no longer kept"),
  rides_ended: count.nullable(),
  fleet: fleetByState.nullable().describe("The mean over the step; null: nothing was recorded in the step"),
  stations: stationsByState.nullable().describe("The mean over the step; null: nothing was recorded in the step"),
});
export type SummaryStep = z.infer<typeof summaryStep>;

const summaryFields = {
  step: z.enum(summarySteps),
  time_zone: timeZone,
  summed_to: summedTo,
  data: z.array(summaryStep).describe("Every step, oldest first, including steps without rides"),
};

export const systemSummary = namedObject(
  "SystemSummary",
  "Fleet, rides and stations of a system over time.",
  summaryFields,
);
export type SystemSummary = z.infer<typeof systemSummary>;

const stepDescription =
  "The length of a step: a quarter of an hour, an hour (both of UTC) or a day of the system's time zone, which has " +
  "23 or 25 hours when the clocks change";

export const summaryQuery = z
  .object({
    from: instantParam
      .optional()
      .describe("The start, rounded down to a whole step; one day before `to`, when left out"),
    to: instantParam.optional().describe("The end, rounded up to a whole step; now, when left out"),
    step: extendApi(z.enum(summarySteps, givenOnce()).optional(), { description: stepDescription, default: "PT1H" }),
  })
  .strict();
export type SummaryQuery = z.infer<typeof summaryQuery>;

/** A day in a query string. */
export const dayParam = textOf("day", givenOnce());

export const flow = namedObject("Flow", "Rides between two stations.", {
  start_station_id: identifier,
  end_station_id: identifier.describe("The same as `start_station_id` for rides that returned to their start"),
  rides: count.describe("Completed rides that started on these days"),
});
export type Flow = z.infer<typeof flow>;

const leftOut = z
  .object({ pairs: count, rides: count })
  .strict()
  .describe(
    `The number of pairs with fewer than ${MIN_FLOW_RIDES} rides, which could reveal one person's trip, and of their ` +
      "rides. Each page counts only its own part of the list: add up all pages for the total",
  );

export const flowList = namedObject("FlowList", "One page of flows.", {
  from: day,
  to: day,
  time_zone: timeZone,
  summed_to: summedTo,
  data: z.array(flow).describe("By `start_station_id`, then `end_station_id`; may be empty before the last page"),
  left_out: leftOut,
  next_cursor: z.string().min(1).optional().describe("Opaque cursor of the next page; absent on the last page"),
});
export type FlowList = z.infer<typeof flowList>;

export const flowQuery = z
  .object({
    from: dayParam.optional().describe("The first day; 6 days before `to`, when left out"),
    to: dayParam.optional().describe("The last day, which is included; yesterday, when left out"),
    station_id: identifierParam.optional().describe("Only rides that start or end at this station"),
    limit: pagingQuery.limit,
    cursor: pagingQuery.cursor,
  })
  .strict();
export type FlowQuery = z.infer<typeof flowQuery>;

/** How a number is distributed over the days. */
const spread = z
  .object({
    low: mean.describe("The 10th percentile: 9 of 10 days had at least this many"),
    median: mean,
    high: mean.describe("The 90th percentile: 9 of 10 days had at most this many"),
  })
  .strict();

const typicalQuarter = z
  .object({
    time: z.string().describe("When the quarter of an hour begins, in the system's time zone, such as `08:15`"),
    bikes: spread.nullable().describe("Null: the station was never online at this time"),
    docks: spread.nullable().describe("Null: free docks are not published"),
    empty: share.nullable().describe("Share of the days, from 0 to 1, on which the station had no bike"),
    full: share.nullable().describe("Share of the days, from 0 to 1, on which the station had no free dock"),
  })
  .strict();

const readiness = {
  is_ready: z.boolean().describe("False: too few days are known yet"),
  days_known: count.describe("Days of the last 8 weeks for which the station's state is known"),
  since: timestamp.nullable().describe("The first hour for which the station's state is known; null: none"),
  ready_at: timestamp
    .nullable()
    .describe("When enough days will be known, if none is missed; null: ready already, or nothing known yet"),
};

export const stationTypical = namedObject("StationTypical", "A usual day of a station, by kind of day.", {
  station_id: identifier,
  time_zone: timeZone,
  ...readiness,
  data: z
    .array(
      z
        .object({
          kind: z.enum(dayKinds),
          days: count.describe("Number of days that the numbers come from"),
          quarters: z.array(typicalQuarter).describe("96 quarters of an hour, from midnight on"),
        })
        .strict(),
    )
    .describe(`Empty until ${TYPICAL_MIN_DAYS} days are known`),
});
export type StationTypical = z.infer<typeof stationTypical>;

const accuracy = z
  .object({
    brier: mean.describe("Mean squared error (Brier score) of `bikes.at_least_one`: 0 is perfect"),
    pinball: mean.describe("Mean pinball loss of `low`, `median` and `high` of `bikes`, in bikes: 0 is perfect"),
  })
  .strict();

const forecastNumber = spread.extend({
  now: count.describe("The number at the station now"),
  at_least_one: share.describe("The probability, from 0 to 1, of at least one"),
});

export const stationForecast = namedObject(
  "StationForecast",
  "How many bikes and docks a station is expected to have.",
  {
    station_id: identifier,
    made_at: timestamp,
    for: timestamp.describe("The instant for which the forecast is made"),
    horizon: z.enum(forecastHorizons),
    ...readiness,
    method: z
      .enum(["change", "as_now"])
      .describe(
        "`change`: from how the station changed after this time of day, on days of this kind; `as_now`: the numbers of " +
          "now, because `change` has been no better at this station, or too few days are known",
      ),
    bikes: forecastNumber,
    docks: forecastNumber.nullable().describe("Null: free docks are not published"),
    score: z
      .object({
        tried: count.describe("Number of forecasts of the last 14 days that were compared with the actual numbers"),
        change: accuracy,
        as_now: accuracy,
      })
      .strict()
      .nullable()
      .describe(
        `How accurate both methods were at this station; null: fewer than ${FORECAST_MIN_DAYS} days known, or nothing to compare`,
      ),
  },
);
export type StationForecast = z.infer<typeof stationForecast>;

export const forecastQuery = z
  .object({
    horizon: extendApi(z.enum(forecastHorizons, givenOnce()).optional(), {
      description: "How far ahead to forecast",
      default: "PT30M",
    }),
  })
  .strict();
export type ForecastQuery = z.infer<typeof forecastQuery>;

const kept = `Kept for ${HISTORY_RETENTION_DAYS} days.`;

/** The endpoints of a station's usual day and of its forecast. */
export const stationSumEndpoints = {
  typical: {
    method: "GET",
    path: "/v1/stations/:id/typical",
    summary: "A station's usual day",
    description:
      "Bikes and docks by kind of day and quarter of an hour, of the last 8 weeks. While fewer than " +
      `${TYPICAL_MIN_DAYS} days are known, \`data\` is empty, and \`ready_at\` says when enough will be known.`,
    metadata: needs("history:read"),
    pathParams: idParam,
    query: noQuery,
    responses: { 200: stationTypical, 404: errorBody, ...errors },
  },
  forecast: {
    method: "GET",
    path: "/v1/stations/:id/forecast",
    summary: "A station's forecast",
    description:
      "How many bikes and docks there will be, and the probability of at least one, from how the station changed at this " +
      `time on days of this kind, once ${FORECAST_MIN_DAYS} days are known. \`score\` compares such forecasts with ` +
      "assuming no change; where they were no better, `method` is `as_now` and the forecast is the number of now.",
    metadata: needs("history:read"),
    pathParams: idParam,
    query: forecastQuery,
    responses: { 200: stationForecast, 404: errorBody, ...errors },
  },
} as const;

/** The endpoint of flows: how many rides go from one station to another. */
export const flowEndpoints = {
  list: {
    method: "GET",
    path: "/v1/flows",
    summary: "List flows",
    description:
      `Numbers of completed rides between pairs of stations, by the days of their start; at most ${MAX_FLOW_DAYS} days at ` +
      `once. Pairs with fewer than ${MIN_FLOW_RIDES} rides are only counted, in \`left_out\`. ${kept}`,
    metadata: needs("history:read"),
    query: flowQuery,
    responses: { 200: flowList, ...errors },
  },
} as const;

/** The endpoint of sums over the whole system. */
export const systemSumEndpoints = {
  summary: {
    method: "GET",
    path: "/v1/system/summary",
    summary: "The system over time",
    description:
      "Rides, the fleet by state, and stations that were empty, full or offline, step by step; at most " +
      `${MAX_SUMMARY_STEPS} steps. Late reports, corrections and imports are included within minutes. Kept for ` +
      `${SYSTEM_SUM_RETENTION_YEARS} years.`,
    metadata: needs("history:read"),
    query: summaryQuery,
    responses: { 200: systemSummary, ...errors },
  },
} as const;

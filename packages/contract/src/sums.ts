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

const count = z.number().int().min(0);
const mean = z.number().min(0);
const share = z.number().min(0).max(1);

/** A day in the system's time zone. */
const day = z.string().describe("A day in the system's time zone, such as `2026-03-14`");

const timeZone = z.string().describe("The system's time zone, in which days begin and end");

const summedTo = timestamp
  .nullable()
  .describe("What happened before this is in the numbers; null: nothing has been summed yet");

/** Bikes by state at a time. */
export const fleetByState = namedObject("FleetByState", "Bikes by state. Null: it is not known for this time.", {
  available: mean.nullable().describe("Ready to be rented"),
  reserved: mean.nullable().describe("Held for a rider"),
  on_trip: mean.nullable().describe("On a ride"),
  disabled: mean.nullable().describe("Out of order, or out of reach"),
  missing: mean.nullable().describe("Not found where they should be"),
});
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
  to: timestamp.describe("The end, which the next step begins with"),
  rides_started: count.nullable().describe("Cancelled rides left out; null: not summed yet, or no longer kept"),
  rides_ended: count.nullable(),
  fleet: fleetByState.nullable().describe("The mean over the step; null: nothing was recorded in it"),
  stations: stationsByState.nullable().describe("The mean over the step; null: nothing was recorded in it"),
});
export type SummaryStep = z.infer<typeof summaryStep>;

const summaryFields = {
  step: z.enum(summarySteps),
  time_zone: timeZone,
  summed_to: summedTo,
  data: z.array(summaryStep).describe("Every step, oldest first, also those without rides"),
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
    from: instantParam.optional().describe("Rounded down to a whole step; a day before `to`, when left out"),
    to: instantParam.optional().describe("Rounded up to a whole step; now, when left out"),
    step: extendApi(z.enum(summarySteps, givenOnce()).optional(), { description: stepDescription, default: "PT1H" }),
  })
  .strict();
export type SummaryQuery = z.infer<typeof summaryQuery>;

/** A day in a query string. */
export const dayParam = textOf("day", givenOnce());

export const flow = namedObject("Flow", "Rides between two stations.", {
  start_station_id: identifier,
  end_station_id: identifier.describe("The same as `start_station_id` for rides that came back"),
  rides: count.describe("Completed rides that started on these days"),
});
export type Flow = z.infer<typeof flow>;

const leftOut = z
  .object({ pairs: count, rides: count })
  .strict()
  .describe(
    `Pairs with fewer than ${MIN_FLOW_RIDES} rides, which could show one person's way, and their rides: those that lie ` +
      "between the page before and this one in the order of the list. Add up all pages for the whole",
  );

export const flowList = namedObject("FlowList", "One page of flows.", {
  from: day,
  to: day,
  time_zone: timeZone,
  summed_to: summedTo,
  data: z.array(flow).describe("By `start_station_id`, then `end_station_id`; may be empty before the last page"),
  left_out: leftOut,
  next_cursor: z
    .string()
    .min(1)
    .optional()
    .describe("Opaque marker of the next page; absent when the list is finished"),
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
    low: mean.describe("The 10th percentile: 9 of 10 days had at least so many"),
    median: mean,
    high: mean.describe("The 90th percentile: 9 of 10 days had at most so many"),
  })
  .strict();

const typicalQuarter = z
  .object({
    time: z.string().describe("When the quarter of an hour begins, in the system's time zone, such as `08:15`"),
    bikes: spread.nullable().describe("Null: the station was never online then"),
    docks: spread.nullable().describe("Null: free docks are not published"),
    empty: share.nullable().describe("Share of the days on which it had no bike"),
    full: share.nullable().describe("Share of the days on which it had no free dock"),
  })
  .strict();

const readiness = {
  is_ready: z.boolean().describe("False: too few days are known yet"),
  days_known: count.describe("Days of the station that are known"),
  since: timestamp.nullable().describe("The first hour that is known; null: none is"),
  ready_at: timestamp.nullable().describe("When enough will be known if nothing is missed; null once it is ready"),
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
          days: count.describe("Days that the numbers come from"),
          quarters: z.array(typicalQuarter).describe("96, from midnight on"),
        })
        .strict(),
    )
    .describe(`Empty until ${TYPICAL_MIN_DAYS} days are known`),
});
export type StationTypical = z.infer<typeof stationTypical>;

const accuracy = z
  .object({
    brier: mean.describe("Mean squared error of `at_least_one` of bikes: 0 is perfect"),
    pinball: mean.describe("Mean pinball loss of `low`, `median` and `high` of bikes, in bikes: 0 is perfect"),
  })
  .strict();

const forecastNumber = spread.extend({
  now: count.describe("What the station has now"),
  at_least_one: share.describe("The chance that there is at least one"),
});

export const stationForecast = namedObject("StationForecast", "What a station is expected to have in a while.", {
  station_id: identifier,
  made_at: timestamp,
  for: timestamp.describe("When it is expected"),
  horizon: z.enum(forecastHorizons),
  ...readiness,
  method: z
    .enum(["change", "as_now"])
    .describe(
      "`change`: from how the station changed from this time of the day on, on such days; `as_now`: it is taken to stay as " +
        "it is, because that has been no worse here, or too few days are known",
    ),
  bikes: forecastNumber,
  docks: forecastNumber.nullable().describe("Null: free docks are not published"),
  score: z
    .object({
      tried: count.describe("Forecasts of the last 14 days that were compared with what came"),
      change: accuracy,
      as_now: accuracy,
    })
    .strict()
    .nullable()
    .describe(`How both methods did at this station; null until ${FORECAST_MIN_DAYS} days are known`),
});
export type StationForecast = z.infer<typeof stationForecast>;

export const forecastQuery = z
  .object({
    horizon: extendApi(z.enum(forecastHorizons, givenOnce()).optional(), {
      description: "How far ahead",
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
      `${TYPICAL_MIN_DAYS} days are known, the answer says since when and until when that will be so.`,
    metadata: needs("history:read"),
    pathParams: idParam,
    query: noQuery,
    responses: { 200: stationTypical, 404: errorBody, ...errors },
  },
  forecast: {
    method: "GET",
    path: "/v1/stations/:id/forecast",
    summary: "A station in a while",
    description:
      "The chance of at least one bike and one dock, and how many there will be, from how the station changed at this " +
      `time of such days, when ${FORECAST_MIN_DAYS} days are known. Shows how such forecasts did here beside "it stays ` +
      'as now"; where they were not better, the answer is as now and says so.',
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
      `Completed rides between pairs of stations, by the day on which they started; at most ${MAX_FLOW_DAYS} days at ` +
      `once. Pairs with fewer than ${MIN_FLOW_RIDES} rides are left out and counted. ${kept}`,
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
      `${MAX_SUMMARY_STEPS} steps. Rides of late reports, corrections and imports appear within minutes. Kept for ` +
      `${SYSTEM_SUM_RETENTION_YEARS} years.`,
    metadata: needs("history:read"),
    query: summaryQuery,
    responses: { 200: systemSummary, ...errors },
  },
} as const;

import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { errors, idParam, needs } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { historySteps } from "./history-words.ts";
import { HISTORY_RETENTION_DAYS, MAX_HISTORY_STEPS } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { givenOnce, identifier, instantParam, timestamp } from "./values.ts";

const minutes = z.number().min(0);

const level = z
  .object({
    mean: z.number().min(0).describe("Time-weighted mean, to 3 decimals"),
    min: z.number().int().min(0),
    max: z.number().int().min(0),
  })
  .strict();

export const historyStep = namedObject("HistoryStep", "A station's bikes and docks during one step of time.", {
  from: timestamp,
  to: timestamp.describe("The end of the step, and start of the next"),
  minutes: minutes.describe(
    "Minutes for which the station's state is known: fewer than the whole step if the station was new or the step is not over",
  ),
  bikes: level.nullable().describe("`num_bikes_available`; null: not known"),
  docks: level.nullable().describe("`num_docks_available`; null: not known, or not published"),
  minutes_empty: minutes.describe("Minutes online without a bike to rent"),
  minutes_full: minutes.describe("Minutes online without a free dock"),
  minutes_offline: minutes.describe("Minutes not online"),
});
export type HistoryStep = z.infer<typeof historyStep>;

export const stationHistory = namedObject("StationHistory", "A station's bikes and docks over time.", {
  station_id: identifier,
  step: z.enum(historySteps),
  time_zone: z.string().describe("The system's time zone, in which days begin and end"),
  data: z.array(historyStep).describe("Every step, oldest first"),
});
export type StationHistory = z.infer<typeof stationHistory>;

const stepDescription =
  "The length of a step. Steps begin at midnight of the system's time zone. On a day of 23 or 25 hours, when the clocks " +
  "change, the last of long steps is shorter or one more step follows";

export const stationHistoryQuery = z
  .object({
    from: instantParam
      .optional()
      .describe("The start, rounded down to a whole step; one day before `to`, when left out"),
    to: instantParam.optional().describe("The end, rounded up to a whole step; now, when left out or in the future"),
    step: extendApi(z.enum(historySteps, givenOnce()).optional().describe(stepDescription), { default: "PT15M" }),
  })
  .strict();
export type StationHistoryQuery = z.infer<typeof stationHistoryQuery>;

/** The endpoints of a station's history. `partnerContract` lists them among those of stations. */
export const stationHistoryEndpoints = {
  history: {
    method: "GET",
    path: "/v1/stations/:id/history",
    summary: "A station over time",
    description:
      "Bikes and docks in each step of time, and for how long the station was empty, full or offline. Kept for " +
      `${HISTORY_RETENTION_DAYS} days; at most ${MAX_HISTORY_STEPS} steps at once.`,
    metadata: needs("history:read"),
    pathParams: idParam,
    query: stationHistoryQuery,
    responses: { 200: stationHistory, 404: errorBody, ...errors },
  },
} as const;

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
    mean: z.number().min(0).describe("By the time that it lasted, to 3 decimals"),
    min: z.number().int().min(0),
    max: z.number().int().min(0),
  })
  .strict();

export const historyStep = namedObject("HistoryStep", "How a station was during one step of time.", {
  from: timestamp,
  to: timestamp.describe("The end, with which the next step begins"),
  minutes: minutes.describe(
    "Minutes of which it is known how the station was: fewer than the step has where it did not exist yet, and in the step that is not over",
  ),
  bikes: level.nullable().describe("`num_bikes_available`; null: not known"),
  docks: level.nullable().describe("`num_docks_available`; null: not known, or not published"),
  minutes_empty: minutes.describe("Minutes online without a bike to rent"),
  minutes_full: minutes.describe("Minutes online without a free dock"),
  minutes_offline: minutes.describe("Minutes not online"),
});
export type HistoryStep = z.infer<typeof historyStep>;

export const stationHistory = namedObject("StationHistory", "How a station was over time.", {
  station_id: identifier,
  step: z.enum(historySteps),
  time_zone: z.string().describe("The system's time zone, in which days begin and end"),
  data: z.array(historyStep).describe("Every step, oldest first"),
});
export type StationHistory = z.infer<typeof stationHistory>;

const stepDescription =
  "The length of a step. Steps are laid from midnight of the system's time zone on, so a day has whole steps; when the clocks " +
  "change, it has 23 or 25 hours, and the last of its long steps is shorter or another one follows";

export const stationHistoryQuery = z
  .object({
    from: instantParam.optional().describe("Rounded down to a whole step; a day before `to`, when left out"),
    to: instantParam.optional().describe("Rounded up to a whole step; now, when left out or later"),
    step: extendApi(z.enum(historySteps, givenOnce()).optional().describe(stepDescription), { default: "PT15M" }),
  })
  .strict();
export type StationHistoryQuery = z.infer<typeof stationHistoryQuery>;

/** The endpoints of a station's history. `partnerContract` lists them among those of stations. */
export const stationHistoryEndpoints = {
  history: {
    method: "GET",
    path: "/v1/stations/:id/history",
    summary: "How a station was over time",
    description:
      `Bikes and docks by steps of time, and for how long the station was empty, full or offline. Kept for ${HISTORY_RETENTION_DAYS} days; ` +
      `at most ${MAX_HISTORY_STEPS} steps at once.`,
    metadata: needs("history:read"),
    pathParams: idParam,
    query: stationHistoryQuery,
    responses: { 200: stationHistory, 404: errorBody, ...errors },
  },
} as const;

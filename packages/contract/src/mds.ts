import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { type EndpointMetadata, noQuery } from "./endpoint.ts";
import {
  mdsError,
  mdsEvents,
  mdsRecentEvents,
  mdsStops,
  mdsTelemetries,
  mdsToken,
  mdsTokenError,
  mdsTrips,
  mdsVehicles,
  mdsVehiclesStatus,
} from "./mds/resources.ts";
import { MDS_REPORT_MEDIA_TYPE, MDS_SCOPE } from "./mds/words.ts";
import { issueText } from "./messages.ts";
import { givenOnce } from "./values.ts";

export * from "./mds/resources.ts";
export * from "./mds/words.ts";

/* The endpoints for agencies: cities and other authorities that read a system by the Mobility Data Specification (MDS). */

const c = initContract();

const metadata: EndpointMetadata = { scope: MDS_SCOPE };

const errors = {
  400: mdsError,
  401: mdsError,
  403: mdsError,
  405: mdsError,
  406: mdsError,
  429: mdsError,
  500: mdsError,
  503: mdsError,
};

/** An hour in UTC, as MDS's parameters name it. It is parsed to its start, in milliseconds since 1970. */
const hourParam = z
  .string(givenOnce())
  .transform((text, context) => {
    const start = /^\d{4}-\d{2}-\d{2}T\d{2}$/.test(text) ? Date.parse(`${text}:00:00Z`) : Number.NaN;
    // `Date.parse` reads `2026-02-30T08` as an hour in March. Written out it differs from `text`, so it is rejected.
    if (!Number.isNaN(start) && new Date(start).toISOString().startsWith(text)) return start;
    context.addIssue({ code: z.ZodIssueCode.custom, message: issueText("utcHour") });
    return z.NEVER;
  })
  .describe("An hour in UTC such as `2026-10-31T08`");

/** An instant, as MDS's parameters name it. */
const millisecondsParam = z
  .string(givenOnce())
  .regex(/^\d{1,15}$/, issueText("integer"))
  .transform(Number);

const cursor = z
  .string(givenOnce())
  .min(1, issueText("empty"))
  .optional()
  .describe("The cursor in `links.next` of the previous page");
const cursorQuery = z.object({ cursor }).strict();
const recentQuery = z
  .object({
    start_time: millisecondsParam.describe("Milliseconds since 1970, at most two weeks ago"),
    end_time: millisecondsParam.describe("Milliseconds since 1970: only events before this time are listed"),
    cursor,
  })
  .strict();
const deviceParams = z.object({ device_id: z.string().describe("A vehicle's UUID") });
const stopParams = z.object({ stop_id: z.string().describe("A station's UUID") });

/** The Provider API of the Mobility Data Specification. Only agencies may call it, with a key or a token. */
export const mdsContract = c.router(
  {
    token: {
      method: "POST",
      path: "/mds/token",
      summary: "Get an access token",
      description:
        "Client credentials grant (RFC 6749): send the agency's id and key, by HTTP Basic or in the form. The token works for 15 minutes; the key itself works as a bearer token too.",
      metadata: { scope: "none" },
      contentType: "application/x-www-form-urlencoded",
      query: noQuery,
      body: z.record(z.unknown()),
      responses: {
        200: mdsToken,
        400: z.union([mdsTokenError, mdsError]),
        401: mdsTokenError,
        403: mdsError,
        405: mdsError,
        413: mdsError,
        415: mdsError,
        429: mdsError,
        500: mdsError,
        503: mdsError,
      },
    },
    vehicles: {
      method: "GET",
      path: "/mds/vehicles",
      summary: "List vehicles",
      description: "Every vehicle that was deployed in the last 30 days.",
      metadata,
      query: cursorQuery,
      responses: { 200: mdsVehicles, ...errors },
    },
    vehicle: {
      method: "GET",
      path: "/mds/vehicles/:device_id",
      summary: "One vehicle",
      metadata,
      pathParams: deviceParams,
      query: noQuery,
      responses: { 200: mdsVehicles, 404: mdsError, ...errors },
    },
    vehiclesStatus: {
      method: "GET",
      path: "/mds/vehicles/status",
      summary: "List the states of vehicles",
      description: "A vehicle that was removed, or is missing, is listed for 90 minutes.",
      metadata,
      query: cursorQuery,
      responses: { 200: mdsVehiclesStatus, ...errors },
    },
    vehicleStatus: {
      method: "GET",
      path: "/mds/vehicles/status/:device_id",
      summary: "The state of one vehicle",
      metadata,
      pathParams: deviceParams,
      query: noQuery,
      responses: { 200: mdsVehiclesStatus, 404: mdsError, ...errors },
    },
    trips: {
      method: "GET",
      path: "/mds/trips",
      summary: "The trips of an hour",
      description:
        "Trips that ended in the hour. 202 until an hour after its end. Late or corrected rides change the response.",
      metadata,
      query: z.object({ end_time: hourParam }).strict(),
      responses: { 200: mdsTrips, 202: mdsError, 304: z.undefined(), 404: mdsError, ...errors },
    },
    historicalEvents: {
      method: "GET",
      path: "/mds/events/historical",
      summary: "The events of an hour",
      description: "202 until an hour after the hour's end. Events that are reported later change the response.",
      metadata,
      query: z.object({ event_time: hourParam }).strict(),
      responses: { 200: mdsEvents, 202: mdsError, 304: z.undefined(), 404: mdsError, ...errors },
    },
    recentEvents: {
      method: "GET",
      path: "/mds/events/recent",
      summary: "The events between two times",
      description: "Events of the last two weeks, ordered by their time.",
      metadata,
      query: recentQuery,
      responses: { 200: mdsRecentEvents, ...errors },
    },
    telemetry: {
      method: "GET",
      path: "/mds/telemetry",
      summary: "The positions of an hour",
      description:
        "Positions of vehicles at each event, and positions reported between trips. A trip has its start and end only, no positions on the way.",
      metadata,
      query: z.object({ telemetry_time: hourParam }).strict(),
      responses: { 200: mdsTelemetries, 304: z.undefined(), ...errors },
    },
    stops: {
      method: "GET",
      path: "/mds/stops",
      summary: "List stations",
      metadata,
      query: noQuery,
      responses: { 200: mdsStops, ...errors },
    },
    stop: {
      method: "GET",
      path: "/mds/stops/:stop_id",
      summary: "One station",
      metadata,
      pathParams: stopParams,
      query: noQuery,
      responses: { 200: mdsStops, 404: mdsError, ...errors },
    },
    report: {
      method: "GET",
      path: "/mds/reports/:file",
      summary: "The trips of a month",
      description:
        "CSV, by group of riders and type of vehicle, of the trips that started in the month (agency's time zone). A count below 10 is -1; `rider_count` is always -1: riders are not known.",
      metadata,
      pathParams: z.object({ file: z.string().describe("A month and `.csv`: `2026-10.csv`") }),
      query: noQuery,
      responses: {
        200: c.otherResponse({ contentType: MDS_REPORT_MEDIA_TYPE, body: z.string() }),
        404: mdsError,
        ...errors,
      },
    },
  },
  { strictStatusCodes: true },
);

import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { errorCodes } from "../error-catalogue.ts";
import { REQUEST_LOG_DAYS, USAGE_RETENTION_DAYS } from "../limits.ts";
import { summaryQuery } from "../sums.ts";
import { givenOnce, identifier, identifierParam, instantParam, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, consolePageQuery, partnerPath, systemPath } from "./endpoint.ts";

/*
 * Requests with an API key, for the dashboard: the log of single requests, and the usage, which is counts by time, key and
 * route.
 */

/** A request that carried a key, as the log keeps it. */
const loggedRequest = z
  .object({
    id: identifier.describe("The request's `Request-Id`"),
    at: timestamp,
    key_id: identifier,
    partner_id: identifier.nullable().describe("Null: an operator key"),
    method: z.string(),
    route: z.string().describe("The route's pattern, such as `/v1/rides/:id`"),
    status: z.number().int(),
    error: z.string().nullable().describe("The error's code; null: the request succeeded"),
    ms: z.number().min(0).describe("Milliseconds until the response was sent"),
    address: z.string(),
  })
  .strict();
export type LoggedRequest = z.infer<typeof loggedRequest>;

const requestDetail = loggedRequest
  .extend({
    message: z
      .string()
      .nullable()
      .describe("The error's message; null: the request succeeded, or the message was not kept"),
    target: z.string().nullable().describe("Path and query of a refused request, without credentials"),
    body: z
      .string()
      .nullable()
      .describe("The request's body as JSON, without credentials; null: none, or too large to keep"),
    body_bytes: z.number().int().nullable().describe("Bytes of the request's body as received"),
  })
  .strict();
export type RequestDetail = z.infer<typeof requestDetail>;

const requestPage = z
  .object({
    data: z.array(loggedRequest),
    next_cursor: z.string().min(1).optional(),
    searched_to: timestamp
      .optional()
      .describe("The page ends because too many requests were searched, back to this time: go on with `next_cursor`"),
  })
  .strict();

/** Statuses that can be searched for together. `errors`: 400 and above. */
const statusClasses = ["2xx", "3xx", "4xx", "5xx", "errors"] as const;

const requestQuery = z
  .object({
    ...consolePageQuery,
    key_id: identifierParam.optional(),
    status: z
      .string(givenOnce())
      .regex(/^([1-5]\d\d|[2-5]xx|errors)$/, `must be a status such as 404, or one of ${statusClasses.join(", ")}`)
      .optional(),
    error: z.enum(errorCodes, givenOnce()).optional(),
    method: z.enum(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"], givenOnce()).optional(),
    route: z.string(givenOnce()).min(1).max(200).optional(),
    since: instantParam.optional(),
    until: instantParam.optional(),
  })
  .strict();
export type RequestQuery = z.infer<typeof requestQuery>;

const counts = {
  requests: z.number().int().min(0),
  client_errors: z.number().int().min(0).describe("Answered 4xx, without 429"),
  server_errors: z.number().int().min(0),
  rate_limited: z.number().int().min(0).describe("Answered 429"),
};

const usageMinutes = z
  .object({
    data: z.array(
      z
        .object({
          minute: timestamp,
          ...counts,
          unlogged: z.number().int().min(0).describe("Requests that the log leaves out"),
        })
        .strict(),
    ),
  })
  .strict();

const usageDays = z
  .object({
    data: z.array(
      z
        .object({
          day: z.string().describe("A day in UTC, such as `2026-01-31`"),
          key_id: identifier,
          route: z.string().describe("Method and pattern, such as `GET /v1/rides`"),
          ...counts,
          total_ms: z.number().min(0),
        })
        .strict(),
    ),
  })
  .strict();

const usageOverTime = z
  .object({
    time_zone: z.string(),
    data: z.array(
      z
        .object({
          from: timestamp,
          to: timestamp,
          counts: z.object(counts).strict().nullable().describe("Null: the step was not counted"),
        })
        .strict(),
    ),
    counted_from: timestamp
      .nullable()
      .describe("Older requests were not counted, because there are too many; null: all were counted"),
  })
  .strict();
export type UsageOverTime = z.infer<typeof usageOverTime>;

const usageOverTimeQuery = summaryQuery.extend({ key_id: identifierParam.optional() }).strict();
export type UsageOverTimeQuery = z.infer<typeof usageOverTimeQuery>;

const minutesQuery = z
  .object({
    key_id: identifierParam.optional(),
    since: instantParam.optional().describe("The first minute; an hour ago, when left out"),
    until: instantParam.optional(),
  })
  .strict();

export type MinutesQuery = z.infer<typeof minutesQuery>;

/** Maximum days that one response shows. */
const MAX_SHOWN_DAYS = 92;
const daysQuery = z
  .object({
    key_id: identifierParam.optional(),
    days: z.coerce
      .number(givenOnce())
      .int()
      .min(1)
      .max(MAX_SHOWN_DAYS)
      .optional()
      .describe("Number of days back from today; 30, when left out"),
  })
  .strict();

export type DaysQuery = z.infer<typeof daysQuery>;

/** The recent calls of a route with one key. */
const caller = z
  .object({
    route: z.string(),
    key_id: identifier,
    partner_id: identifier.nullable(),
    last_day: z.string(),
    requests: z.number().int().min(0),
  })
  .strict();

const callers = z.object({ data: z.array(caller) }).strict();

const callerOfDeprecated = caller
  .extend({
    since: z.string().describe("The day on which the deprecation was announced, such as `2027-01-31`"),
    sunset: z.string().describe("The first day on which a release may lack the route"),
    successor: z.string().nullable().describe("Method and path of the replacement; null: none"),
  })
  .strict();

const deprecatedCalls = z.object({ data: z.array(callerOfDeprecated) }).strict();

/** Returns the endpoints for the usage of a partner or of a whole system. */
function usageEndpoints<const Base extends `/console/v1/systems/:system_id${string}`, Shape extends z.ZodRawShape>(
  base: Base,
  pathParams: z.ZodObject<Shape, "strip">,
  audience: "partner" | "operator",
) {
  const metadata = consoleNeeds(audience);
  return {
    overTime: {
      method: "GET",
      path: `${base}/usage/over-time`,
      summary: `Requests by time and outcome, of the last ${REQUEST_LOG_DAYS} days`,
      metadata,
      pathParams,
      query: usageOverTimeQuery,
      responses: { 200: usageOverTime, ...consoleErrors },
    },
    minutes: {
      method: "GET",
      path: `${base}/usage/minutes`,
      summary: `Requests by minute, of the last ${REQUEST_LOG_DAYS} days`,
      metadata,
      pathParams,
      query: minutesQuery,
      responses: { 200: usageMinutes, ...consoleErrors },
    },
    days: {
      method: "GET",
      path: `${base}/usage/days`,
      summary: `Requests by day, key and route, of the last ${USAGE_RETENTION_DAYS} days`,
      metadata,
      pathParams,
      query: daysQuery,
      responses: { 200: usageDays, ...consoleErrors },
    },
    deprecated: {
      method: "GET",
      path: `${base}/usage/deprecated`,
      summary: "The keys that have recently called deprecated routes",
      metadata,
      pathParams,
      query: z.object({ days: daysQuery.shape.days }).strict(),
      responses: { 200: deprecatedCalls, ...consoleErrors },
    },
  } as const;
}

/** Returns the endpoints for the requests of a partner, or of a whole system. */
function requestEndpoints<const Base extends `/console/v1/systems/:system_id${string}`, Shape extends z.ZodRawShape>(
  base: Base,
  pathParams: z.ZodObject<Shape, "strip">,
  audience: "partner" | "operator",
) {
  const metadata = consoleNeeds(audience);
  return {
    list: {
      method: "GET",
      path: `${base}/requests`,
      summary: `Requests of the last ${REQUEST_LOG_DAYS} days, newest first`,
      metadata,
      pathParams,
      query: requestQuery,
      responses: { 200: requestPage, ...consoleErrors },
    },
    get: {
      method: "GET",
      path: `${base}/requests/:id`,
      summary: "The request with a Request-Id",
      metadata,
      pathParams: pathParams.extend({ id: identifierParam }),
      query: noQuery,
      responses: { 200: requestDetail, ...consoleErrors },
    },
    ...usageEndpoints(base, pathParams, audience),
  } as const;
}

/** A partner's requests and usage. */
export const partnerRequestEndpoints = requestEndpoints(
  "/console/v1/systems/:system_id/partners/:partner_id",
  partnerPath,
  "partner",
);

/** Endpoints with which the operator sees all requests and the usage of a system. */
export const systemRequestEndpoints = {
  ...requestEndpoints("/console/v1/systems/:system_id", systemPath, "operator"),
  callers: {
    method: "GET",
    path: "/console/v1/systems/:system_id/usage/callers",
    summary: "Who has called a route recently",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: z.object({ route: z.string(givenOnce()).min(1).max(200), days: daysQuery.shape.days }).strict(),
    responses: { 200: callers, ...consoleErrors },
  },
} as const;

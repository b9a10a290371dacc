import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { errorBody } from "../errors.ts";
import { identifier, identifierParam, timestamp } from "../values.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";
import { endpointStatus, pauseReason, waiting } from "./webhook.ts";

/** A partner's endpoint in the operator's list of all. */
const endpointSummary = z
  .object({
    id: identifier,
    partner_id: identifier,
    partner_name: z.string(),
    url: z.string().nullable().describe("Null: it was removed"),
    status: endpointStatus,
    status_text: z.string(),
    pause_reason: pauseReason.nullable(),
    failing_since: timestamp.nullable(),
    pending: waiting,
    oldest_due: timestamp.nullable(),
    held: waiting,
    log_bytes: z.number().int().describe("What its attempts take in the log"),
  })
  .strict();
export type EndpointSummary = z.infer<typeof endpointSummary>;

const needs = consoleNeeds("operator", "admin", { conflicts: ["conflict"] });
const pathParams = systemPath.extend({ partner_id: identifierParam });
const errors = { 409: errorBody, ...consoleErrors, ...consoleBodyErrors };
const done = z.object({ changed: z.boolean() }).strict();
const nothing = z.object({}).strict();
const base = "/console/v1/systems/:system_id/endpoints";

/** All endpoints of a system, for the operator. */
export const systemEndpoints = {
  list: {
    method: "GET",
    path: base,
    summary: "Every partner's endpoint, by the partner's name",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: {
      200: z
        .object({
          data: z.array(endpointSummary),
          workers: z.number().int().describe("Processes that send at present"),
        })
        .strict(),
      ...consoleErrors,
    },
  },
  pause: {
    method: "POST",
    path: `${base}/:partner_id/pause`,
    summary: "Stop sending to an endpoint until the operator resumes it",
    metadata: needs,
    pathParams,
    query: noQuery,
    body: nothing,
    responses: { 200: done, ...errors },
  },
  resume: {
    method: "POST",
    path: `${base}/:partner_id/resume`,
    summary: "Send again, beginning with one delivery as a probe",
    metadata: needs,
    pathParams,
    query: noQuery,
    body: nothing,
    responses: { 200: done, ...errors },
  },
  retryNow: {
    method: "POST",
    path: `${base}/:partner_id/retry-now`,
    summary: "Make all its deliveries that wait for their next attempt due now",
    metadata: needs,
    pathParams,
    query: noQuery,
    body: nothing,
    responses: { 200: z.object({ deliveries: z.number().int() }).strict(), ...errors },
  },
} as const;

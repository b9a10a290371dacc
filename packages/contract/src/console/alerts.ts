import { z } from "zod";
import { operatorAlert } from "../alerts.ts";
import { noQuery } from "../endpoint.ts";
import { alertUpsert } from "../operator-items.ts";
import { textOf } from "../values.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";

const base = "/console/v1/systems/:system_id/alerts";
const change = { metadata: consoleNeeds("operator", "admin"), query: noQuery };
const changeErrors = { ...consoleErrors, ...consoleBodyErrors };

/** Endpoints with which the operator tells riders of closures, moves and disturbances. */
export const alertEndpoints = {
  list: {
    method: "GET",
    path: base,
    summary: "Alerts that are open, or have ended",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: z.object({ status: z.enum(["open", "ended"]) }).strict(),
    responses: {
      200: z
        .object({
          data: z.array(operatorAlert).describe("The first alerts, by id"),
          total: z.number().int().min(0),
        })
        .strict(),
      ...consoleErrors,
    },
  },
  open: {
    method: "POST",
    path: base,
    summary: "Open an alert, or change an open one",
    pathParams: systemPath,
    ...change,
    body: alertUpsert.partial({ id: true }),
    responses: { 200: operatorAlert, ...changeErrors },
  },
  end: {
    method: "POST",
    path: `${base}/:id/end`,
    summary: "End an alert",
    pathParams: systemPath.extend({ id: textOf("givenIdentifier") }),
    ...change,
    body: z.object({}).strict(),
    responses: { 200: operatorAlert, ...changeErrors },
  },
} as const;

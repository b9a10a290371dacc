import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { givenInstant } from "../values.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, systemPath } from "./endpoint.ts";

/** Maximum characters of a machine's name or of a check's subject. No real one is as long. */
const MAX_LENGTH = 300;

/**
 * The identity of the acknowledged check, as the overview shows it. `of` is the machine or system that was checked, and
 * `subject` is the part of it, such as a source of feeds.
 */
const acknowledged = {
  name: z.string().min(1).max(MAX_LENGTH),
  of: z.string().max(MAX_LENGTH),
  subject: z.string().max(MAX_LENGTH),
};

const needs = consoleNeeds("operator", "admin");
const errors = { ...consoleErrors, ...consoleBodyErrors };

/** Endpoints with which an operator acknowledges checks. */
export const checkEndpoints = {
  acknowledge: {
    method: "POST",
    path: "/console/v1/systems/:system_id/checks/acknowledge",
    summary: "Acknowledge what a check has found: the finding stays visible, but sends no mail",
    metadata: needs,
    pathParams: systemPath,
    query: noQuery,
    body: z
      .object({
        ...acknowledged,
        severity: z.enum(["warning", "failure"]).describe("The severity that was shown: a worse one is mailed again"),
        until: givenInstant.nullable().describe("Null: until the problem is over or gets worse"),
      })
      .strict(),
    responses: { 200: z.object({}).strict(), ...errors },
  },
  unacknowledge: {
    method: "POST",
    path: "/console/v1/systems/:system_id/checks/unacknowledge",
    summary: "Take an acknowledgement back: mails are sent again",
    metadata: needs,
    pathParams: systemPath,
    query: noQuery,
    body: z.object(acknowledged).strict(),
    responses: { 200: z.object({ changed: z.boolean() }).strict(), ...errors },
  },
} as const;

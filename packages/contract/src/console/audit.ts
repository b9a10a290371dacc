import { z } from "zod";
import { givenOnce, identifier, identifierParam, instantParam, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, consolePageQuery, partnerPath, systemPath } from "./endpoint.ts";

/** An entry of the audit log. */
export const auditEntry = z
  .object({
    id: identifier,
    at: timestamp,
    actor: z.string().describe("`person:` and an id, `cli:` and an account, or `server`; partners see `cli` alone"),
    actor_name: z.string().nullable().describe("Null: no person, or one who is gone"),
    action: z.string().describe("Such as `key.issued`"),
    subject: z.string().describe("The id of what it was done to"),
    subject_name: z.string().nullable().describe("What people call it; null: it has no name, or is gone"),
    partner_id: identifier.nullable().describe("The partner whose subject it is"),
    detail: z.record(z.unknown()),
  })
  .strict();
export type ShownAct = z.infer<typeof auditEntry>;

const auditPage = z
  .object({
    data: z.array(auditEntry),
    next_cursor: z.string().min(1).optional(),
    searched_to: timestamp
      .optional()
      .describe("The page ends because so many acts were looked at, back to this time: go on with `next_cursor`"),
  })
  .strict();

const times = { since: instantParam.optional(), until: instantParam.optional() };
const word = z.string(givenOnce()).min(1).max(200);

const partnerAuditQuery = z
  .object({ ...consolePageQuery, action: word.optional(), subject: identifierParam.optional(), ...times })
  .strict();

const systemAuditQuery = partnerAuditQuery
  .extend({
    actor: word.optional().describe("An actor, a person's mail address, or `cli` for everybody at a command line"),
    partner_id: identifierParam.optional(),
  })
  .strict();
export type AuditQuery = z.infer<typeof systemAuditQuery>;

/** The audit log of a partner: acts of its own people and of the operator. */
export const partnerAuditEndpoints = {
  list: {
    method: "GET",
    path: "/console/v1/systems/:system_id/partners/:partner_id/audit",
    summary: "The audit log of a partner, the newest act first",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: partnerAuditQuery,
    responses: { 200: auditPage, ...consoleErrors },
  },
} as const;

/** The audit log of a system, for the operator. */
export const systemAuditEndpoints = {
  list: {
    method: "GET",
    path: "/console/v1/systems/:system_id/audit",
    summary: "The audit log, the newest act first",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: systemAuditQuery,
    responses: { 200: auditPage, ...consoleErrors },
  },
} as const;

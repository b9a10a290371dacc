import { z } from "zod";
import { givenOnce, identifier, identifierParam, instantParam, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, consolePageQuery, partnerPath, systemPath } from "./endpoint.ts";

/** An entry of the audit log. */
export const auditEntry = z
  .object({
    id: identifier,
    at: timestamp,
    actor: z.string().describe("`person:` and an id, `cli:` and an account, or `server`; partners see only `cli`"),
    actor_name: z.string().nullable().describe("Null: the actor is no person, or no longer exists"),
    action: z.string().describe("What was done, such as `key.issued`"),
    subject: z.string().describe("The id of the thing that was changed or read"),
    subject_name: z.string().nullable().describe("The subject's name; null: it has no name, or no longer exists"),
    partner_id: identifier.nullable().describe("The partner that the subject belongs to"),
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
      .describe("The page ends because too many entries were searched, back to this time: go on with `next_cursor`"),
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

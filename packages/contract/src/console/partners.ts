import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { MAX_PARTNER_NAME, MAX_RESERVATION_LIMIT } from "../limits.ts";
import { issueText } from "../messages.ts";
import { isPlainName } from "../text-rules.ts";
import { identifier, timestamp } from "../values.ts";
import { changeErrors, consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";
import { keyAllowance } from "./keys.ts";

/** A partner as the operator's pages show it. */
const shownPartner = z
  .object({
    id: identifier,
    name: z.string(),
    status: z.enum(["active", "suspended", "removed"]),
    created_at: timestamp,
    suspended_at: timestamp.nullable(),
    removed_at: timestamp.nullable(),
    max_reservations: z.number().int().min(1).describe("Active reservations that the partner may have at once"),
    has_own_max_reservations: z.boolean(),
    active_reservations: z.number().int().min(0),
    active_keys: z.number().int().min(0).describe("Keys that are neither revoked nor expired"),
    key_allowance: keyAllowance.nullable().describe("Null: the partner's own people may not make keys"),
    own_keys: z.number().int().min(0).describe("Working keys that the partner's own people made"),
    own_rate_limit: z.number().int().min(0).describe("Requests in any 60 s that the `own_keys` may make together"),
    endpoint_status: z.string().nullable().describe("The worst status of the partner's webhooks; null: no webhooks"),
    endpoints: z.number().int().min(0).describe("Number of the partner's webhooks"),
    requests_today: z.number().int().min(0).describe("Requests since midnight UTC"),
  })
  .strict();
export type ShownPartner = z.infer<typeof shownPartner>;

const partnerName = z
  .string()
  .min(1, issueText("empty"))
  .max(MAX_PARTNER_NAME, issueText("tooLong", { limit: MAX_PARTNER_NAME }))
  .refine(isPlainName, issueText("plainName"));

const maxReservations = z
  .number()
  .int()
  .min(1)
  .max(MAX_RESERVATION_LIMIT)
  .nullable()
  .describe("Active reservations that the partner may have at once; null: the default");

const partnerRequest = z.object({ name: partnerName, max_reservations: maxReservations }).strict();

const resumed = z
  .object({
    partner: shownPartner,
    probes: z.array(identifier).describe("The held deliveries that are sent as probes of the partner's endpoints"),
    held: z.number().int().min(0).describe("Deliveries that stay held until they are sent again on request"),
  })
  .strict();

const removed = z
  .object({
    partner: shownPartner,
    revoked_keys: z.number().int().min(0),
    cancelled_reservations: z.number().int().min(0),
    endpoint_removed: z.boolean().describe("Whether `endpoints_removed` is above 0"),
    endpoints_removed: z.number().int().min(0),
    unsent_deliveries: z.number().int().min(0),
  })
  .strict();

const ofSystem = "/console/v1/systems/:system_id/partners";
const ofPartner = `${ofSystem}/:partner_id` as const;
const admin = consoleNeeds("operator", "admin", { conflicts: ["conflict"] });
const nothing = z.object({}).strict();

/** Endpoints with which the operator manages the partners of a system. */
export const partnerEndpoints = {
  list: {
    method: "GET",
    path: ofSystem,
    summary: "The partners, including removed ones, oldest first",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: z.object({ data: z.array(shownPartner) }).strict(), ...consoleErrors },
  },
  get: {
    method: "GET",
    path: ofPartner,
    summary: "A partner, even if it was removed",
    metadata: consoleNeeds("operator"),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: shownPartner, ...consoleErrors },
  },
  create: {
    method: "POST",
    path: ofSystem,
    summary: "Add a partner",
    metadata: admin,
    pathParams: systemPath,
    query: noQuery,
    body: partnerRequest,
    responses: { 200: shownPartner, ...changeErrors },
  },
  set: {
    method: "PATCH",
    path: ofPartner,
    summary: "Change a partner's name or limit",
    metadata: admin,
    pathParams: partnerPath,
    query: noQuery,
    body: partnerRequest.partial().strict(),
    responses: { 200: shownPartner, ...changeErrors },
  },
  allowKeys: {
    method: "PUT",
    path: `${ofPartner}/key-allowance`,
    summary: "Set what keys a partner's own people may make",
    metadata: consoleNeeds("operator", "admin", { confirmed: true, conflicts: ["conflict"] }),
    pathParams: partnerPath,
    query: noQuery,
    body: z
      .object({ allowance: keyAllowance.nullable().describe("Null: the partner's own people may not make keys") })
      .strict(),
    responses: { 200: shownPartner, ...changeErrors },
  },
  suspend: {
    method: "POST",
    path: `${ofPartner}/suspend`,
    summary: "Refuse a partner's keys and hold its deliveries until it is resumed",
    metadata: admin,
    pathParams: partnerPath,
    query: noQuery,
    body: nothing,
    responses: { 200: shownPartner, ...changeErrors },
  },
  resume: {
    method: "POST",
    path: `${ofPartner}/resume`,
    summary: "Accept a suspended partner's keys again",
    metadata: admin,
    pathParams: partnerPath,
    query: noQuery,
    body: nothing,
    responses: { 200: resumed, ...changeErrors },
  },
  remove: {
    method: "POST",
    path: `${ofPartner}/remove`,
    summary: "Remove a partner for good, and end its keys, endpoints and reservations",
    metadata: admin,
    pathParams: partnerPath,
    query: noQuery,
    body: z.object({ name: z.string().describe("The partner's name, as a confirmation") }).strict(),
    responses: { 200: removed, ...changeErrors },
  },
} as const;

import { z } from "zod";
import { issueText } from "../messages.ts";
import { givenInstant, identifier, identifierParam, timestamp } from "../values.ts";
import { changeNeeds, filterFields, ofWebhook, partnerBase } from "./deliveries.ts";
import { changeErrors, consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";

/* Bulk resends on the dashboard: many deliveries of a webhook that are sent again as background work, with its progress. */

/** Maximum ids of a selection. More deliveries are selected by a filter. */
const MAX_SELECTED_IDS = 200;

/** The deliveries to send again: by ids, or by a filter. */
const resendSelection = z
  .object({
    ids: z
      .array(identifier)
      .min(1, issueText("itemsEmpty"))
      .max(MAX_SELECTED_IDS, issueText("itemsTooMany", { limit: MAX_SELECTED_IDS }))
      .optional(),
    filters: z
      .object({ ...filterFields, since: givenInstant.optional(), until: givenInstant.optional() })
      .strict()
      .optional(),
  })
  .strict()
  .refine(
    ({ ids, filters }) => {
      const isByIds = ids !== undefined;
      const isByFilters = filters !== undefined;
      return isByIds !== isByFilters;
    },
    { message: issueText("idsOrFilters"), path: ["ids"] },
  );
export type ResendSelection = z.infer<typeof resendSelection>;

const bulkResend = z
  .object({
    id: identifier,
    status: z
      .enum(["running", "waiting", "finished", "cancelled"])
      .describe("waiting: until the endpoint is active, or until an earlier resend has finished"),
    total: z.number().int().describe("Deliveries that were chosen"),
    queued: z.number().int().describe("Chosen deliveries that were queued so far"),
    skipped: z.number().int().describe("Chosen deliveries that were left out, because they had succeeded meanwhile"),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .strict();
export type BulkResend = z.infer<typeof bulkResend>;

const resendPath = partnerPath.extend({ resend_id: identifierParam });

/** How many requests of the session's rate limit a selection of deliveries costs: it reads as many rows as an export. */
const SELECTION_COST = 20;
const selectionNeeds = (audience: "partner" | "operator") =>
  consoleNeeds(audience, "admin", { conflicts: ["conflict"], cost: SELECTION_COST });

/** Endpoints that send many deliveries again at once. */
export const resendEndpoints = {
  count: {
    method: "POST",
    path: `${partnerBase}/resends/count`,
    summary: "How many deliveries would be sent again",
    metadata: selectionNeeds("partner"),
    pathParams: partnerPath,
    query: ofWebhook,
    body: resendSelection,
    responses: { 200: z.object({ total: z.number().int() }).strict(), ...changeErrors },
  },
  create: {
    method: "POST",
    path: `${partnerBase}/resends`,
    summary: "Send many deliveries again",
    metadata: selectionNeeds("partner"),
    pathParams: partnerPath,
    query: ofWebhook,
    body: resendSelection,
    responses: { 200: bulkResend, ...changeErrors },
  },
  get: {
    method: "GET",
    path: `${partnerBase}/resends/:resend_id`,
    summary: "The progress of a resend",
    metadata: consoleNeeds("partner"),
    pathParams: resendPath,
    query: ofWebhook,
    responses: { 200: bulkResend, ...consoleErrors },
  },
  cancel: {
    method: "POST",
    path: `${partnerBase}/resends/:resend_id/cancel`,
    summary: "Cancel the deliveries that a resend has not queued yet",
    metadata: changeNeeds,
    pathParams: resendPath,
    query: ofWebhook,
    body: z.object({}).strict(),
    responses: { 200: bulkResend, ...changeErrors },
  },
} as const;

const cancelNeeds = consoleNeeds("operator", "admin", { conflicts: ["conflict"] });
/** The base path of the operator's resends for one partner. */
const operatorBase = "/console/v1/systems/:system_id/endpoints/:partner_id/resends";

/** The same endpoints, for the operator. Its viewers may read the progress of a resend. */
export const systemResendEndpoints = {
  count: { ...resendEndpoints.count, path: `${operatorBase}/count`, metadata: selectionNeeds("operator") },
  create: { ...resendEndpoints.create, path: operatorBase, metadata: selectionNeeds("operator") },
  get: { ...resendEndpoints.get, path: `${operatorBase}/:resend_id`, metadata: consoleNeeds("operator") },
  cancel: { ...resendEndpoints.cancel, path: `${operatorBase}/:resend_id/cancel`, metadata: cancelNeeds },
} as const;

import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { issueText } from "../messages.ts";
import { givenInstant, identifier, identifierParam, timestamp } from "../values.ts";
import { deliveryEndpoints, ofWebhook } from "./deliveries.ts";
import { changeErrors, consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";
import { change, endpointStatus, pauseReason, PREVIEW_COST, waiting, webhookEndpoints } from "./webhook.ts";

/* Webhook endpoints on the operator's pages: those of all partners, with what an admin of the operator may change there. */

/** One webhook endpoint in the operator's list of all partners' endpoints. */
const endpointSummary = z
  .object({
    id: identifier,
    partner_id: identifier,
    partner_name: z.string(),
    name: z.string().describe("The partner's name for the webhook"),
    url: z.string().nullable().describe("Null: the webhook was removed"),
    status: endpointStatus,
    status_text: z.string(),
    pause_reason: pauseReason.nullable(),
    failing_since: timestamp.nullable(),
    pending: waiting,
    oldest_due: timestamp.nullable(),
    held: waiting,
    is_replaying: z.boolean(),
    log_bytes: z.number().int().describe("Bytes that the webhook's attempts take in the log"),
  })
  .strict();
export type EndpointSummary = z.infer<typeof endpointSummary>;

/* Metadata of endpoints that change something, that may also show a secret, and that preview deliveries. */
const needs = consoleNeeds("operator", "admin", { conflicts: ["conflict"] });
const showsSecret = consoleNeeds("operator", "admin", { confirmed: true, conflicts: ["conflict"] });
const previews = consoleNeeds("operator", "admin", { conflicts: ["conflict"], cost: PREVIEW_COST });
const nothing = z.object({}).strict();
const base = "/console/v1/systems/:system_id/endpoints";
/** The path of a webhook of one partner. The query parameter of `ofWebhook` says which, if the partner has several. */
const one = `${base}/:partner_id` as const;

const replayRequest = z
  .object({
    since: givenInstant.describe("Deliveries created at or after this instant"),
    until: givenInstant.optional().describe("And before this instant; now, when left out"),
    statuses: z
      .array(z.enum(["succeeded", "failed", "held"]))
      .min(1, issueText("itemsEmpty"))
      .max(3, issueText("itemsTooMany", { limit: 3 }))
      .optional()
      .describe("Only deliveries in these states; all three, when left out"),
    dry_run: z.boolean().describe("True: only count the deliveries, send none"),
  })
  .strict();

const replay = z
  .object({
    id: identifier.nullable().describe("Null: the deliveries were only counted"),
    total: z.number().int().describe("Deliveries that the replay sends"),
    since: timestamp,
    until: timestamp,
    endpoint_status: endpointStatus.describe("A replay waits until the endpoint is `active`"),
  })
  .strict();

const { add, set, preview, probe, test, rotateSecret, remove, resume, sendHeld, dropHeld } = webhookEndpoints;

const withSecret = set.responses[200].extend({
  secret: z.string().nullable().describe("The new secret; null: no secret was made"),
});

/**
 * The endpoints by which a partner's admins change their webhook, opened to the operator's admins too. The response to a
 * change is the only place where the operator's admins see a new secret.
 */
const webhookChanges = {
  add: {
    ...add,
    path: `${one}/webhooks`,
    metadata: showsSecret,
    responses: { ...add.responses, 200: withSecret },
  },
  set: {
    ...set,
    path: one,
    metadata: showsSecret,
    responses: { ...set.responses, 200: withSecret },
  },
  preview: { ...preview, path: `${one}/preview`, metadata: previews },
  probe: { ...probe, path: `${one}/probe`, metadata: needs },
  test: { ...test, path: `${one}/test`, metadata: needs },
  rotateSecret: { ...rotateSecret, path: `${one}/secret/rotate`, metadata: showsSecret },
  remove: { ...remove, path: `${one}/remove`, metadata: needs },
  resume: { ...resume, path: `${one}/resume`, metadata: needs },
  sendHeld: { ...sendHeld, path: `${one}/held/send`, metadata: needs },
  dropHeld: { ...dropHeld, path: `${one}/held/drop`, metadata: needs },
  resend: { ...deliveryEndpoints.resend, path: `${one}/deliveries/:delivery_id/resend`, metadata: needs },
} as const;

/** Endpoints with which the operator's admins send a range of deliveries again. */
const replays = {
  replay: {
    method: "POST",
    path: `${one}/replays`,
    summary: "Send a range of deliveries again, after current events",
    metadata: needs,
    pathParams: partnerPath,
    query: ofWebhook,
    body: replayRequest,
    responses: { 200: replay, ...changeErrors },
  },
  stopReplay: {
    method: "POST",
    path: "/console/v1/systems/:system_id/replays/:replay_id/stop",
    summary: "Stop a replay: its queued deliveries are sent, the rest are not",
    metadata: needs,
    pathParams: systemPath.extend({ replay_id: identifierParam }),
    query: noQuery,
    body: nothing,
    responses: { 200: change, ...changeErrors },
  },
} as const;

/** Endpoints with which the operator sees and changes the webhooks of all partners. */
export const systemEndpoints = {
  ...webhookChanges,
  ...replays,
  list: {
    method: "GET",
    path: base,
    summary: "Every partner's endpoints, by the partner's name",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: {
      200: z
        .object({
          data: z.array(endpointSummary),
          workers: z.number().int().describe("Processes that send webhooks now"),
        })
        .strict(),
      ...consoleErrors,
    },
  },
  pause: {
    method: "POST",
    path: `${one}/pause`,
    summary: "Stop sending to an endpoint until the operator resumes it",
    metadata: needs,
    pathParams: partnerPath,
    query: ofWebhook,
    body: nothing,
    responses: { 200: change, ...changeErrors },
  },
  retryNow: {
    method: "POST",
    path: `${one}/retry-now`,
    summary: "Make all of an endpoint's deliveries that wait for their next attempt due now",
    metadata: needs,
    pathParams: partnerPath,
    query: ofWebhook,
    body: nothing,
    responses: { 200: z.object({ deliveries: z.number().int() }).strict(), ...changeErrors },
  },
} as const;

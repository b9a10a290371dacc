import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { issueText } from "../messages.ts";
import { summaryQuery } from "../sums.ts";
import { givenOnce, identifier, identifierParam, instantParam, timestamp } from "../values.ts";
import { changeErrors, consoleErrors, consoleNeeds, consolePage, consolePageQuery, partnerPath } from "./endpoint.ts";

/*
 * Deliveries as the dashboard shows them. Its pages see more than the partners' interface (../deliveries.ts): every attempt
 * with its bytes, counts over time with the reasons of failures, and curl commands that send a delivery.
 */

export const deliveryStatus = z.enum(["pending", "succeeded", "failed", "held"]);
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

/** An event for the partner's endpoint, as the list shows it. */
const delivery = z
  .object({
    id: identifier,
    endpoint_id: identifier.describe("The webhook that the delivery goes to"),
    endpoint_name: z.string(),
    event: z.string(),
    event_id: identifier,
    resource_id: z
      .string()
      .nullable()
      .describe("The ride, station, reservation, alert or bike that the event is about"),
    created_at: timestamp,
    status: deliveryStatus,
    is_failing: z.boolean().describe("True: to be retried after a failed attempt"),
    attempts: z.number().int(),
    code: z
      .number()
      .int()
      .nullable()
      .describe("The HTTP status of the response to the latest attempt; null: no complete response"),
    failure: z
      .string()
      .nullable()
      .describe("Why the latest attempt failed; null: it succeeded, or there was no attempt"),
    next_attempt_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    explanation: z.string().describe("The delivery's state, in words"),
  })
  .strict();
export type Delivery = z.infer<typeof delivery>;

/** Filters of the list. Those given together must all hold. */
export const filterFields = {
  /** A state, or `failing`: pending after a failed attempt; `unsuccessful`: failing or given up. */
  status: z.enum([...deliveryStatus.options, "failing", "unsuccessful"]).optional(),
  event: identifierParam.optional(),
  /** An HTTP status such as `404`, or a class such as `4xx`. */
  code: z
    .string(givenOnce())
    .regex(/^[1-5](\d\d|xx)$/, issueText("httpCode"))
    .optional(),
  failure: identifierParam.optional(),
  resource_id: identifierParam.optional(),
};
const deliveryFilters = z.object({
  ...filterFields,
  since: instantParam.optional(),
  until: instantParam.optional(),
});
export type DeliveryFilters = z.infer<typeof deliveryFilters>;

const deliveryPage = consolePage(delivery)
  .extend({
    searched_to: timestamp
      .optional()
      .describe(
        "Deliveries before this time were not searched yet, because too many did not match. `next_cursor` continues there",
      ),
  })
  .strict();

const count = z.number().int().min(0);

const deliveryStep = z
  .object({
    from: timestamp,
    to: timestamp,
    deliveries: z
      .object({
        succeeded: count,
        waiting: count.describe("Not tried yet"),
        failing: count.describe("To be retried after a failed attempt"),
        failed: count.describe("Given up"),
        held: count,
        dropped: count.describe("Given up on request, or skipped by `max_per_hour`"),
      })
      .strict()
      .nullable()
      .describe("Deliveries created in this step, by their state now; null: the step was not counted"),
  })
  .strict();

/** Deliveries that fail for the same reason. */
const deliveryCause = z
  .object({
    failure: z.string(),
    code: count.nullable().describe("The HTTP status of the response; null: no response"),
    advice: z.object({ meaning: z.string(), action: z.string() }).strict().nullable(),
    says: z.string().nullable().describe("The beginning of the newest response's text; null: no text"),
    deliveries: count,
    first_at: timestamp.describe("When the first of these deliveries was created"),
    last_at: timestamp,
    newest_id: identifier.describe("The newest of these deliveries"),
  })
  .strict();
export type DeliveryCause = z.infer<typeof deliveryCause>;

const countedFrom = timestamp
  .nullable()
  .describe("Older deliveries were not counted, because there are too many; null: all were counted");

const deliveriesOverTime = z
  .object({
    time_zone: z.string(),
    data: z.array(deliveryStep),
    counted_from: countedFrom,
    causes: z
      .array(deliveryCause)
      .describe("Reasons of failing and given up deliveries, the most frequent first, at most 12"),
    causes_counted_from: countedFrom,
  })
  .strict();
export type DeliveriesOverTime = z.infer<typeof deliveriesOverTime>;

const headerPairs = z.array(z.tuple([z.string(), z.string()]));

/** Bytes: as text where they are UTF-8, otherwise in base64. */
const shownBytes = z
  .object({
    encoding: z.enum(["utf-8", "base64"]),
    text: z.string(),
    truncated: z.boolean().describe("True: more was received than is kept"),
  })
  .strict();
export type ShownBytes = z.infer<typeof shownBytes>;

export const deliveryAttempt = z
  .object({
    number: z.number().int(),
    started_at: timestamp,
    // rejected: answered with a status other than 2xx. failed: no complete response. unknown: its process ended meanwhile.
    outcome: z.enum(["succeeded", "rejected", "failed", "unknown"]),
    summary: z.string().describe("How the attempt ended, in a few words"),
    failure: z.string().nullable(),
    detail: z.string().nullable(),
    advice: z
      .object({ meaning: z.string(), action: z.string() })
      .strict()
      .nullable()
      .describe("What the failure means and what to do about it; null: the attempt succeeded"),
    url: z.string(),
    remote_address: z.string().nullable(),
    request: z.object({ headers: headerPairs, body: shownBytes }).strict().nullable(),
    response: z
      .object({
        status: z.number().int(),
        headers: headerPairs,
        body: shownBytes,
        truncation_reason: z.string().nullable(),
      })
      .strict()
      .nullable(),
    timings: z
      .object({
        dns: z.number().nullable(),
        connect: z.number().nullable(),
        tls: z.number().nullable(),
        first_byte: z.number().nullable(),
        total: z.number().nullable(),
      })
      .strict()
      .describe("Milliseconds; null: the attempt did not get that far, or its connection was reused"),
    next_attempt_at: timestamp.nullable(),
    next_attempt_reason: z.string().nullable(),
  })
  .strict();
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

const deliveryDetail = delivery
  .extend({
    exchanges: z.array(deliveryAttempt).describe("Every attempt that the log keeps, oldest first"),
    next_failing_id: identifier.nullable().describe("The nearest older delivery that fails or was given up"),
    previous_failing_id: identifier.nullable().describe("The nearest newer delivery that fails or was given up"),
  })
  .strict();
export type DeliveryDetail = z.infer<typeof deliveryDetail>;

/** The base path of a partner's pages. */
export const partnerBase = "/console/v1/systems/:system_id/partners/:partner_id";

/** The query parameter that names the partner's webhook. */
export const ofWebhook = z
  .object({
    endpoint_id: identifierParam.optional().describe("The webhook's id; may be left out if the partner has only one"),
  })
  .strict();

const deliveryPath = partnerPath.extend({ delivery_id: identifierParam });
/** The query parameter that limits a list to one webhook of the partner. */
export const ofWebhooks = z
  .object({ endpoint_id: identifierParam.optional().describe("Only deliveries to this webhook; all, when left out") })
  .strict();

/** Metadata of endpoints that change something. */
export const changeNeeds = consoleNeeds("partner", "admin", { conflicts: ["conflict"] });
/**
 * How many of the 600 requests a minute one export costs that a person may make in all sessions together: the longest
 * exports read 50 to 100 pages. So a person may download 30 files in a minute, one after the other.
 */
const EXPORT_COST = 20;
const attemptNumber = z.number().int().min(1);

/** A partner's deliveries. */
export const deliveryEndpoints = {
  list: {
    method: "GET",
    path: `${partnerBase}/deliveries`,
    summary: "The deliveries of a partner's webhooks, newest first",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: deliveryFilters.merge(ofWebhooks).extend(consolePageQuery).strict(),
    responses: { 200: deliveryPage, ...consoleErrors },
  },
  overTime: {
    method: "GET",
    path: `${partnerBase}/deliveries-over-time`,
    summary: "The deliveries of a partner's webhooks by time and outcome, and why they fail",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: summaryQuery.merge(ofWebhooks),
    responses: { 200: deliveriesOverTime, ...consoleErrors },
  },
  get: {
    method: "GET",
    path: `${partnerBase}/deliveries/:delivery_id`,
    summary: "A delivery with every attempt",
    metadata: consoleNeeds("partner"),
    pathParams: deliveryPath,
    query: noQuery,
    responses: { 200: deliveryDetail, ...consoleErrors },
  },
  resend: {
    method: "POST",
    path: `${partnerBase}/deliveries/:delivery_id/resend`,
    summary: "Send a delivery again, now",
    metadata: changeNeeds,
    pathParams: deliveryPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: {
      200: z.object({ id: identifier, outcome: z.enum(["redelivered", "retried_now", "already_due"]) }).strict(),
      ...changeErrors,
    },
  },
  curl: {
    method: "GET",
    path: `${partnerBase}/deliveries/:delivery_id/curl`,
    summary: "The delivery as a curl command without a signature",
    metadata: consoleNeeds("partner"),
    pathParams: deliveryPath,
    query: z.object({ to: z.enum(["endpoint", "localhost"]).optional() }).strict(),
    responses: { 200: z.object({ command: z.string() }).strict(), ...consoleErrors },
  },
  signedCurl: {
    method: "POST",
    path: `${partnerBase}/deliveries/:delivery_id/curl`,
    summary: "The delivery as a curl command, signed now",
    metadata: consoleNeeds("partner", "admin", { confirmed: true, conflicts: ["conflict"] }),
    pathParams: deliveryPath,
    query: noQuery,
    body: z.object({ to: z.enum(["endpoint", "localhost"]), attempt: attemptNumber.optional() }).strict(),
    responses: { 200: z.object({ command: z.string() }).strict(), ...changeErrors },
  },
  export: {
    method: "GET",
    path: `${partnerBase}/deliveries.csv`,
    summary: "The deliveries of a filtered list, as CSV",
    metadata: consoleNeeds("partner", "viewer", { cost: EXPORT_COST }),
    pathParams: partnerPath,
    query: deliveryFilters.merge(ofWebhooks).strict(),
    responses: { 200: z.string(), ...consoleErrors },
  },
} as const;

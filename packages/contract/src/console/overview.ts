import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { identifier, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";
import { feedState } from "./feeds.ts";
import { waiting } from "./webhook.ts";

/* The first pages of the dashboard: what needs attention, and what the API keys, webhooks and feeds do now. */

/** A finding of a check. The command `doctor` runs checks of the same names. */
const shownCheck = z
  .object({
    name: z.string().describe("The check's name in `doctor` and in the metric"),
    of: z
      .string()
      .nullable()
      .describe(
        "The machine or system that was checked, empty for the deployment; null: the finding cannot be acknowledged",
      ),
    subject: z.string().describe("The part that was checked, such as a source of feeds"),
    severity: z.enum(["failure", "warning", "info"]),
    text: z.string().describe("What is wrong, in a sentence"),
    fix: z.string().describe("What to do about it"),
    at: timestamp.nullable().describe("Since when the problem exists, or by when it will"),
    acknowledged: z
      .object({ at: timestamp, until: timestamp.nullable().describe("Null: until the problem is over or gets worse") })
      .strict()
      .nullable()
      .describe("Somebody has acknowledged the finding: it needs no attention and sends no mail; null: nobody has"),
    partner_id: identifier.nullable().describe("The partner that has to fix the problem; null: the operator"),
    partner_name: z.string().nullable(),
    link: z
      .object({
        page: z.enum(["overview", "webhook", "deliveries", "keys", "requests", "feeds", "feed-quality", "rides"]),
        query: z.record(z.string()).describe("The page's filters"),
      })
      .strict()
      .nullable()
      .describe("The page where the problem is shown and fixed; null: not on the dashboard"),
  })
  .strict();
export type ShownCheck = z.infer<typeof shownCheck>;

const count = z.number().int().min(0);

const requestCounts = z
  .object({
    requests: count,
    client_errors: count.describe("Answered 4xx, without 429"),
    server_errors: count,
    rate_limited: count.describe("Answered 429"),
  })
  .strict();
export type RequestCounts = z.infer<typeof requestCounts>;

/** The usage of a key in the last hour. */
const keyLoad = z
  .object({
    id: identifier,
    name: z.string().nullable(),
    last4: z.string(),
    rate_limit: z.number().int().min(1).describe("Requests in any 60 s"),
    requests: z.array(count).describe("Requests in each of the `minutes`"),
    rate_limited: count.describe("Answered 429 in the hour"),
  })
  .strict();
export type KeyLoad = z.infer<typeof keyLoad>;

const minutes = z.array(timestamp).describe("When each minute of the last hour began, oldest first");

const deliveryCounts = z
  .object({
    succeeded: count.describe("Deliveries created in the last 24 hours that succeeded"),
    given_up: count.describe("Deliveries given up in the last 24 hours"),
    pending: waiting.describe("Deliveries that are pending now, including failing ones"),
    failing: count.describe("Deliveries that are to be retried now after a failed attempt"),
    held: waiting.describe("Deliveries that are held now"),
    is_complete: z.boolean().describe("False: counting stopped; there are more than the numbers say"),
  })
  .strict();

const partnerOverview = z
  .object({
    checks: z.array(shownCheck).describe("Problems, the worst first, acknowledged ones last"),
    minutes,
    keys: z.array(keyLoad).describe("Keys that work now, the most used first"),
    hour: requestCounts,
    today: requestCounts.describe("Since midnight in UTC"),
    endpoints: z
      .array(
        z
          .object({
            id: identifier,
            name: z.string(),
            status: z.enum(["active", "probing", "paused"]),
            status_text: z.string(),
            url: z.string(),
            failing_since: timestamp.nullable(),
            oldest_due_at: timestamp.nullable(),
            deliveries: deliveryCounts,
          })
          .strict(),
      )
      .describe("The partner's webhooks"),
  })
  .strict();
export type PartnerOverview = z.infer<typeof partnerOverview>;

/** The state of one followed feed. */
const feedAge = z
  .object({
    source: z.string(),
    feed: z.string(),
    state: feedState,
    age_seconds: z
      .number()
      .min(0)
      .nullable()
      .describe("Seconds since the feed was last fetched and read completely; null: never"),
    failing_seconds: z.number().min(0).describe("Seconds since the feed began to fail; 0: it does not fail"),
  })
  .strict();
export type FeedAge = z.infer<typeof feedAge>;

const systemOverview = z
  .object({
    checks: z.array(shownCheck).describe("Problems, the worst first, acknowledged ones last"),
    minutes,
    requests: z.array(count).describe("Requests of all keys in each of the `minutes`"),
    rate_limited: z.array(count).describe("Those of the requests that were answered 429"),
    hour: requestCounts,
    workers: count.describe("Processes that send webhooks now"),
    endpoints: z.object({ active: count, failing: count, paused: count }).strict(),
    backlog: z
      .object({
        pending: count,
        held: count,
        is_complete: z.boolean().describe("False: there are more than are counted"),
        oldest_due_at: timestamp.nullable(),
      })
      .strict(),
    refused: z
      .array(
        z
          .object({
            key_id: identifier,
            name: z.string().nullable(),
            last4: z.string(),
            partner_id: identifier.nullable(),
            partner_name: z.string().nullable(),
            reason: z.enum(["expired", "revoked", "suspended"]),
            requests: count,
          })
          .strict(),
      )
      .describe("Keys that no longer work and were used in the last hour"),
    feeds: z.array(feedAge).describe("The feeds that the service follows"),
  })
  .strict();
export type SystemOverview = z.infer<typeof systemOverview>;

/** Endpoints of a partner's overview. */
export const partnerOverviewEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/systems/:system_id/partners/:partner_id/overview",
    summary: "API usage and webhook health of a partner, and what needs attention",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: partnerOverview, ...consoleErrors },
  },
} as const;

/** Endpoints of the operator's overview. */
export const systemOverviewEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/systems/:system_id/overview",
    summary: "API usage, webhooks and feeds of a system, and what needs attention",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: systemOverview, ...consoleErrors },
  },
} as const;

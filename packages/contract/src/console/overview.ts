import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { identifier, timestamp } from "../values.ts";
import { consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";
import { feedState } from "./feeds.ts";
import { waiting } from "./webhook.ts";

/** Something that fails, or is about to. */
const problem = z
  .object({
    code: z.enum([
      "no_endpoint",
      "endpoint_paused",
      "endpoint_failing",
      "deliveries_held",
      "deliveries_given_up",
      "deliveries_failing",
      "no_worker",
      "unreadable_events",
      "key_compromised",
      "key_expires",
      "key_ending",
      "key_rate_limited",
      "key_near_limit",
      "key_refused",
      "requests_failing",
      "feed_silent",
      "feed_rejected",
      "feed_failing",
      "feed_stale",
      "long_rides",
      "alert",
    ]),
    severity: z.enum(["danger", "warning", "info"]),
    text: z.string().describe("What is wrong, in a sentence"),
    action: z.string().describe("What to do about it"),
    at: timestamp.nullable().describe("Since when, or by when"),
    partner_id: identifier.nullable().describe("Whose problem it is; null: the operator's"),
    partner_name: z.string().nullable(),
    link: z
      .object({
        page: z.enum(["overview", "webhook", "deliveries", "keys", "requests", "feeds", "rides"]),
        query: z.record(z.string()).describe("The page's filters"),
      })
      .strict()
      .describe("Where it is seen and put right"),
  })
  .strict();
export type Problem = z.infer<typeof problem>;

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

/** What a key did in the last hour. */
const keyLoad = z
  .object({
    id: identifier,
    name: z.string().nullable(),
    last4: z.string(),
    rate_limit: z.number().int().min(1).describe("Requests in any 60 s"),
    requests: z.array(count).describe("By minute, as `minutes`"),
    rate_limited: count.describe("Answered 429 in the hour"),
  })
  .strict();
export type KeyLoad = z.infer<typeof keyLoad>;

const minutes = z.array(timestamp).describe("When each minute of the last hour began, the oldest first");

const deliveryCounts = z
  .object({
    succeeded: count.describe("Created in the last 24 hours"),
    given_up: count.describe("In the last 24 hours"),
    pending: waiting.describe("Now, those that fail included"),
    failing: count.describe("Now: to be tried again after a failed attempt"),
    held: waiting.describe("Now"),
    is_complete: z.boolean().describe("False: more succeeded, were given up or fail than are counted"),
  })
  .strict();

const partnerOverview = z
  .object({
    problems: z.array(problem),
    minutes,
    keys: z.array(keyLoad).describe("Those that work now, the most used first"),
    hour: requestCounts,
    today: requestCounts.describe("Since midnight in UTC"),
    endpoint: z
      .object({
        status: z.enum(["active", "probing", "paused"]),
        status_text: z.string(),
        url: z.string(),
        failing_since: timestamp.nullable(),
        oldest_due_at: timestamp.nullable(),
      })
      .strict()
      .nullable()
      .describe("Null: no address is set"),
    deliveries: deliveryCounts.nullable(),
  })
  .strict();
export type PartnerOverview = z.infer<typeof partnerOverview>;

const feedAge = z
  .object({
    source: z.string(),
    feed: z.string(),
    state: feedState,
    age_seconds: z.number().min(0).nullable().describe("Since it was last got and read whole; null: never"),
    failing_seconds: z.number().min(0).describe("0: it does not fail"),
  })
  .strict();
export type FeedState = z.infer<typeof feedAge>;

const systemOverview = z
  .object({
    problems: z.array(problem),
    minutes,
    requests: z.array(count).describe("Of all keys, by minute, as `minutes`"),
    rate_limited: z.array(count).describe("Of them answered 429"),
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
      .describe("Keys that work no more and were used in the last hour"),
    feeds: z.array(feedAge).describe("Those that the service follows"),
  })
  .strict();
export type SystemOverview = z.infer<typeof systemOverview>;

/** What a partner sees first. */
export const partnerOverviewEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/systems/:system_id/partners/:partner_id/overview",
    summary: "How a partner's keys and webhooks do, what fails and what to do",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: partnerOverview, ...consoleErrors },
  },
} as const;

/** What the operator sees first. */
export const systemOverviewEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/systems/:system_id/overview",
    summary: "How a system does, what fails and what to do",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: noQuery,
    responses: { 200: systemOverview, ...consoleErrors },
  },
} as const;

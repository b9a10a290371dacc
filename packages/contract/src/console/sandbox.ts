import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { deliveryNames } from "../event-names.ts";
import {
  clockRequest,
  eventRequest,
  faultRequest,
  sandboxClock,
  sandboxEvent,
  sandboxFaults,
  sandboxScenario,
  sandboxStatus,
  scenarioNames,
  webhookFaults,
} from "../sandbox-resources.ts";
import { identifier, timestamp } from "../values.ts";
import { deliveryStatus } from "./deliveries.ts";
import { changeErrors, consoleBodyErrors, consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";

/*
 * A partner's sandbox on the dashboard: the simulated city with its clock and its faults, and buttons that make something
 * happen there. "Happenings" are the events of the city, with their deliveries.
 */

const PATH = "/console/v1/systems/:system_id/partners/:partner_id/sandbox";

/** Maximum events that the sandbox's page lists. Too high: each request costs more, for events that nobody reads. */
export const MAX_SANDBOX_HAPPENINGS = 30;

const sentDelivery = z
  .object({
    id: identifier,
    endpoint_name: z.string(),
    status: deliveryStatus,
    is_failing: z.boolean().describe("True: to be retried after a failed attempt"),
    attempts: z.number().int(),
    code: z
      .number()
      .int()
      .nullable()
      .describe("The HTTP status of the response to the latest attempt; null: no response"),
    failure: z.string().nullable(),
    next_attempt_at: timestamp.nullable(),
  })
  .strict();

/** An event in a sandbox, and what became of its deliveries. */
const happening = z
  .object({
    event_id: identifier,
    event: z.string(),
    resource_id: z.string().nullable(),
    at: timestamp,
    deliveries: z.array(sentDelivery).describe("Empty: no webhook subscribes to the event"),
  })
  .strict();

const activity = z
  .object({
    sandbox: sandboxStatus,
    is_waking: z.boolean().describe("True: the city was emptied after long disuse, and is being generated again"),
    clock: sandboxClock,
    ...sandboxFaults.shape,
    webhook_faults: webhookFaults.nullable().describe("Null: no faults of deliveries"),
    happenings: z
      .array(happening)
      .describe(`What happened since yesterday, newest first, at most ${MAX_SANDBOX_HAPPENINGS} events`),
  })
  .strict();
export type SandboxActivity = z.infer<typeof activity>;

/** The metadata of endpoints that act in the sandbox's city, such as starting a ride. */
const plays = consoleNeeds("partner", "admin", {
  conflicts: [
    "no_bike_available",
    "bike_not_available",
    "station_offline",
    "too_many_reservations",
    "reservation_not_active",
    "ride_conflict",
    "sandbox_full",
    "conflict",
  ],
});
/** The parameters of the endpoints that change something and take no name in their path. */
const change = { pathParams: partnerPath, query: noQuery } as const;

/** Endpoints of a partner's sandbox. The pages of the partner's real system create it; the sandbox's own pages use it. */
export const partnerSandboxEndpoints = {
  show: {
    method: "GET",
    path: PATH,
    summary: "The partner's sandbox",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: z.object({ sandbox: sandboxStatus.nullable() }).strict(), ...consoleErrors },
  },
  activity: {
    method: "GET",
    path: `${PATH}/activity`,
    summary: "The sandbox now, and what happened in it recently",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: activity, ...consoleErrors },
  },
  create: {
    method: "POST",
    path: PATH,
    summary: "Make the partner's sandbox, unless it has one",
    metadata: consoleNeeds("partner", "admin", { conflicts: ["conflict"] }),
    ...change,
    body: z.object({}).strict(),
    responses: { 200: sandboxStatus, ...changeErrors },
  },
  play: {
    method: "POST",
    path: `${PATH}/scenarios/:name`,
    summary: "Play a scenario. `key-expires` makes a key, so the caller must have confirmed who they are",
    // The metadata is the same for all scenarios, so the route itself asks for the confirmation.
    metadata: plays,
    pathParams: partnerPath.extend({ name: z.enum(scenarioNames) }),
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: sandboxScenario, ...changeErrors },
  },
  trigger: {
    method: "POST",
    path: `${PATH}/events/:name`,
    summary: "Cause an event",
    metadata: plays,
    pathParams: partnerPath.extend({ name: z.enum(deliveryNames) }),
    query: noQuery,
    body: eventRequest,
    responses: { 200: sandboxEvent, ...changeErrors },
  },
  advance: {
    method: "POST",
    path: `${PATH}/clock/advance`,
    summary: "Let time pass",
    metadata: plays,
    ...change,
    body: clockRequest,
    responses: { 200: sandboxClock, ...changeErrors },
  },
  addFault: {
    method: "POST",
    path: `${PATH}/faults`,
    summary: "Make the API fail",
    metadata: consoleNeeds("partner", "admin", { conflicts: ["conflict"] }),
    ...change,
    body: faultRequest,
    responses: { 200: sandboxFaults, ...changeErrors },
  },
  endFaults: {
    method: "POST",
    path: `${PATH}/faults/end`,
    summary: "End all faults of the API",
    metadata: consoleNeeds("partner", "admin"),
    ...change,
    body: z.object({}).strict(),
    responses: { 200: sandboxFaults, ...consoleErrors, ...consoleBodyErrors },
  },
  setWebhookFaults: {
    method: "POST",
    path: `${PATH}/webhooks/faults`,
    summary: "Make deliveries fail; `{}` ends the faults",
    metadata: consoleNeeds("partner", "admin"),
    ...change,
    body: webhookFaults,
    responses: { 200: webhookFaults, ...consoleErrors, ...consoleBodyErrors },
  },
  reset: {
    method: "POST",
    path: `${PATH}/reset`,
    summary: "Generate the city again",
    metadata: consoleNeeds("partner", "admin"),
    ...change,
    body: z.object({}).strict(),
    responses: { 200: sandboxStatus, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;

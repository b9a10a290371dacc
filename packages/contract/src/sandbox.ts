import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { bodyErrors, type EndpointMetadata, errors, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { deliveryNames } from "./event-names.ts";
import {
  clockRequest,
  eventRequest,
  faultRequest,
  MAX_SANDBOX_FAULTS,
  resetRequest,
  sandboxClock,
  sandboxEvent,
  sandboxFaults,
  sandboxScenario,
  sandboxScenarios,
  sandboxStatus,
  scenarioNames,
  webhookFaults,
} from "./sandbox-resources.ts";

export * from "./sandbox-resources.ts";

const c = initContract();

const metadata = { scope: "sandbox" } as const satisfies EndpointMetadata;
/** For endpoints at which a repeated request has its effect again, so that clients must not retry it by themselves. */
const repeats = { ...metadata, repeats: true } as const satisfies EndpointMetadata;
/** Errors when the state of the city does not allow a command, such as when no bike is free. */
const cityConflicts = [
  "no_bike_available",
  "bike_not_available",
  "station_offline",
  "too_many_reservations",
  "reservation_not_active",
  "ride_conflict",
  "sandbox_full",
] as const;

/** The interface to a partner's sandbox. Only a sandbox's key may call it. */
export const sandboxContract = c.router(
  {
    show: {
      method: "GET",
      path: "/sandbox/v1",
      summary: "Show the sandbox",
      metadata,
      query: noQuery,
      responses: { 200: sandboxStatus, ...errors },
    },
    reset: {
      method: "POST",
      path: "/sandbox/v1/reset",
      summary: "Generate the city again",
      description:
        "Deletes stations, bikes, rides, reservations and alerts, and generates the seed's city. Keys, webhooks, events " +
        "and the log of deliveries stay.",
      metadata,
      query: noQuery,
      body: resetRequest,
      responses: { 200: sandboxStatus, ...bodyErrors, ...errors },
    },
    clock: {
      method: "GET",
      path: "/sandbox/v1/clock",
      summary: "Show the clock",
      metadata,
      query: noQuery,
      responses: { 200: sandboxClock, ...errors },
    },
    advance: {
      method: "POST",
      path: "/sandbox/v1/clock/advance",
      summary: "Let time pass",
      description:
        "Brings forward everything that waits for a time: the end of reservations, rides, alerts, keys, old secrets and " +
        "faults, the minutes of thresholds, the hour of a webhook's limit, and the next attempts of deliveries. What " +
        "becomes due is done at once. Signatures and the times of events still follow the real clock, as your receiver " +
        "does. Call `GET /sandbox/v1/clock` until `ready` is true.",
      metadata: { ...repeats, conflicts: cityConflicts } satisfies EndpointMetadata,
      query: noQuery,
      body: clockRequest,
      responses: { 202: sandboxClock, ...bodyErrors, ...errors },
    },
    scenario: {
      method: "POST",
      path: "/sandbox/v1/scenarios/:name",
      summary: "Play a scenario",
      description: Object.entries(sandboxScenarios)
        .map(([name, text]) => `- \`${name}\`: ${text}`)
        .join("\n"),
      metadata: { ...repeats, conflicts: cityConflicts } satisfies EndpointMetadata,
      pathParams: z.object({ name: z.enum(scenarioNames) }),
      query: noQuery,
      body: z.object({}).strict(),
      responses: { 200: sandboxScenario, 404: errorBody, ...bodyErrors, ...errors },
    },
    addFault: {
      method: "POST",
      path: "/sandbox/v1/faults",
      summary: "Make the API fail",
      description: `Up to ${MAX_SANDBOX_FAULTS} faults at once, which end by themselves. They do not affect requests to /sandbox/v1.`,
      metadata: { ...repeats, conflicts: ["conflict"] } satisfies EndpointMetadata,
      query: noQuery,
      body: faultRequest,
      responses: { 200: sandboxFaults, ...bodyErrors, ...errors },
    },
    endFaults: {
      method: "DELETE",
      path: "/sandbox/v1/faults",
      summary: "End all faults of the API",
      metadata,
      query: noQuery,
      responses: { 200: sandboxFaults, ...errors },
    },
    setWebhookFaults: {
      method: "POST",
      path: "/sandbox/v1/webhooks/faults",
      summary: "Make deliveries fail",
      description: "Faults to test a receiver with. `{}` ends them.",
      metadata,
      query: noQuery,
      body: webhookFaults,
      responses: { 200: webhookFaults, ...bodyErrors, ...errors },
    },
    trigger: {
      method: "POST",
      path: "/sandbox/v1/events/:name",
      summary: "Cause an event",
      description:
        "Does what causes the event: for `ride.completed` a bike is taken and brought back. `station.updated` follows " +
        "within a minute. Threshold events need a threshold on a webhook of the sandbox.",
      metadata: { ...repeats, conflicts: cityConflicts } satisfies EndpointMetadata,
      pathParams: z.object({ name: z.enum(deliveryNames) }),
      query: noQuery,
      body: eventRequest,
      responses: { 200: sandboxEvent, 404: errorBody, ...bodyErrors, ...errors },
    },
  },
  { strictStatusCodes: true },
);

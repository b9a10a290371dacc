import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { bodyErrors, type EndpointMetadata, errors, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { deliveryNames } from "./event-names.ts";
import { MAX_SANDBOX_RIDES } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { givenIdentifier, identifier, timestamp } from "./values.ts";

const c = initContract();

const metadata = { scope: "sandbox" } as const satisfies EndpointMetadata;
/** Where a test needs something of the city that is not there. */
const cityConflicts = [
  "no_bike_available",
  "bike_not_available",
  "station_offline",
  "too_many_reservations",
  "reservation_not_active",
  "ride_conflict",
  "sandbox_full",
] as const;

const count = z.number().int().nonnegative();
const seed = z
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1);

export const sandboxStatus = namedObject("Sandbox", "Your test city.", {
  system_id: identifier,
  seed: seed.describe("What its city was made from"),
  reset_at: timestamp.describe("When its city was made"),
  stations: count,
  bikes: count,
  rides: count,
  max_rides: count.describe(`At ${MAX_SANDBOX_RIDES.toLocaleString("en")} rides nothing more happens until a reset`),
});
export type SandboxStatus = z.infer<typeof sandboxStatus>;

const resetRequest = namedObject("SandboxReset", "Which city to make.", {
  seed: seed.optional().describe("The same seed makes the same city, byte for byte; the last one, when left out"),
});

const eventRequest = namedObject("SandboxEventRequest", "Where something is to happen.", {
  station_id: givenIdentifier.optional().describe("A station that fits is chosen, when left out"),
});

export const sandboxEvent = namedObject("SandboxEvent", "What was done to cause an event.", {
  event: z.enum(deliveryNames),
  resource_id: identifier.describe("The ride, station, reservation, alert or bike that the event is of"),
  station_id: identifier.nullable(),
  steps: z.array(z.string()).describe("What happened, in order; each step may make events of its own"),
});
export type SandboxEvent = z.infer<typeof sandboxEvent>;

/** The longest time that passes at once. */
const MAX_ADVANCE_SECONDS = 7 * 86_400;

const clockRequest = namedObject("SandboxClockRequest", "How much time passes.", {
  seconds: z.number().int().min(1).max(MAX_ADVANCE_SECONDS),
});

export const sandboxClock = namedObject("SandboxClock", "How far the sandbox's time is.", {
  now: timestamp,
  advanced_seconds: count.describe("What has passed by `clock/advance` since the city was made"),
  ready: z.boolean().describe("Everything that fell due is done: reservations have expired, and deliveries been tried"),
});
export type SandboxClock = z.infer<typeof sandboxClock>;

/** The interface to a partner's sandbox. Keys of sandboxes alone reach it. */
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
      summary: "Make the city anew",
      description:
        "Stations, bikes, rides, reservations and alerts are deleted, and the seed's city is made. Keys, endpoints, events and " +
        "the log of deliveries stay.",
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
        "Nobody waits: what would fall due within the seconds falls due now, and all else so much sooner. That is the end of " +
        "reservations, rides, alerts, keys and old secrets, and the next attempts of deliveries. Signatures and the times of events " +
        "go by the real clock, as receivers do. Ask `GET /sandbox/v1/clock` until it is `ready`.",
      metadata: { ...metadata, conflicts: cityConflicts } satisfies EndpointMetadata,
      query: noQuery,
      body: clockRequest,
      responses: { 202: sandboxClock, ...bodyErrors, ...errors },
    },
    trigger: {
      method: "POST",
      path: "/sandbox/v1/events/:name",
      summary: "Cause an event",
      description:
        "By really doing what causes it: for `ride.completed` a bike is taken and brought back. `station.updated` follows within a " +
        "minute.",
      metadata: { ...metadata, conflicts: cityConflicts } satisfies EndpointMetadata,
      pathParams: z.object({ name: z.enum(deliveryNames) }),
      query: noQuery,
      body: eventRequest,
      responses: { 200: sandboxEvent, 404: errorBody, ...bodyErrors, ...errors },
    },
  },
  { strictStatusCodes: true },
);

import { z } from "zod";
import { deliveryNames } from "./event-names.ts";
import { MAX_SANDBOX_RIDES } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { MAX_FAULT_ANSWERS, scenarioNames } from "./sandbox-words.ts";
import { givenIdentifier, givenInstant, identifier, timestamp } from "./values.ts";

export * from "./sandbox-words.ts";

/*
 * What a test sends to its sandbox, a partner's simulated city, and what it reads: the city, its clock, events that it
 * causes, and faults. A fault makes requests to the API or deliveries fail, to test how a program handles failures.
 */

const count = z.number().int().nonnegative();
const seed = z
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1);

export const sandboxStatus = namedObject("Sandbox", "Your test city.", {
  system_id: identifier,
  seed: seed.describe("The number from which the city was generated"),
  reset_at: timestamp.describe("When the city was last generated"),
  stations: count,
  bikes: count,
  rides: count,
  max_rides: count.describe(`At ${MAX_SANDBOX_RIDES.toLocaleString("en")} rides nothing more happens until a reset`),
});
export type SandboxStatus = z.infer<typeof sandboxStatus>;

export const resetRequest = namedObject("SandboxReset", "Which city to generate.", {
  seed: seed
    .optional()
    .describe("The same seed always generates the same city, byte for byte. When left out: the previous seed"),
});

export const eventRequest = namedObject("SandboxEventRequest", "Where the event happens.", {
  station_id: givenIdentifier.optional().describe("When left out, the sandbox chooses a station"),
});

export const sandboxEvent = namedObject("SandboxEvent", "What was done to cause an event.", {
  event: z.enum(deliveryNames),
  resource_id: identifier.describe("The ride, station, reservation, alert or bike that the event is about"),
  station_id: identifier.nullable(),
  steps: z.array(z.string()).describe("What happened, in order; each step may cause further events"),
});
export type SandboxEvent = z.infer<typeof sandboxEvent>;

/** Maximum seconds of one advance. */
const MAX_ADVANCE_SECONDS = 7 * 86_400;

export const clockRequest = namedObject("SandboxClockRequest", "How much time passes.", {
  seconds: z.number().int().min(1).max(MAX_ADVANCE_SECONDS),
});

export const sandboxClock = namedObject("SandboxClock", "The sandbox's clock.", {
  now: timestamp,
  advanced_seconds: count.describe("Seconds added by `clock/advance` since the city was generated"),
  ready: z
    .boolean()
    .describe(
      "Whether everything that became due is done: reservations have expired, and deliveries have been attempted",
    ),
});
export type SandboxClock = z.infer<typeof sandboxClock>;

export const sandboxScenario = namedObject("SandboxScenario", "What a scenario did.", {
  scenario: z.enum(scenarioNames),
  steps: z.array(z.string()).describe("What happened, in order"),
  key: z.string().nullable().describe("The key that `key-expires` created; null: another scenario"),
});
export type SandboxScenario = z.infer<typeof sandboxScenario>;

/** Maximum faults at a time. Too high: each request is compared with all of them. */
export const MAX_SANDBOX_FAULTS = 10;

const sandboxFault = {
  route: z
    .string()
    .regex(/^(GET|POST|PATCH|DELETE) \/v1\/[\w/:]{1,100}$/, "must be a method and a path, such as GET /v1/stations/:id")
    .optional()
    .describe("The endpoint that fails, such as `GET /v1/stations/:id`; when left out: every endpoint of /v1"),
  status: z
    .union([z.literal(429), z.literal(500), z.literal(503), z.literal("timeout")])
    .describe("`timeout`: the connection ends after 30 s without an answer"),
  share: z.number().gt(0).max(1).default(1).describe("The share of requests that fail, up to 1 (all); 1 when left out"),
  count: z
    .number()
    .int()
    .min(1)
    .max(MAX_FAULT_ANSWERS)
    .optional()
    .describe("How many requests fail before the fault ends; no limit, when left out"),
  until: givenInstant.optional().describe("When the fault ends; an hour from now, when left out"),
};
export const faultRequest = namedObject(
  "SandboxFaultRequest",
  "A failure of the API, to test a client with.",
  sandboxFault,
);
export type SandboxFaultRequest = z.infer<typeof faultRequest>;

export const sandboxFaults = namedObject("SandboxFaults", "The faults of the API.", {
  faults: z.array(
    z
      .object({
        route: z.string().nullable(),
        status: sandboxFault.status,
        share: z.number(),
        count: count.nullable().describe("How many more requests fail before the fault ends; null: no limit"),
        until: timestamp,
      })
      .strict(),
  ),
});
export type SandboxFault = z.infer<typeof sandboxFaults>["faults"][number];

/** The longest delay of a delivery. The 15 s within which a receiver must answer begin after the delay. */
const MAX_DELAY_SECONDS = 10;

export const webhookFaults = namedObject(
  "SandboxWebhookFaults",
  "Faults of deliveries. They replace the faults that were set before.",
  {
    delay: z.number().int().min(0).max(MAX_DELAY_SECONDS).default(0).describe("Seconds before each attempt"),
    duplicate: z.boolean().default(false).describe("Each attempt is sent twice"),
    reorder: z.boolean().default(false).describe("Every second delivery overtakes the previous one"),
    bad_signature: z.boolean().default(false).describe("Signatures are wrong: a receiver must refuse them"),
    down: z.boolean().default(false).describe("No attempt reaches the receiver"),
    until: timestamp.optional().describe("When these faults end. When left out, they last until others replace them"),
  },
);
export type SandboxWebhookFaults = z.infer<typeof webhookFaults>;

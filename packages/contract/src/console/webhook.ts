import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { deliveryNames } from "../event-names.ts";
import { MAX_COUNTED_DELIVERIES, MAX_MAIL_ADDRESS, MAX_MESSAGES_PER_HOUR } from "../limits.ts";
import { thresholds } from "../thresholds.ts";
import { identifier, timestamp } from "../values.ts";
import { changeNeeds, deliveryAttempt, ofWebhook, partnerBase } from "./deliveries.ts";
import { changeErrors, consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";
import { heldEndpoints } from "./held.ts";

/*
 * A partner's webhook on the dashboard: its settings, its health and its secrets. "Probe" has two meanings here. A resumed
 * webhook is `probing` while one delivery at a time is sent, until one succeeds. The endpoint `probe` tests an address.
 */

export const endpointStatus = z.enum(["active", "probing", "paused"]);
/**
 * Why an endpoint is paused. `partner`, `operator`: one of their people paused it. `failing`: it failed for hours. `gone`: it
 * kept answering 410. `probe_failed`: the first delivery after a resume failed. `suspended`: its partner is suspended.
 * `removed`: it was removed.
 */
export const pauseReason = z.enum(["partner", "operator", "failing", "gone", "probe_failed", "suspended", "removed"]);

/** A count of an endpoint's deliveries that are pending or held. */
export const waiting = z
  .number()
  .int()
  .min(0)
  .max(MAX_COUNTED_DELIVERIES)
  .describe(`Counted up to ${MAX_COUNTED_DELIVERIES}, which means as many or more`);

const signatureScheme = z.enum(["service", "both"]);

/** Maximum ids in a request. It exceeds what an endpoint may have, so that the service rejects too many with a reason. */
const MAX_GIVEN_PLACES = 1_000;
const placeIds = z.array(identifier).max(MAX_GIVEN_PLACES);

/** The places that a webhook is limited to: it gets events that happen at any of them. */
const places = z
  .object({
    station_ids: placeIds,
    region_ids: placeIds,
    bbox: z.string().max(100).nullable().describe("`min_lon,min_lat,max_lon,max_lat` in WGS 84 degrees"),
  })
  .strict()
  .nullable()
  .describe("Only events at any of these places are sent; null: events anywhere");
export type WebhookPlaces = z.infer<typeof places>;

/** The hourly limit: maximum deliveries of new events in an hour. */
const maxPerHour = z
  .number()
  .int()
  .min(1)
  .max(MAX_MESSAGES_PER_HOUR)
  .nullable()
  .describe("The most new events that are sent in an hour (UTC), the first ones; null: all");

/** The settings that decide, in addition to the event names, which events are sent. */
const conditions = {
  places,
  thresholds: thresholds.describe("When `station.below_threshold` and `station.back_to_normal` are sent"),
  max_per_hour: maxPerHour,
};

const replay = z
  .object({
    id: identifier,
    since: timestamp,
    until: timestamp,
    total: z.number().int(),
    queued: z.number().int(),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .strict();

/** A partner's webhook endpoint, its settings and its health. It never contains a secret. */
const webhook = z
  .object({
    id: identifier,
    name: z.string().describe("The partner's name for the webhook"),
    url: z.string().nullable().describe("Null: the webhook was removed"),
    events: z.array(z.string()),
    unreadable_events: z.array(z.string()).describe("Chosen events whose resource no key of the partner may read"),
    ...conditions,
    this_hour: z
      .object({ sent: z.number().int(), skipped: z.number().int(), until: timestamp })
      .strict()
      .nullable()
      .describe("The present count for `max_per_hour`; null: no limit, or no events in this hour"),
    email: z.string().nullable().describe("Who is mailed when deliveries fail; null: nobody"),
    signature: signatureScheme.describe("`both`: Service-Signature and the headers of Standard Webhooks"),
    status: endpointStatus,
    status_text: z.string(),
    pause_reason: pauseReason.nullable(),
    paused_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
    failing_since: timestamp.nullable(),
    failures: z.number().int(),
    pending: waiting,
    oldest_due: timestamp.nullable(),
    held: waiting,
    held_since: timestamp.nullable(),
    is_replaying: z.boolean().describe("True: deliveries are being sent again, perhaps including held ones"),
    workers: z.number().int().describe("Processes that send webhooks now"),
    secrets: z
      .array(z.object({ id: identifier, expires_at: timestamp.nullable() }).strict())
      .describe("Secrets that sign now, newest first; `expires_at` null: until the secret is rotated"),
    replays: z.array(replay).describe("Newest first"),
  })
  .strict();
export type Webhook = z.infer<typeof webhook>;

const shownWebhook = z.object({ webhook: webhook.nullable().describe("Null: no webhook was ever set") }).strict();

/**
 * Maximum characters of a requested address. It exceeds the limit of accepted addresses, so that the service rejects an
 * address that is too long with a reason.
 */
const MAX_GIVEN_ADDRESS = 4_096;
const givenAddress = z.string().min(1).max(MAX_GIVEN_ADDRESS);

/** A name, which the service rejects with a reason if it is too long, like an address. */
const givenName = z.string().max(MAX_GIVEN_ADDRESS);
const settings = z
  .object({
    name: givenName.optional(),
    url: givenAddress
      .optional()
      .describe("Setting another origin needs a confirmation, and is refused in frames of the portal"),
    events: z.array(z.string().max(100)).max(100).optional(),
    email: z.string().max(MAX_MAIL_ADDRESS).nullable().optional(),
    places: places.optional(),
    thresholds: conditions.thresholds.optional(),
    max_per_hour: maxPerHour.optional(),
    signature: signatureScheme
      .optional()
      .describe("Setting `both` makes a secret, as a rotation does, and needs a confirmation"),
    // A setting that `seen` leaves out counts as unchanged.
    seen: webhook
      .pick({ name: true, url: true, events: true, email: true, signature: true })
      .extend(conditions)
      .partial({ name: true, places: true, thresholds: true, max_per_hour: true })
      .optional()
      .describe("The settings that the change is based on: 409 if somebody else has changed them since"),
  })
  .strict();
export type WebhookSettings = z.infer<typeof settings>;

const newWebhook = settings.omit({ seen: true }).extend({ name: givenName }).strict();
export type NewWebhook = z.infer<typeof newWebhook>;

const setWebhook = z
  .object({
    id: identifier,
    outcome: z.enum(["created", "changed", "unchanged"]),
    has_new_secret: z.boolean().describe("True: a secret was made, which `showSecret` shows"),
    old_secrets_end_at: timestamp.nullable(),
  })
  .strict();

const preview = z
  .object({
    since: timestamp,
    until: timestamp,
    deliveries: z.number().int().describe("Deliveries, without skipped ones"),
    skipped: z.number().int().describe("Deliveries above `max_per_hour`"),
    by_event: z.array(z.object({ event: z.string(), deliveries: z.number().int() }).strict()),
    is_complete: z
      .boolean()
      .describe("False: only the latest events and changes were looked at, because there are too many"),
  })
  .strict();
export type WebhookPreview = z.infer<typeof preview>;

const probeStep = z
  .object({
    step: z.enum(["address", "dns", "connect", "tls", "response"]),
    result: z.enum(["passed", "failed", "not_needed", "not_reached"]),
    ms: z.number().nullable(),
    text: z.string().describe("What was found"),
  })
  .strict();

/** The result of one signed test request to an address. */
const probe = z
  .object({
    is_allowed: z.boolean().describe("True: the address can be set; other problems can be fixed later"),
    is_accepted: z.boolean().describe("True: the address answered with 2xx, so deliveries would arrive"),
    steps: z.array(probeStep),
    advice: deliveryAttempt.shape.advice,
    is_signed_with_secret: z
      .boolean()
      .describe("False: there is no endpoint yet, so no receiver can verify the signature"),
    remote_address: z.string().nullable(),
    total_ms: z.number(),
    request: deliveryAttempt.shape.request,
    response: deliveryAttempt.shape.response,
  })
  .strict();
export type Probe = z.infer<typeof probe>;
export type ProbeStep = z.infer<typeof probeStep>;

/** Maximum hours for which old secrets still sign, in addition to a new one. */
const MAX_SECRET_OVERLAP_HOURS = 168;

const rotatedSecret = z.object({ secret: z.string(), old_secrets_end_at: timestamp }).strict();

const eventDescription = z
  .object({
    name: z.string(),
    description: z.string(),
    fields: z
      .array(z.object({ name: z.string(), type: z.string(), description: z.string().nullable() }).strict())
      .describe("The fields of `data`"),
    sample: z.string().describe("A body as it is sent"),
  })
  .strict();
export type EventDescription = z.infer<typeof eventDescription>;

/** Frames of the operator's portal may not test an address, because they may not set one of another origin. */
const probeNeeds = consoleNeeds("partner", "admin", { conflicts: ["conflict"], embedded: false });

const resumption = z
  .object({
    sends_held: z.boolean().optional().describe("True: held deliveries are sent as soon as the webhook is active"),
  })
  .strict();

/** The answer to a change of the status. */
/** The answer to a change of an endpoint's status. */
export const change = z.object({ changed: z.boolean().describe("False: nothing had to change") }).strict();
const nothing = z.object({}).strict();
const viewNeeds = consoleNeeds("partner");
/** The parameters of endpoints of one webhook. */
const ofOne = { pathParams: partnerPath, query: ofWebhook };
/** The parameters of endpoints of all the partner's webhooks. */
const ofPartner = { pathParams: partnerPath, query: noQuery };
const secretNeeds = consoleNeeds("partner", "admin", { confirmed: true, conflicts: ["conflict"] });

/** Endpoints that read a partner's webhooks. */
const reads = {
  list: {
    method: "GET",
    path: `${partnerBase}/webhooks`,
    summary: "The partner's webhooks, with their health",
    metadata: viewNeeds,
    ...ofPartner,
    responses: { 200: z.object({ data: z.array(webhook) }).strict(), ...consoleErrors },
  },
  show: {
    method: "GET",
    path: `${partnerBase}/webhook`,
    summary: "A webhook of the partner, with its health",
    metadata: viewNeeds,
    ...ofOne,
    responses: { 200: shownWebhook, ...consoleErrors },
  },
  events: {
    method: "GET",
    path: `${partnerBase}/webhook/events`,
    summary: "Every event that can be chosen, with its fields and a sample",
    metadata: viewNeeds,
    ...ofPartner,
    responses: { 200: z.object({ data: z.array(eventDescription) }).strict(), ...consoleErrors },
  },
} as const;

/** Endpoints that change the status of a webhook. */
const statusChanges = {
  pause: {
    method: "POST",
    path: `${partnerBase}/webhook/pause`,
    summary: "Hold events from now on",
    metadata: changeNeeds,
    ...ofOne,
    body: nothing,
    responses: { 200: change, ...changeErrors },
  },
  resume: {
    method: "POST",
    path: `${partnerBase}/webhook/resume`,
    summary: "Resume sending, with one delivery as a probe first",
    metadata: changeNeeds,
    ...ofOne,
    body: resumption,
    responses: {
      200: change.extend({ sent: z.number().int().describe("Held deliveries that are sent") }),
      ...changeErrors,
    },
  },
  retryNow: {
    method: "POST",
    path: `${partnerBase}/webhook/retry-now`,
    summary: "Make all deliveries that wait for their next attempt due now",
    metadata: changeNeeds,
    ...ofOne,
    body: nothing,
    responses: { 200: z.object({ deliveries: z.number().int() }).strict(), ...changeErrors },
  },
  remove: {
    method: "POST",
    path: `${partnerBase}/webhook/remove`,
    summary: "End the webhook: its secrets are deleted, its log stays",
    metadata: changeNeeds,
    ...ofOne,
    body: nothing,
    responses: { 200: change, ...changeErrors },
  },
} as const;

/** How many requests of the session's rate limit a preview costs: it reads the events of a whole day. */
export const PREVIEW_COST = 20;

/** Endpoints of a partner's webhooks. */
export const webhookEndpoints = {
  ...reads,
  ...statusChanges,
  ...heldEndpoints,
  add: {
    method: "POST",
    path: `${partnerBase}/webhooks`,
    summary: "Add a webhook",
    metadata: consoleNeeds("partner", "admin", { confirmed: true, conflicts: ["conflict"] }),
    ...ofPartner,
    body: newWebhook,
    responses: { 200: setWebhook, ...changeErrors },
  },
  set: {
    method: "PATCH",
    path: `${partnerBase}/webhook`,
    summary: "Change a webhook; settings that are left out stay",
    metadata: changeNeeds,
    ...ofOne,
    body: settings,
    responses: { 200: setWebhook, ...changeErrors },
  },
  probe: {
    method: "POST",
    path: `${partnerBase}/webhook/probe`,
    summary: "Send one signed test request to an address, before it is set",
    metadata: probeNeeds,
    ...ofOne,
    body: z.object({ url: givenAddress, event: z.enum(deliveryNames).optional() }).strict(),
    responses: { 200: probe, ...changeErrors },
  },
  test: {
    method: "POST",
    path: `${partnerBase}/webhook/test`,
    summary: "Send a test delivery, which is logged like any other",
    metadata: changeNeeds,
    ...ofOne,
    body: z.object({ event: z.enum(deliveryNames).optional() }).strict(),
    responses: { 200: z.object({ delivery_id: identifier }).strict(), ...changeErrors },
  },
  preview: {
    method: "POST",
    path: `${partnerBase}/webhook/preview`,
    summary: "How many deliveries these settings would have caused in the last 24 hours",
    metadata: consoleNeeds("partner", "admin", { conflicts: ["conflict"], cost: PREVIEW_COST }),
    ...ofOne,
    body: z
      .object({
        events: z.array(z.string().max(100)).max(100),
        places,
        thresholds: conditions.thresholds.optional(),
        max_per_hour: maxPerHour.optional(),
      })
      .strict(),
    responses: { 200: preview, ...changeErrors },
  },
  showSecret: {
    method: "POST",
    path: `${partnerBase}/webhook/secret`,
    summary: "The newest secret",
    metadata: secretNeeds,
    ...ofOne,
    body: nothing,
    responses: { 200: z.object({ id: identifier, secret: z.string() }).strict(), ...changeErrors },
  },
  rotateSecret: {
    method: "POST",
    path: `${partnerBase}/webhook/secret/rotate`,
    summary: "Make a new secret; the old ones also sign for a while",
    metadata: secretNeeds,
    ...ofOne,
    body: z.object({ overlap_hours: z.number().int().min(0).max(MAX_SECRET_OVERLAP_HOURS) }).strict(),
    responses: { 200: rotatedSecret, ...changeErrors },
  },
} as const;

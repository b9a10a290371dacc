import { type DeliveryName, deliveryNames } from "@bikeshare/contract";
import { FAILING_LIMIT_MS } from "../rules/after-attempt.ts";
import type { EndpointRow } from "./endpoint-queries.ts";

/** Most days for which an old secret goes on signing beside a new one. */
export const MAX_OVERLAP_DAYS = 7;
/** The same in milliseconds. */
export const MAX_OVERLAP_MS = MAX_OVERLAP_DAYS * 24 * 3_600_000;

/**
 * Secrets of an endpoint that may sign at the same time. Each adds 68 bytes to a header, of which receivers take 8 KiB in
 * all; fewer would refuse a rotation that follows a mistaken one.
 */
export const MAX_ACTIVE_SECRETS = 5;

/**
 * The address of a removed endpoint, in a domain that is reserved never to exist: nothing can be sent there even by
 * mistake.
 */
export const REMOVED_URL = "https://removed.invalid/";

/** Events that an endpoint can subscribe to. */
export const offeredEvents: readonly string[] = deliveryNames satisfies readonly DeliveryName[];

/** The names once each, in the contract's order; or the first one that is not an event. */
export function readEvents(
  names: readonly string[],
): { readonly events: readonly string[] } | { readonly unknown: string } {
  const unknown = names.find((name) => !offeredEvents.includes(name));
  if (unknown !== undefined) return { unknown };
  return { events: offeredEvents.filter((name) => names.includes(name)) };
}

/** Whether a text can be a mail address: strict enough that no second recipient or header fits in. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s\p{C}@<>,;:"()[\]\\]+@[A-Za-z0-9.-]+$/u.test(text);
}

/** Why an endpoint is paused, in words. */
export const pauseDescriptions = {
  partner: "paused by the partner",
  operator: "paused by the operator",
  failing: `paused because it failed for ${FAILING_LIMIT_MS / 3_600_000} hours`,
  gone: "paused because it answered 410 Gone three times or more, over a minute or longer",
  probe_failed: "paused again because the probe after its resuming failed",
  suspended: "paused because its partner is suspended",
  removed: "removed",
} as const satisfies Record<NonNullable<EndpointRow["pause_reason"]>, string>;

/** Whether an endpoint was removed: its row stays because the log refers to it, and nothing is sent to it. */
export function isRemoved({ pause_reason: reason }: Pick<EndpointRow, "pause_reason">): boolean {
  return reason === "removed";
}

/**
 * Whether deliveries are held that nobody sends: the endpoint is not paused any more, and no replay is under way that may
 * have them.
 */
export function isStranded(endpoint: {
  readonly status: EndpointRow["status"];
  readonly held: number;
  readonly is_replaying: boolean;
}): boolean {
  return endpoint.status !== "paused" && endpoint.held > 0 && !endpoint.is_replaying;
}

/** An endpoint's status in words. */
export function describeStatus({ status, pause_reason: reason, paused_at: pausedAt }: EndpointStatusColumns): string {
  if (status === "active") return "active";
  if (status === "probing") return "probing: resumed, one delivery at a time until one succeeds";
  const why = describePause(reason);
  return pausedAt === null ? why : `${why}, ${pausedAt.toISOString()}`;
}

/** The same for a page, which shows the time of a pause by itself. */
export function describeShownStatus(endpoint: EndpointStatusColumns): string {
  return endpoint.status === "paused" ? describePause(endpoint.pause_reason) : describeStatus(endpoint);
}

function describePause(reason: EndpointRow["pause_reason"]): string {
  return reason === null ? "paused" : pauseDescriptions[reason];
}

type EndpointStatusColumns = Pick<EndpointRow, "status" | "pause_reason" | "paused_at">;

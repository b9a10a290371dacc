import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import type { EndpointRow } from "../endpoints/endpoint-queries.ts";
import { describeStatus, isRemoved } from "../endpoints/endpoint.ts";
import { isTestDelivery } from "../queue/test-mark.ts";
import { dayOf } from "../rules/log-days.ts";
import { MAX_TRIES } from "../rules/retry-policy.ts";
import type { DeliveryRow, LatestAttempt } from "./delivery-queries.ts";

type Standing = Pick<
  DeliveryRow,
  | "id"
  | "status"
  | "attempts"
  | "created_on"
  | "created_at"
  | "finished_at"
  | "due_at"
  | "tries"
  | "replay"
  | "claimed_at"
>;
type Ended = Pick<LatestAttempt, "outcome" | "failure" | "status">;
type Explained = Ended & Pick<LatestAttempt, "detail">;

/** What a delivery's fate hangs on beside itself. */
export interface Surroundings {
  readonly endpoint: Pick<EndpointRow, "status" | "pause_reason" | "paused_at">;
  /** Whether any process is sending. */
  readonly isSending: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * What a delivery's state means, in words for whoever asks why it has not arrived.
 * @param last its latest attempt; undefined: none was made, or it is not known
 */
export function explainDelivery(delivery: Standing, around: Surroundings, last: Explained | undefined): string {
  const result = last === undefined ? "" : `; the latest attempt: ${describeFully(last)}`;
  switch (delivery.status) {
    case "succeeded":
      return `arrived ${at(delivery.finished_at)} at attempt ${delivery.attempts}${last?.status ? `, answered ${last.status}` : ""}`;
    case "failed":
      return `given up ${at(delivery.finished_at)} after ${count(delivery.attempts)}${result}; ${waysOn(delivery, around)}`;
    case "held":
      return explainHeld(delivery, around);
    case "pending":
      return `${explainPending(delivery, around)}${result}${around.isSending ? "" : STALLED}`;
  }
}

const STALLED = "; no process that sends webhooks is running: start `serve`";

/** How an attempt ended, in a few words. */
export function describeEnd({ outcome, failure, status }: Ended): string {
  switch (outcome) {
    case "succeeded":
      return `answered ${status ?? ""}`.trimEnd();
    case "rejected":
      return `answered ${status ?? "without a status"}${isRedirect(status) ? ", a redirect, which is not followed" : ""}`;
    case "failed":
      return `no whole answer${failure === null ? "" : ` (${failure})`}`;
    case "unknown":
      return "result unknown: its process ended before it could say";
  }
}

/** The same, with the words that the log has for a failure. */
function describeFully(last: Explained): string {
  const words = last.outcome === "failed" && last.detail !== null ? `: ${last.detail.replace(/\.$/, "")}` : "";
  return `${describeEnd(last)}${words}`;
}

function isRedirect(status: number | null): boolean {
  return status !== null && status >= 300 && status < 400;
}

function waysOn(delivery: Standing, { now }: Surroundings): string {
  if (isTestDelivery(delivery.id)) return "a test is tried once";
  return isPast(delivery, now) ? PAST : "`redeliver` sends it again";
}

function explainHeld(delivery: Standing, { endpoint, now }: Surroundings): string {
  const held = `held since ${at(delivery.finished_at ?? delivery.created_at)}`;
  const kept = isPast(delivery, now) ? PAST : `kept through ${lastDayOf(delivery)}`;
  if (isRemoved(endpoint)) {
    return `${held} because the endpoint is ${describeStatus(endpoint)}; once \`set\` has made it anew, \`redeliver\` or \`replay\` sends it; ${kept}`;
  }
  if (endpoint.status === "paused") return `${held} because the endpoint is ${describeStatus(endpoint)}; ${kept}`;
  return `${held}, when the endpoint was paused; it no longer is: \`redeliver\` or \`replay\` sends it; ${kept}`;
}

function explainPending(delivery: Standing, { endpoint, now }: Surroundings): string {
  const { id, due_at: dueAt, tries, claimed_at: claimedAt, replay } = delivery;
  if ((dueAt === null || tries === null) && isPast(delivery, now)) return `never sent; ${PAST}`;
  if (dueAt === null || tries === null) return "pending, but not in line, which must not be: `redeliver` puts it there";
  const attempt = isTestDelivery(id) ? "the one attempt of a test" : `attempt ${tries + 1} of ${MAX_TRIES}`;
  if (claimedAt !== null) return `being sent since ${at(claimedAt)}: ${attempt}`;
  if (endpoint.status === "paused") return `in line, about to be held: the endpoint is ${describeStatus(endpoint)}`;
  if (dueAt.getTime() > now) return `waits in line: ${attempt} due at ${at(dueAt)}`;
  const behind = replay === true ? ", sent again on request behind what happens now" : "";
  const probing = endpoint.status === "probing" ? ", one delivery at a time until one succeeds" : "";
  return `in line: ${attempt} due since ${at(dueAt)}${behind}${probing}`;
}

/** Said in the while between a day's end of keeping and its dropping, which takes its bodies with it. */
const PAST = `its ${EVENT_RETENTION_DAYS} days are over, and what it said is no longer kept`;

function isPast(delivery: Standing, now: number): boolean {
  return lastDayOf(delivery) < dayOf(now);
}

/** Its day is dropped whole once it is older than deliveries are kept. */
function lastDayOf({ created_on: day }: Standing): string {
  return dayOf(Date.parse(day) + EVENT_RETENTION_DAYS * 86_400_000);
}

function at(instant: Date | null): string {
  return instant === null ? "" : instant.toISOString();
}

function count(attempts: number): string {
  return attempts === 1 ? "1 attempt" : `${attempts} attempts`;
}

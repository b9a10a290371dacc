import type { DeliveryRow, LatestAttempt } from "./delivery-queries.ts";
import type { EndpointRow } from "./endpoint-queries.ts";
import { describeStatus } from "./endpoint.ts";
import { MAX_TRIES } from "./retry-policy.ts";

type Standing = Pick<
  DeliveryRow,
  "status" | "attempts" | "created_at" | "settled_at" | "due_at" | "tries" | "replay" | "claimed_at"
>;
type EndpointStanding = Pick<EndpointRow, "status" | "pause_reason" | "paused_at">;
type Ended = Pick<LatestAttempt, "outcome" | "failure" | "status">;

/**
 * What a delivery's state means, in words for whoever asks why it has not arrived.
 * @param last its latest attempt; undefined: none was made, or it is not known
 * @param now milliseconds since 1970
 */
export function explainDelivery(
  delivery: Standing,
  endpoint: EndpointStanding,
  last: Ended | undefined,
  now: number,
): string {
  const result = last === undefined ? "" : `; the latest attempt: ${describeEnd(last)}`;
  switch (delivery.status) {
    case "succeeded":
      return `arrived ${at(delivery.settled_at)} at attempt ${delivery.attempts}${last?.status ? `, answered ${last.status}` : ""}`;
    case "failed":
      return `given up ${at(delivery.settled_at)} after ${count(delivery.attempts)}${result}; \`redeliver\` sends it again`;
    case "held":
      return explainHeld(delivery, endpoint);
    case "pending":
      return `${explainPending(delivery, endpoint, now)}${result}`;
  }
}

/** How an attempt ended, in a few words. */
export function describeEnd({ outcome, failure, status }: Ended): string {
  switch (outcome) {
    case "succeeded":
      return `answered ${status ?? ""}`.trimEnd();
    case "rejected":
      return `answered ${status ?? "without a status"}`;
    case "failed":
      return `no whole answer${failure === null ? "" : ` (${failure})`}`;
    case "unknown":
      return "result unknown: its process ended before it could say";
  }
}

function explainHeld(delivery: Standing, endpoint: EndpointStanding): string {
  const since = at(delivery.settled_at ?? delivery.created_at);
  if (endpoint.status === "paused") return `held since ${since} because the endpoint is ${describeStatus(endpoint)}`;
  return `held since ${since}, when the endpoint was paused; it is resumed: \`redeliver\` or \`replay\` sends it`;
}

function explainPending(delivery: Standing, endpoint: EndpointStanding, now: number): string {
  const { due_at: dueAt, tries, claimed_at: claimedAt, replay } = delivery;
  // The log of a moment: sent, and not yet written down.
  if (dueAt === null || tries === null) return "pending, but not in line: look again, and run `check` if it stays so";
  const attempt = `attempt ${tries + 1} of ${MAX_TRIES}`;
  if (claimedAt !== null) return `being sent since ${at(claimedAt)}: ${attempt}`;
  if (endpoint.status === "paused") return `in line, about to be held: the endpoint is ${describeStatus(endpoint)}`;
  if (dueAt.getTime() > now) return `waits in line: ${attempt} due at ${at(dueAt)}`;
  const behind = replay === true ? ", sent again on request behind what happens now" : "";
  const probing = endpoint.status === "probing" ? ", one delivery at a time until one succeeds" : "";
  return `in line: ${attempt} due since ${at(dueAt)}${behind}${probing}`;
}

function at(instant: Date | null): string {
  return instant === null ? "" : instant.toISOString();
}

function count(attempts: number): string {
  return attempts === 1 ? "1 attempt" : `${attempts} attempts`;
}

import { WebhookVerificationError } from "./verification-error.ts";
import type { Delivery, KnownDelivery } from "./wire.generated.ts";

/** The delivery of one event: `DeliveryOf<"ride.completed">`. */
export type DeliveryOf<Name extends KnownDelivery["event"]> = Extract<KnownDelivery, { event: Name }>;

/**
 * Reads a body whose signature is right. Only the envelope is looked at: events and fields are added within a version,
 * and a receiver must take those that it does not know.
 *
 * @throws WebhookVerificationError `body_not_json`, `not_a_delivery`
 */
export function readDelivery(body: Uint8Array): Delivery {
  const value = parse(body);
  const fault = faultOf(value);
  if (fault === undefined) return value as Delivery; // `faultOf` looked at all that the type promises of the envelope
  throw new WebhookVerificationError(
    "not_a_delivery",
    `The body is signed, but it is no delivery: ${fault}. Was something else signed with this secret?`,
  );
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    // The parser's own words quote the body.
    throw new WebhookVerificationError(
      "body_not_json",
      "The body is signed, but it is not JSON in UTF-8. Was something else signed with this secret?",
    );
  }
}

function faultOf(value: unknown): string | undefined {
  if (!isObject(value)) return "it is not an object";
  for (const field of ["event", "delivery_id"]) {
    const text = value[field];
    if (typeof text !== "string" || text === "") return `${field} is no text`;
  }
  for (const field of ["occurred_at", "sent_at"]) {
    const instant = value[field];
    if (typeof instant !== "string" || Number.isNaN(Date.parse(instant))) return `${field} is no instant`;
  }
  return isObject(value["data"]) ? undefined : "data is not an object";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

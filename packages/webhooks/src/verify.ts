import { hasMatch, hmacHex, signedContent } from "./hmac.ts";
import type { Delivery, KnownDelivery } from "./json-types.generated.ts";
import { likelyMistake } from "./likely-mistake.ts";
import { type RawBody, requireRawBody } from "./raw-body.ts";
import { readSecrets, type Secrets } from "./secret.ts";
import { type HeaderValue, parseHeader } from "./signature.ts";
import { WebhookVerificationError } from "./verification-error.ts";

/** The delivery of one event: `DeliveryOf<"ride.completed">`. */
export type DeliveryOf<Name extends KnownDelivery["event"]> = Extract<KnownDelivery, { event: Name }>;

/** Milliseconds since 1970. */
export type Clock = () => number;

/** The machine's own clock. */
// oxlint-disable-next-line eslint/no-restricted-properties -- users of a library have no entry point that injects a clock
export const systemClock: Clock = () => Date.now();

/**
 * Maximum seconds between the signing and now, in either direction. Too low: rejects deliveries on a machine whose clock is
 * slightly wrong. Too high: an attacker has more time to replay a captured delivery.
 */
export const DEFAULT_TOLERANCE_SECONDS = 300;

export interface VerificationOptions {
  /** Maximum seconds between the signing and now, in either direction. Default 300. It must be above 0 and finite. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: Clock | undefined;
}

/**
 * Verifies that a request is a delivery of the service, unchanged and recent, and parses it.
 *
 * @param body the request's body as received, before any parser
 * @param header the value of its `Service-Signature` header
 * @param secrets your endpoint's secret; during a rotation both secrets
 * @returns the delivery. Compare its `event` with a name to know what `data` holds; accept unknown names.
 * @throws WebhookVerificationError if it is not such a delivery, or the body or a secret cannot be used; RangeError for a
 *   wrong tolerance or a wrong clock
 */
export async function verify(
  body: RawBody,
  header: HeaderValue,
  secrets: Secrets,
  options: VerificationOptions = {},
): Promise<Delivery> {
  const toleranceSeconds = requireTolerance(options.toleranceSeconds);
  const now = currentSeconds(options.now ?? systemClock);
  requireRawBody(body);
  const keys = readSecrets(secrets);
  if ("issue" in keys) throw new WebhookVerificationError("bad_secret", keys.issue);
  const { time, signatures } = parseHeader(header);
  requireRecent(now - Number(time), toleranceSeconds);
  const content = signedContent(time, body);
  const expected = await Promise.all(keys.map((key) => hmacHex(key, content)));
  // The signed content is the time, a dot and the body.
  const received = content.subarray(time.length + 1);
  if (!hasMatch(signatures, expected)) {
    throw new WebhookVerificationError(
      "no_matching_signature",
      `No signature in the header matches the body. ${likelyMistake(received, keys)}`,
    );
  }
  return parseDelivery(received);
}

/** Returns the tolerance. @throws RangeError for a value that would disable the check or reject every delivery */
export function requireTolerance(toleranceSeconds = DEFAULT_TOLERANCE_SECONDS): number {
  if (Number.isFinite(toleranceSeconds) && toleranceSeconds > 0) return toleranceSeconds;
  throw new RangeError(
    "toleranceSeconds must be a finite number above 0: without it, captured deliveries stay valid for ever",
  );
}

function currentSeconds(now: Clock): number {
  const milliseconds = now();
  if (Number.isFinite(milliseconds)) return Math.floor(milliseconds / 1000);
  throw new RangeError("now must return the milliseconds since 1970, as Date.now does");
}

function requireRecent(ageSeconds: number, toleranceSeconds: number): void {
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookVerificationError(
      "timestamp_too_old",
      `The delivery was signed ${ageSeconds} s ago by this machine's clock; ${toleranceSeconds} s are tolerated. ` +
        "Either it waited before it was verified, or somebody else sent it again, or this clock is fast.",
    );
  }
  if (-ageSeconds > toleranceSeconds) {
    throw new WebhookVerificationError(
      "timestamp_too_new",
      `The delivery was signed ${-ageSeconds} s in the future by this machine's clock; ${toleranceSeconds} s are ` +
        "tolerated. This clock is probably slow: synchronize it.",
    );
  }
}

/**
 * Parses a body whose signature is valid. Only the envelope is checked: events and fields are added within a version,
 * and a receiver must accept unknown ones.
 *
 * @throws WebhookVerificationError `body_not_json`, `not_a_delivery`
 */
function parseDelivery(body: Uint8Array): Delivery {
  const value = parseJson(body);
  const issue = findIssue(value);
  if (issue === undefined) return value as Delivery; // `findIssue` has checked the envelope.
  throw new WebhookVerificationError(
    "not_a_delivery",
    `The body is signed, but it is not a delivery: ${issue}. Was something else signed with this secret?`,
  );
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    // The message of JSON.parse is not passed on, because it quotes the body.
    throw new WebhookVerificationError(
      "body_not_json",
      "The body is signed, but it is not JSON in UTF-8. Was something else signed with this secret?",
    );
  }
}

function findIssue(value: unknown): string | undefined {
  if (!isObject(value)) return "it is not an object";
  for (const field of ["event", "delivery_id"]) {
    const text = value[field];
    if (typeof text !== "string" || text === "") return `${field} is not a string`;
  }
  for (const field of ["occurred_at", "sent_at"]) {
    const timestamp = value[field];
    if (typeof timestamp !== "string" || Number.isNaN(Date.parse(timestamp)))
      return `${field} is not a valid timestamp`;
  }
  return isObject(value["data"]) ? undefined : "data is not an object";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { type Clock, systemClock } from "./clock.ts";
import { readDelivery } from "./delivery.ts";
import { type HeaderValue, parseHeader } from "./header.ts";
import { haveOneInCommon, hmacHex } from "./hmac.ts";
import { likelyMistake } from "./likely-mistake.ts";
import { type RawBody, requireRawBody } from "./raw-body.ts";
import { readSecrets, type Secrets } from "./secret.ts";
import { signedContent } from "./signed-content.ts";
import { WebhookVerificationError } from "./verification-error.ts";
import type { Delivery } from "./wire.generated.ts";

/**
 * Seconds between the signing and now, either way. Lower refuses deliveries to machines whose clock is a little off;
 * higher leaves more time to send a captured delivery again.
 */
export const DEFAULT_TOLERANCE_SECONDS = 300;

export interface VerificationOptions {
  /** Seconds by which the time of signing may lie before or after now: 300 if not said. More than 0 and finite. */
  readonly tolerance?: number | undefined;
  /** Milliseconds since 1970, as `Date.now` gives them, which is what it is if not said. */
  readonly now?: Clock | undefined;
}

/**
 * Makes sure that a request is a delivery of the service, unchanged and fresh, and reads it.
 *
 * @param body the request's body as it came over the wire, before any parser
 * @param header the value of its `Service-Signature` header
 * @param secrets your endpoint's secret; during a rotation both
 * @returns the delivery. Compare its `event` with a name to know what `data` holds; accept names that you do not know.
 * @throws WebhookVerificationError if it is not; RangeError for a wrong tolerance or a clock that shows no time
 */
export async function verify(
  body: RawBody,
  header: HeaderValue,
  secrets: Secrets,
  options: VerificationOptions = {},
): Promise<Delivery> {
  const tolerance = requireTolerance(options.tolerance);
  const now = currentSeconds(options.now ?? systemClock);
  requireRawBody(body);
  const keys = readSecrets(secrets);
  if ("fault" in keys) throw new WebhookVerificationError("bad_secret", keys.fault);
  const { time, signatures } = parseHeader(header);
  requireFresh(now - Number(time), tolerance);
  const content = signedContent(time, body);
  const expected = await Promise.all(keys.map((key) => hmacHex(key, content)));
  const received = content.subarray(time.length + 1);
  if (!haveOneInCommon(signatures, expected)) {
    throw new WebhookVerificationError(
      "no_matching_signature",
      `No signature in the header fits the body. ${likelyMistake(received, keys)}`,
    );
  }
  return readDelivery(received);
}

/** @throws RangeError for what would switch the check off or refuse everything */
export function requireTolerance(tolerance: number | undefined): number {
  if (tolerance === undefined) return DEFAULT_TOLERANCE_SECONDS;
  if (Number.isFinite(tolerance) && tolerance > 0) return tolerance;
  throw new RangeError(
    "tolerance is a finite number of seconds above 0: without it, captured deliveries hold for ever",
  );
}

function currentSeconds(now: Clock): number {
  const milliseconds = now();
  if (Number.isFinite(milliseconds)) return Math.floor(milliseconds / 1000);
  throw new RangeError("now gives the milliseconds since 1970, as Date.now does");
}

function requireFresh(age: number, tolerance: number): void {
  if (age > tolerance) {
    throw new WebhookVerificationError(
      "timestamp_too_old",
      `The delivery was signed ${age} s ago by this machine's clock; ${tolerance} s are tolerated. Either it waited ` +
        "before it was verified, or it was sent again by somebody else, or this clock is fast.",
    );
  }
  if (-age > tolerance) {
    throw new WebhookVerificationError(
      "timestamp_too_new",
      `The delivery was signed ${-age} s in the future by this machine's clock; ${tolerance} s are tolerated. ` +
        "This clock is probably slow: synchronize it.",
    );
  }
}

/** Why a request is not accepted as a delivery. */
export type VerificationFailure =
  /** There is no `Service-Signature` header. */
  | "missing_header"
  /** The header is not `t=<unix seconds>,v1=<hex>`, or there are two. */
  | "malformed_header"
  /** The delivery was signed longer ago than is tolerated. */
  | "timestamp_too_old"
  /** The delivery was signed further in the future than is tolerated. */
  | "timestamp_too_new"
  /** No signature in the header was made from this body with one of these secrets. */
  | "no_matching_signature"
  /** The body is not a string or bytes, or something read it before the receiver. */
  | "body_not_raw"
  /** The signature is valid, but the body is not JSON in UTF-8. */
  | "body_not_json"
  /** The signature is valid, but the JSON is not a delivery. */
  | "not_a_delivery"
  /** No secret was given, or one that is empty or not a string. */
  | "bad_secret";

/** A property of every `WebhookVerificationError`. All copies of this package in a process share the symbol. */
const brand = Symbol.for("@bikeshare/webhooks/verification-error");

/**
 * Thrown for a request that is not a delivery of the service, and for a mistake in the receiver's setup (`body_not_raw`,
 * `bad_secret`). `reason` is for programs; the message names the likely mistake. The error contains no secret, and no text
 * of the body or the header.
 */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly reason: VerificationFailure;

  constructor(reason: VerificationFailure, message: string) {
    super(message);
    this.reason = reason;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Tells whether something thrown is a `WebhookVerificationError`, also one of another copy of this package. */
export function isWebhookVerificationError(thrown: unknown): thrown is WebhookVerificationError {
  return thrown instanceof Error && Reflect.get(thrown, brand) === true;
}

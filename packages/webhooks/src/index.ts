export type { Clock } from "./clock.ts";
export type { DeliveryOf } from "./delivery.ts";
export { type HeaderValue, SIGNATURE_HEADER } from "./header.ts";
export type { RawBody } from "./raw-body.ts";
export type { Secrets } from "./secret.ts";
export { sign, type SigningInput } from "./sign.ts";
export {
  isWebhookVerificationError,
  type VerificationFailure,
  WebhookVerificationError,
} from "./verification-error.ts";
export { DEFAULT_TOLERANCE_SECONDS, type VerificationOptions, verify } from "./verify.ts";
export type * from "./wire.generated.ts";

export type { RawBody } from "./raw-body.ts";
export type { Secrets } from "./secret.ts";
export { type HeaderValue, sign, SIGNATURE_HEADER, type SigningInput } from "./signature.ts";
export {
  isWebhookVerificationError,
  type VerificationFailure,
  WebhookVerificationError,
} from "./verification-error.ts";
export { type Clock, DEFAULT_TOLERANCE_SECONDS, type DeliveryOf, type VerificationOptions, verify } from "./verify.ts";
export type * from "./json-types.generated.ts";

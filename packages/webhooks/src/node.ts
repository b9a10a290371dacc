import { createHmac } from "node:crypto";
import { bytesOf, type RawBody, requireRawBody } from "./raw-body.ts";
import { requireSecrets } from "./secret.ts";
import { formatHeader, requireTimestamp, type SigningInput } from "./signature.ts";

export type { SigningInput } from "./signature.ts";

/**
 * `sign`, but synchronous: for a sender that signs thousands of bodies a second on Node, Deno or Bun.
 *
 * @throws as `sign` does
 */
export function signSync({ body, secrets, timestamp }: SigningInput): string {
  const keys = requireSecrets(secrets);
  requireTimestamp(timestamp);
  requireRawBody(body);
  const content = typeof body === "string" ? body : bytesOf(body);
  const signatures = keys.map((key) => createHmac("sha256", key).update(`${timestamp}.`).update(content).digest("hex"));
  return formatHeader(timestamp, signatures);
}

/** The signed values of the Standard Webhooks specification, the secret and the time. */
export interface StandardSigningInput {
  /** The delivery's id. */
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  /** The body exactly as it is sent. */
  readonly body: RawBody;
  /** Only secrets in the form of that specification make a signature. */
  readonly secrets: readonly string[];
}

/** Bytes of a key that the specification allows. */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;

/**
 * Returns the key of a secret by the Standard Webhooks specification: the base64 after `whsec_`. Undefined if the secret has
 * another form, because it signs `Service-Signature` only.
 */
function standardKey(secret: string): Buffer | undefined {
  const [, base64] = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret) ?? [];
  if (base64 === undefined) return undefined;
  const key = Buffer.from(base64, "base64");
  return key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES ? key : undefined;
}

/**
 * Returns the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of a delivery. The signature has a
 * `v1,<base64>` for each secret in the form of the specification: an HMAC-SHA256 over the id, the time and the body, with
 * dots in between. Returns no headers if no secret has this form.
 *
 * @throws RangeError for a time that is not in whole seconds; WebhookVerificationError `body_not_raw`
 */
export function standardHeadersSync({
  id,
  timestamp,
  body,
  secrets,
}: StandardSigningInput): readonly (readonly [name: string, value: string])[] {
  requireTimestamp(timestamp);
  requireRawBody(body);
  const content = typeof body === "string" ? body : bytesOf(body);
  const signatures = secrets.flatMap((secret) => {
    const key = standardKey(secret);
    if (key === undefined) return [];
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(content).digest("base64")}`;
  });
  if (signatures.length === 0) return [];
  return [
    ["webhook-id", id],
    ["webhook-timestamp", String(timestamp)],
    ["webhook-signature", signatures.join(" ")],
  ];
}

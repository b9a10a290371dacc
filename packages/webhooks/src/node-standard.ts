import { createHmac } from "node:crypto";
import { requireTimestamp } from "./header.ts";
import { bytesOf, type RawBody, requireRawBody } from "./raw-body.ts";

/** What is signed by the Standard Webhooks specification, with what, and as of when. */
export interface StandardSigningInput {
  /** The delivery's id. */
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  /** The body exactly as it is sent. */
  readonly body: RawBody;
  /** Those that are in the form of that specification sign; others are left out. */
  readonly secrets: readonly string[];
}

/** Bytes of a key that the specification allows. */
const KEY_BYTES = { least: 24, most: 64 };

/**
 * The key that a secret stands for by the Standard Webhooks specification: what is written in base64 after `whsec_`. Undefined
 * where it is written in another form, as secrets for `Service-Signature` alone are.
 */
function standardKey(secret: string): Buffer | undefined {
  const [, text] = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret) ?? [];
  if (text === undefined) return undefined;
  const key = Buffer.from(text, "base64");
  return key.length >= KEY_BYTES.least && key.length <= KEY_BYTES.most ? key : undefined;
}

/**
 * The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of a delivery: `v1,<base64>` for each secret, of
 * HMAC-SHA256 over id, time and body with dots between. None where no secret is in the specification's form.
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

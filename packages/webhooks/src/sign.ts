import { formatHeader, requireTimestamp } from "./header.ts";
import { hmacHex } from "./hmac.ts";
import { type RawBody, requireRawBody } from "./raw-body.ts";
import { requireSecrets, type Secrets } from "./secret.ts";
import { signedContent } from "./signed-content.ts";

/** What is signed, with what, and as of when. */
export interface SigningInput {
  /** The body exactly as it is sent. */
  readonly body: RawBody;
  /** Each signs: several while one of them is being replaced. */
  readonly secrets: Secrets;
  /** Unix seconds. */
  readonly timestamp: number;
}

/**
 * The value of the `Service-Signature` header for a body: `t=<unix seconds>,v1=<hex>`, with a `v1` for each secret.
 *
 * @throws TypeError for no secret or an empty one; RangeError for a time that is not in whole seconds;
 * WebhookVerificationError `body_not_raw`
 */
export async function sign({ body, secrets, timestamp }: SigningInput): Promise<string> {
  const keys = requireSecrets(secrets);
  requireTimestamp(timestamp);
  requireRawBody(body);
  const content = signedContent(String(timestamp), body);
  return formatHeader(timestamp, await Promise.all(keys.map((key) => hmacHex(key, content))));
}

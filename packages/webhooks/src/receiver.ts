import type { Delivery } from "./json-types.generated.ts";
import { type RawBody, TOO_LARGE, type TooLarge } from "./raw-body.ts";
import { requireCleanSecrets, type Secrets } from "./secret.ts";
import type { HeaderValue } from "./signature.ts";
import { isWebhookVerificationError } from "./verification-error.ts";
import { type Clock, requireTolerance, verify } from "./verify.ts";

/** The options of the receivers for all frameworks. */
export interface ReceiverOptions {
  /** Your endpoint's secret; during a rotation both secrets. */
  readonly secrets: Secrets;
  /**
   * Handles a verified delivery. The service waits 15 s for the response: store the delivery and do the work later. Once
   * this resolves, the response is 200, and the delivery is sent again only if that response is lost or somebody requests
   * it. If this throws or rejects, the delivery is sent again later.
   */
  readonly onDelivery: (delivery: Delivery) => unknown;
  /**
   * Tells whether you have handled a delivery before: a repeat is answered with 200 and not handled again. This function
   * must only look the id up. Let `onDelivery` record the id together with its work, best in one transaction. If `seen`
   * recorded the id and the process ended before the work was done, the delivery would be lost.
   */
  readonly seen?: ((deliveryId: string) => boolean | Promise<boolean>) | undefined;
  /** Maximum seconds between the signing and now, in either direction. Default 300. It must be above 0 and finite. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: Clock | undefined;
  /** The largest body that is read. Default 1 MiB. Larger ones are answered with 413. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Called with the error of a request that is answered with 400 or 500: a `WebhookVerificationError`, or what `onDelivery`,
   * `seen` or the reading of the body threw. Without `onError`, a request that is not a delivery is still answered with 400.
   * Every other error, also `body_not_raw`, is then thrown, so that the framework reports it and answers with 500.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A request as a framework provides it. */
export interface IncomingRequest {
  readonly method: string;
  /** The value of `Service-Signature`. */
  readonly signature: HeaderValue;
  /** The value of `Content-Length`, if there is one. */
  readonly contentLength: string | null | undefined;
  /** Reads the raw body, or finds that it is larger than `maxBytes`. */
  readonly readBody: (maxBytes: number) => Promise<RawBody | TooLarge>;
}

/** The response. The service's delivery log shows its text. */
export interface ReceiverResponse {
  readonly status: 200 | 400 | 405 | 413 | 500;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Too low: rejects large deliveries (today they have a few kB). Too high: strangers can fill more memory. */
const DEFAULT_MAX_BODY_BYTES = 1_048_576;

/**
 * Returns a receiver without a framework. The receivers for Express, Fastify and fetch are adapters of it.
 *
 * @throws TypeError at once for no secret, an empty one, one that is not a string, or one with white space or a quote around
 *   it; RangeError at once for a wrong number
 */
export function createDeliveryReceiver(
  options: ReceiverOptions,
): (incoming: IncomingRequest) => Promise<ReceiverResponse> {
  const { onDelivery, seen, now, onError } = options;
  const secrets = requireCleanSecrets(options.secrets);
  const toleranceSeconds = requireTolerance(options.toleranceSeconds);
  const maxBytes = requireMaxBytes(options.maxBodyBytes);

  const handle = async (delivery: Delivery): Promise<ReceiverResponse> => {
    if ((await seen?.(delivery.delivery_id)) === true) return respond(200, "received before");
    await onDelivery(delivery);
    return respond(200, "received");
  };

  const receive = async ({ signature, contentLength, readBody }: IncomingRequest): Promise<ReceiverResponse> => {
    const body = Number(contentLength ?? 0) > maxBytes ? TOO_LARGE : await readBody(maxBytes);
    // The rest of the body is not read, so the connection cannot be reused.
    if (body === TOO_LARGE) return respond(413, `more than ${maxBytes} bytes`, { Connection: "close" });
    const verified = await outcomeOf(verify(body, signature, secrets, { toleranceSeconds, now }));
    if ("delivery" in verified) return handle(verified.delivery);
    // A body that is not raw is a mistake in the receiver's setup, not in the request.
    if (!isWebhookVerificationError(verified.error) || verified.error.reason === "body_not_raw") throw verified.error;
    onError?.(verified.error);
    return respond(400, `not verified: ${verified.error.reason}`);
  };

  return async (incoming) => {
    if (incoming.method !== "POST") return respond(405, "deliveries are POSTed", { Allow: "POST" });
    try {
      return await receive(incoming);
    } catch (error) {
      if (onError === undefined) throw error;
      onError(error);
      return respond(500, "not received");
    }
  };
}

async function outcomeOf(verification: Promise<Delivery>): Promise<{ delivery: Delivery } | { error: unknown }> {
  try {
    return { delivery: await verification };
  } catch (error) {
    return { error };
  }
}

function respond(
  status: ReceiverResponse["status"],
  text: string,
  headers: ReceiverResponse["headers"] = {},
): ReceiverResponse {
  return { status, text: `${text}\n`, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } };
}

function requireMaxBytes(maxBytes = DEFAULT_MAX_BODY_BYTES): number {
  if (Number.isInteger(maxBytes) && maxBytes > 0) return maxBytes;
  throw new RangeError("maxBodyBytes must be an integer above 0");
}

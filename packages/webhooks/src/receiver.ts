import type { Clock } from "./clock.ts";
import { type TooLarge, tooLarge } from "./collect.ts";
import type { HeaderValue } from "./header.ts";
import type { RawBody } from "./raw-body.ts";
import { requireTidySecrets, type Secrets } from "./secret.ts";
import { isWebhookVerificationError } from "./verification-error.ts";
import { requireTolerance, verify } from "./verify.ts";
import type { Delivery } from "./wire.generated.ts";

/** What every receiver takes, whatever it receives from. */
export interface ReceiverOptions {
  /** Your endpoint's secret; during a rotation both. */
  readonly secrets: Secrets;
  /**
   * Takes a delivery that is verified. The service waits 15 s for the answer: store the delivery and do the work later.
   * Once this has resolved the delivery is answered with 200 and never sent again; if it rejects, it is sent again later.
   */
  readonly onDelivery: (delivery: Delivery) => unknown;
  /**
   * Whether you have dealt with a delivery before, so that a repeat is answered with 200 and goes no further. It only
   * looks: `onDelivery` records the id together with its work, best in one transaction. An id that was recorded here
   * would lose its delivery if the process ended before the work was done.
   */
  readonly seen?: ((deliveryId: string) => boolean | Promise<boolean>) | undefined;
  /** Seconds by which the time of signing may lie before or after now: 300 if not said. More than 0 and finite. */
  readonly tolerance?: number | undefined;
  /** Milliseconds since 1970, as `Date.now` gives them, which is what it is if not said. */
  readonly now?: Clock | undefined;
  /** Bytes of the largest body that is read: 1 MiB if not said. Larger ones are answered with 413. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Is told why a request was not taken: a `WebhookVerificationError`, or what `onDelivery` or `seen` threw. Without it,
   * requests that are no deliveries are answered with 400 and no more; everything else is thrown for the framework to
   * report and to answer with 500, so that nothing fails in silence.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A request as a framework gives it. */
export interface Incoming {
  readonly method: string;
  /** The value of `Service-Signature`. */
  readonly signature: HeaderValue;
  /** The value of `Content-Length`, if there is one. */
  readonly contentLength: string | null | undefined;
  /** Reads the raw body, or finds that it is larger than `maxBytes`. */
  readonly readBody: (maxBytes: number) => Promise<RawBody | TooLarge>;
}

/** What to answer. The texts stand in the service's log of deliveries, for whoever looks for a fault there. */
export interface Answer {
  readonly status: 200 | 400 | 405 | 413 | 500;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Lower refuses large deliveries (ours have some kB today); higher lets strangers fill more memory. */
const DEFAULT_MAX_BODY_BYTES = 1_048_576;

/**
 * The one receiver behind those for frameworks.
 *
 * @throws TypeError for no secret, an empty one, or one with white space or quotes around it; RangeError for a wrong
 *   number: when it is made, not at the first delivery
 */
export function createDeliveryReceiver(options: ReceiverOptions): (incoming: Incoming) => Promise<Answer> {
  const { onDelivery, seen, now, onError } = options;
  const secrets = requireTidySecrets(options.secrets);
  const tolerance = requireTolerance(options.tolerance);
  const maxBytes = requireMaxBytes(options.maxBodyBytes);

  const take = async (delivery: Delivery): Promise<Answer> => {
    if ((await seen?.(delivery.delivery_id)) === true) return answer(200, "received before");
    await onDelivery(delivery);
    return answer(200, "received");
  };

  const receive = async ({ signature, contentLength, readBody }: Incoming): Promise<Answer> => {
    const body = Number(contentLength ?? 0) > maxBytes ? tooLarge : await readBody(maxBytes);
    // What is left of the body is not read, so the connection cannot be used again.
    if (body === tooLarge) return answer(413, `more than ${maxBytes} bytes`, { Connection: "close" });
    const verified = await settled(verify(body, signature, secrets, { tolerance, now }));
    if ("delivery" in verified) return take(verified.delivery);
    // A body that is not raw is a fault of how the receiver is put up, not of the request.
    if (!isWebhookVerificationError(verified.error) || verified.error.reason === "body_not_raw") throw verified.error;
    onError?.(verified.error);
    return answer(400, `not verified: ${verified.error.reason}`);
  };

  return async (incoming) => {
    if (incoming.method !== "POST") return answer(405, "deliveries are POSTed", { Allow: "POST" });
    try {
      return await receive(incoming);
    } catch (error) {
      if (onError === undefined) throw error;
      onError(error);
      return answer(500, "not received");
    }
  };
}

async function settled(verification: Promise<Delivery>): Promise<{ delivery: Delivery } | { error: unknown }> {
  try {
    return { delivery: await verification };
  } catch (error) {
    return { error };
  }
}
function answer(status: Answer["status"], text: string, headers: Answer["headers"] = {}): Answer {
  return { status, text: `${text}\n`, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } };
}

function requireMaxBytes(maxBytes = DEFAULT_MAX_BODY_BYTES): number {
  if (Number.isInteger(maxBytes) && maxBytes > 0) return maxBytes;
  throw new RangeError("maxBodyBytes is a whole number of bytes above 0");
}

import { createBodyBuffer, TOO_LARGE, type TooLarge } from "./raw-body.ts";
import { createDeliveryReceiver, type ReceiverOptions } from "./receiver.ts";
import { SIGNATURE_HEADER } from "./signature.ts";
import { WebhookVerificationError } from "./verification-error.ts";

export type { ReceiverOptions } from "./receiver.ts";

/**
 * Returns a receiver for platforms that answer a `Request` with a `Response`: Deno, Bun, Cloudflare Workers, Hono, Next.js
 * route handlers. Pass it the request before anything has read the body.
 *
 * @throws TypeError, RangeError at once for wrong options
 */
export function createReceiver(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const receive = createDeliveryReceiver(options);
  return async (request) => {
    const { status, text, headers } = await receive({
      method: request.method,
      signature: request.headers.get(SIGNATURE_HEADER),
      contentLength: request.headers.get("Content-Length"),
      readBody: (maxBytes) => readBody(request, maxBytes),
    });
    return new Response(text, { status, headers });
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | TooLarge> {
  if (request.bodyUsed) {
    throw new WebhookVerificationError(
      "body_not_raw",
      "The request's body was read before: pass the request to the receiver first, or pass request.clone().",
    );
  }
  const body = createBodyBuffer(maxBytes);
  if (request.body === null) return body.bytes();
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return body.bytes();
    if (body.add(value)) continue;
    await reader.cancel();
    return TOO_LARGE;
  }
}

import { type NodeStream, readNodeBody } from "./node-body.ts";
import { createDeliveryReceiver, type ReceiverOptions } from "./receiver.ts";
import { SIGNATURE_HEADER } from "./signature.ts";

export type { ReceiverOptions } from "./receiver.ts";

/** The parts of Express's request, or of Node's own, that are used. */
export interface NodeRequest extends NodeStream {
  readonly method?: string | undefined;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
}

/** The parts of Express's response, or of Node's own, that are used. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
}

const advice =
  'put the receiver before the body parser, as in app.post("/webhooks", createReceiver(…)) above ' +
  'app.use(express.json()), or read the body of its path with express.raw({ type: "application/json" }).';

/**
 * Returns a middleware for Express 4 and 5, and for other frameworks that call `(request, response, next)`. Register it
 * before `express.json()`. It also takes the bytes that `express.raw()` left in `body`, or that a platform left in
 * `rawBody`. If a parser has consumed the body, `next` (or `onError`, if it is given) gets a `WebhookVerificationError` with
 * the reason `body_not_raw`.
 *
 * @throws TypeError, RangeError at once for wrong options
 */
export function createReceiver(
  options: ReceiverOptions,
): (request: NodeRequest, response: NodeResponse, next: (error: unknown) => void) => void {
  const receive = createDeliveryReceiver(options);
  const respond = async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    const { status, text, headers } = await receive({
      method: request.method ?? "",
      signature: request.headers[SIGNATURE_HEADER.toLowerCase()],
      contentLength: request.headers["content-length"]?.toString(),
      readBody: (maxBytes) => readNodeBody(request, request, maxBytes, advice),
    });
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(text);
  };
  return (request, response, next) => {
    // oxlint-disable-next-line promise/no-callback-in-promise -- a middleware passes errors to next
    respond(request, response).catch(next);
  };
}

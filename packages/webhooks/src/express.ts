import { SIGNATURE_HEADER } from "./header.ts";
import { type NodeStream, readNodeBody } from "./node-body.ts";
import { createDeliveryReceiver, type ReceiverOptions } from "./receiver.ts";

export type { ReceiverOptions } from "./receiver.ts";

/** What is used of Express's request, or of Node's own. */
export interface NodeRequest extends NodeStream {
  readonly method?: string | undefined;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
}

/** What is used of Express's response, or of Node's own. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
}

const advice =
  'put the receiver before the body parser, as in app.post("/webhooks", createReceiver(…)) above ' +
  'app.use(express.json()), or read the body of its path with express.raw({ type: "application/json" }).';

/**
 * A middleware for Express 4 and 5, and for what else calls `(request, response, next)`. Put it before `express.json()`.
 * Bytes that `express.raw()` has left in `body`, or a platform in `rawBody`, will do too. A body that is lost to a parser
 * goes to `next` as a `WebhookVerificationError` with the reason `body_not_raw`.
 *
 * @throws TypeError, RangeError for wrong options, when it is made
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
    // oxlint-disable-next-line promise/no-callback-in-promise -- it is how a middleware hands on what it cannot deal with
    respond(request, response).catch(next);
  };
}

import { type NodeStream, readNodeBody } from "./node-body.ts";
import { createDeliveryReceiver, type ReceiverOptions } from "./receiver.ts";
import { SIGNATURE_HEADER } from "./signature.ts";

export type { ReceiverOptions } from "./receiver.ts";

/** The parts of a Fastify instance that are used. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: FastifyRequestLike, payload: NodeStream) => Promise<unknown>,
  ): unknown;
  all(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}

/** The parts of Fastify's request that are used. */
export interface FastifyRequestLike {
  readonly method: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: unknown;
}

/** The parts of Fastify's reply that are used. */
export interface FastifyReplyLike {
  code(status: number): unknown;
  headers(values: Record<string, string>): unknown;
}

export interface FastifyReceiverOptions extends ReceiverOptions {
  /** The path of deliveries, below the `prefix` of the registration if it has one. Default `/`. */
  readonly path?: string | undefined;
}

/** A body that nothing has read yet. The class tells it from a body that another parser has read. */
class UnreadBody {
  readonly stream: NodeStream;
  constructor(stream: NodeStream) {
    this.stream = stream;
  }
}

const advice =
  "no hook or middleware may read the request of this path, and the receiver must be registered by itself, not " +
  "through fastify-plugin.";

/**
 * Returns a plugin for Fastify 4 and 5: `app.register(createReceiver({ path: "/webhooks", … }))`. It has its own content
 * type parsers, so that the application's parsers never read a delivery. The application's parsers stay as they are.
 *
 * @throws TypeError, RangeError at once for wrong options
 */
export function createReceiver({
  path = "/",
  ...options
}: FastifyReceiverOptions): (app: FastifyLike) => Promise<void> {
  const receive = createDeliveryReceiver(options);
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", async (_request, payload) => new UnreadBody(payload));
    app.all(path, async (request, reply) => {
      const { status, text, headers } = await receive({
        method: request.method,
        signature: request.headers[SIGNATURE_HEADER.toLowerCase()],
        contentLength: request.headers["content-length"]?.toString(),
        readBody: (maxBytes) => readBody(request, maxBytes),
      });
      reply.code(status);
      reply.headers({ ...headers });
      return text;
    });
  };
}

async function readBody(request: FastifyRequestLike, maxBytes: number) {
  const { body } = request;
  if (body === undefined) return ""; // a request without a body runs no parser
  return readNodeBody(request, body instanceof UnreadBody ? body.stream : undefined, maxBytes, advice);
}

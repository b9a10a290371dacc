import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fresh from "fresh";
import { once } from "../once.ts";
import { type CodedBody, inParts, vary } from "./response-body.ts";

/**
 * Seconds for which a document may be cached without revalidation. Documents change only with the service's version. Too
 * high: partners read about the previous version for longer.
 */
export const MAX_AGE_SECONDS = 300;

/** A document that is made at its first request and kept, such as a page of the reference. */
export interface KeptDocument {
  /** The value of `Content-Type`. */
  readonly type: string;
  readonly make: () => CodedBody | Promise<CodedBody>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves a document at a path: see `kept`. */
export function serveKept(app: FastifyInstance, path: string, document: KeptDocument): void {
  app.get(path, kept(document));
}

/** Returns a handler that makes a document at the first request, when the base address is known, and keeps it. */
export function kept({ type, make, headers = {} }: KeptDocument) {
  const document = once(async () => make());
  return async (request: FastifyRequest, reply: FastifyReply) => {
    reply
      .header("content-type", type)
      .header("x-content-type-options", "nosniff")
      .header("cache-control", `public, max-age=${MAX_AGE_SECONDS}`)
      .headers(headers);
    return sendKept(await document(), request, reply);
  };
}

/** Sends a kept body in the best coding that the caller accepts, or 304 if the caller has the body already. */
export async function sendKept(body: CodedBody, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  vary(reply, "accept-encoding");
  reply.header("etag", body.etag);
  if (fresh({ "if-none-match": request.headers["if-none-match"] }, { etag: body.etag })) {
    return reply.code(304).removeHeader("content-type").send();
  }
  const { bytes, coding } = await body.inCoding(request.headers["accept-encoding"]?.toString());
  if (coding !== undefined) reply.header("content-encoding", coding);
  reply.header("content-length", bytes.length);
  // `inParts` sends a large body piece by piece. For HEAD, Fastify sends no body.
  return reply.send(request.method === "HEAD" ? bytes : inParts(bytes));
}

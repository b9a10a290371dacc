import { hash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import fresh from "fresh";
import { scopeOf } from "./caller.ts";
import { vary } from "./vary.ts";

/**
 * Gives every successful read of data an `ETag` and answers 304 where the caller has it already. The tag is weak:
 * the same tag stands for the plain and the compressed bytes.
 */
export function answerConditionally(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const isBody = typeof payload === "string" || Buffer.isBuffer(payload);
    // A condition on anything but a read was to be judged before the work was done (RFC 9110, 13.1.2): too late here.
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || reply.statusCode !== 200 || !isBody || scopeOf(request) === "none") {
      done(null, payload);
      return;
    }
    if (!reply.hasHeader("etag")) reply.header("etag", etagOf(payload));
    // What one key may see another may not: no shared cache may keep it, and a private one asks again each time.
    reply.header("cache-control", "private, no-cache");
    vary(reply, "authorization", "accept-encoding");
    const headers = { etag: String(reply.getHeader("etag")) };
    // Nothing else of the request: a cache that asks again (`Cache-Control: no-cache`) may well hear that nothing changed.
    if (fresh({ "if-none-match": request.headers["if-none-match"] }, headers)) {
      reply.code(304);
      reply.removeHeader("content-type");
      // Fastify takes the body away from a HEAD itself, and fails where there is none.
      done(null, request.method === "HEAD" ? payload : null);
      return;
    }
    done(null, payload);
  });
}

/** A weak tag of a body. */
export function etagOf(body: string | Buffer): string {
  return `W/"${hash("sha1", body, "base64url")}"`;
}

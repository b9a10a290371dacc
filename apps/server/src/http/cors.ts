import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { vary } from "./response-body.ts";

/** Response headers that a page's script may read, in addition to those that browsers always allow. */
const READABLE = [
  "Deprecation",
  "ETag",
  "Link",
  "RateLimit",
  "RateLimit-Policy",
  "Request-Id",
  "Retry-After",
  "Sunset",
  "WWW-Authenticate",
].join(", ");

/** Request headers that a page's script may send, in addition to those that browsers always allow. */
const SENDABLE = "Authorization, If-Modified-Since, If-None-Match";

/** Seconds for which a browser may cache a preflight's result. */
const PREFLIGHT_MAX_AGE = "600";

/**
 * Allows scripts of web pages to read (CORS): scripts of any page may read the public feeds, and scripts of `origins` also
 * the partners' API and its document. No page may change anything.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  app.addHook("onRequest", (request, reply, done) => {
    const allowed = allowedOrigin(request, reply, origins);
    const isPublic = allowed === "*";
    // For the public feeds, the errors of other methods may be read too, and every OPTIONS request is answered.
    if (allowed !== undefined && (isPublic || isRead(request))) {
      reply.header("access-control-allow-origin", allowed);
      if (isPreflight(request) || (isPublic && request.method === "OPTIONS")) {
        sendPreflight(request, reply);
        return;
      }
      reply.header("access-control-expose-headers", READABLE);
    }
    done();
  });
}

/** Returns the value of a response's `Access-Control-Allow-Origin`; undefined if no page may read the response. */
function allowedOrigin(
  { url, headers }: FastifyRequest,
  reply: FastifyReply,
  origins: readonly string[],
): string | undefined {
  if (/^\/gbfs(?:[/?]|$)/.test(url)) return "*";
  if (origins.length === 0 || !/^\/(?:v1|openapi\.json)(?:[/?]|$)/.test(url)) return undefined;
  vary(reply, "origin");
  return headers.origin !== undefined && origins.includes(headers.origin) ? headers.origin : undefined;
}

function isRead(request: FastifyRequest): boolean {
  return request.method === "GET" || request.method === "HEAD" || isPreflight(request);
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function sendPreflight(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .code(204)
    .header("request-id", request.id)
    .header("x-content-type-options", "nosniff")
    .header("access-control-allow-methods", "GET, HEAD")
    .header("access-control-allow-headers", SENDABLE)
    .header("access-control-max-age", PREFLIGHT_MAX_AGE)
    .send();
}

/**
 * Reads a comma-separated list of origins, such as `https://app.example.com`.
 * @throws Error that names the part which is not an origin
 */
export function parseOrigins(text: string): string[] {
  const origins = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  for (const origin of origins) {
    if (URL.parse(origin)?.origin !== origin || !/^https?:/.test(origin)) {
      throw new Error(`"${origin}" is not an origin such as https://app.example.com, without a path`);
    }
  }
  return origins;
}

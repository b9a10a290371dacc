import { type IncomingMessage, ServerResponse } from "node:http";

/** Header names as their specifications write them. HTTP takes any case; people and old programs read these. */
const CANONICAL = [
  "Access-Control-Allow-Headers",
  "Access-Control-Allow-Methods",
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers",
  "Access-Control-Max-Age",
  "Accept-Ranges",
  "Allow",
  "Cache-Control",
  "Connection",
  "Content-Encoding",
  "Content-Length",
  "Content-Security-Policy",
  "Content-Type",
  "Deprecation",
  "ETag",
  "Idempotent-Replayed",
  "Last-Modified",
  "Link",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Request-Id",
  "Referrer-Policy",
  "Retry-After",
  "Strict-Transport-Security",
  "Sunset",
  "Transfer-Encoding",
  "Vary",
  "WWW-Authenticate",
  "X-Content-Type-Options",
  "X-Frame-Options",
] as const;

const byLowerCase = new Map<string, string>(CANONICAL.map((name) => [name.toLowerCase(), name]));

/** An answer whose header names go out in their usual writing; Fastify keeps them in lower case. */
export class CanonicalResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override setHeader(name: string, value: number | string | readonly string[]): this {
    return super.setHeader(byLowerCase.get(name) ?? name, value);
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    const headers = rest.at(-1);
    if (typeof headers !== "object" || headers === null || Array.isArray(headers)) return this.#write(status, rest);
    const canonical: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(headers)) canonical[byLowerCase.get(name) ?? name] = value;
    return this.#write(status, [...rest.slice(0, -1), canonical]);
  }

  /** The overloads of `writeHead` take what came in; only the names of the last argument were changed. */
  #write(status: number, rest: unknown[]): this {
    // oxlint-disable-next-line typescript/unbound-method -- applied to `this` right here
    Reflect.apply(super.writeHead, this, [status, ...rest]);
    return this;
  }
}

import { DEFAULT_RATE_LIMIT, RATE_WINDOW_SECONDS } from "../limits.ts";
import type { Header, Parameter, Reference } from "./document.ts";

/** The headers of our answers, by name. */
export const headers = {
  "Request-Id": {
    description: "Names this request in our logs. Give it to the operator when you report a problem.",
    required: true,
    schema: { type: "string" },
  },
  "RateLimit-Policy": {
    description: "The key's limit: `q` requests in any `w` seconds.",
    schema: { type: "string" },
    example: `"default";q=${DEFAULT_RATE_LIMIT};w=${RATE_WINDOW_SECONDS}`,
  },
  RateLimit: {
    description: "What is left: `r` requests now; in `t` seconds one more is allowed.",
    schema: { type: "string" },
    example: `"default";r=${DEFAULT_RATE_LIMIT - 1};t=${RATE_WINDOW_SECONDS}`,
  },
  "WWW-Authenticate": {
    description:
      '`Bearer` when the request carried no credentials; `Bearer error="invalid_token"` when they were wrong; ' +
      '`Bearer error="insufficient_scope", scope="…"` when the key lacks a scope.',
    schema: { type: "string" },
    example: "Bearer",
  },
  "Retry-After": {
    description: "Seconds to wait before the next try.",
    required: true,
    schema: { type: "integer", minimum: 0 },
    example: 7,
  },
  ETag: {
    description:
      "Names this version of the answer. Send it back in `If-None-Match` to be told 304 while it is current.",
    schema: { type: "string" },
    example: 'W/"jP0LrDrWrSDwjBDpB3HEAiTO9TA"',
  },
  "Idempotent-Replayed": {
    description: "`true` when this is the answer to an earlier request with the same `Idempotency-Key`, else absent.",
    schema: { type: "string", enum: ["true"] },
    example: "true",
  },
  Location: {
    description: "The path of what was made.",
    required: true,
    schema: { type: "string" },
    example: "/v1/reservations/reservation_0VbeTqWcA3kLx9mPz2RsYd",
  },
  Allow: {
    description: "The methods that this path takes.",
    required: true,
    schema: { type: "string" },
    example: "GET, HEAD",
  },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;

/** References to the headers that an answer carries. */
export function headerReferences(names: readonly HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The header by which a caller says which answer it has already. */
export const ifNoneMatch: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "`ETag` of the answer you have. While it is current, the answer is 304 without a body.",
  schema: { type: "string" },
};

import { type ErrorCode, errorCatalogue, errorCodes } from "../error-catalogue.ts";
import { DEFAULT_RATE_LIMIT, RATE_WINDOW_SECONDS } from "../limits.ts";
import type { Example, JsonSchema, MediaType, Response, Header, Parameter, Reference } from "./document.ts";

/* Describes the responses of each endpoint in the OpenAPI documents: their headers, error codes and examples. */

export const JSON_TYPE = "application/json";

/** The properties that decide the responses of an endpoint. */
export interface EndpointTraits {
  /** The scope that the endpoint requires, from the contract's metadata. */
  readonly scope: string;
  /** Whether the endpoint answers with a list, page by page. */
  readonly isPaged: boolean;
  /** Whether the endpoint answers 304 to a caller whose copy is current. Then its answers carry an `ETag`. */
  readonly isConditional: boolean;
  /** Whether the endpoint takes an `Idempotency-Key`. */
  readonly idempotent: boolean;
  /** The error codes with status 409 that the endpoint may return. */
  readonly conflicts: readonly ErrorCode[];
  /** Whether the endpoint is deprecated. */
  readonly isDeprecated: boolean;
}

/** Returns the description of a success. */
export function success(
  status: number,
  generated: Response,
  traits: EndpointTraits,
  examples: Record<string, Example>,
): Response {
  return {
    description: generated.description,
    headers: headerReferences(
      "Request-Id",
      ...rateHeaders(traits),
      traits.isConditional && "ETag",
      traits.idempotent && "Idempotent-Replayed",
      status === 201 && "Location",
      ...deprecations(traits),
    ),
    ...content(generated, (media) => (Object.keys(examples).length === 0 ? media : { ...media, examples })),
  };
}

/** Returns the description of the status 304, for a caller whose copy is current. */
export function notModified(traits: EndpointTraits): Response {
  return {
    description: "Your copy is current: the `ETag` that you sent in `If-None-Match` still matches. No body.",
    headers: headerReferences("Request-Id", ...rateHeaders(traits), "ETag", ...deprecations(traits)),
  };
}

/** Returns the response of an error's status, with its possible codes and their meanings. */
export function failure(status: number, generated: Response, traits: EndpointTraits): Response {
  const codes = codesAt(status, traits);
  return {
    description: codes.map(describeCode).join("\n"),
    headers: headerReferences("Request-Id", ...headersAt(status, traits), ...deprecations(traits)),
    ...content(generated, (media) => ({ ...media, examples: Object.fromEntries(codes.map(exampleOf)) })),
  };
}

/** Returns the codes that an endpoint may answer with at `status`. */
function codesAt(status: number, { scope, isPaged, conflicts }: EndpointTraits): ErrorCode[] {
  if (status === 409) return [...conflicts];
  // `confirmation_required` comes from the dashboard's endpoints only, and `download_link_ended` from downloads. No document
  // contains those.
  const impossible = new Set<ErrorCode>(["confirmation_required", "download_link_ended"]);
  if (!isPaged) impossible.add("invalid_cursor").add("page_out_of_range");
  if (scope === "none") impossible.add("forbidden");
  return errorCodes.filter((code) => errorCatalogue[code].status === status && !impossible.has(code));
}

/** Returns the headers of an error's response, apart from `Request-Id` and those of a deprecation. */
function headersAt(status: number, traits: EndpointTraits): HeaderName[] {
  switch (status) {
    case 401:
      return ["WWW-Authenticate"];
    case 403:
      return traits.scope === "none" ? [] : [...rateHeaders(traits), "WWW-Authenticate"];
    case 405:
      return ["Allow"];
    case 429:
    case 503:
      return [...rateHeaders(traits), "Retry-After"];
    default:
      return rateHeaders(traits);
  }
}

function rateHeaders({ scope }: EndpointTraits): HeaderName[] {
  return scope === "none" ? [] : ["RateLimit-Policy", "RateLimit"];
}

function deprecations({ isDeprecated }: EndpointTraits): HeaderName[] {
  return isDeprecated ? ["Deprecation", "Sunset", "Link"] : [];
}

function describeCode(code: ErrorCode): string {
  const { meaning, action } = errorCatalogue[code];
  return `- \`${code}\`: ${meaning} ${action}`;
}

function exampleOf(code: ErrorCode): [string, Example] {
  const { meaning, action } = errorCatalogue[code];
  return [code, { summary: meaning, value: { error: code, message: `${meaning} ${action}` } }];
}

function content(generated: Response, complete: (media: MediaType) => MediaType): Pick<Response, "content"> {
  const schema: JsonSchema | undefined = generated.content?.[JSON_TYPE]?.schema;
  return schema === undefined ? {} : { content: { [JSON_TYPE]: complete({ schema }) } };
}

/** The headers of our answers, by name. */
export const headers = {
  "Request-Id": {
    description: "Identifies this request in the service's logs. Give it to the operator when you report a problem.",
    required: true,
    schema: { type: "string" },
  },
  "RateLimit-Policy": {
    description: "The key's limit: `q` requests in any `w` seconds.",
    schema: { type: "string" },
    example: `"default";q=${DEFAULT_RATE_LIMIT};w=${RATE_WINDOW_SECONDS}`,
  },
  RateLimit: {
    description: "`r` requests are left; in `t` seconds one more is allowed.",
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
    description: "Identifies this version of the response. Send it in `If-None-Match` to get 304 while it is current.",
    schema: { type: "string" },
    example: 'W/"jP0LrDrWrSDwjBDpB3HEAiTO9TA"',
  },
  "Idempotent-Replayed": {
    description:
      "`true` when this is the answer to an earlier request with the same `Idempotency-Key`, otherwise absent.",
    schema: { type: "string", enum: ["true"] },
    example: "true",
  },
  Location: {
    description: "The path of the created resource.",
    required: true,
    schema: { type: "string" },
    example: "/v1/reservations/reservation_0VbeTqWcA3kLx9mPz2RsYd",
  },
  Allow: {
    description: "The methods that this path accepts.",
    required: true,
    schema: { type: "string" },
    example: "GET, HEAD",
  },
  Deprecation: {
    description: "When the endpoint was deprecated (RFC 9745): `@` and seconds since 1970.",
    required: true,
    schema: { type: "string" },
    example: "@1801353600",
  },
  Sunset: {
    description: "From when on a release may lack the endpoint (RFC 8594).",
    required: true,
    schema: { type: "string" },
    example: "Mon, 31 Jan 2028 00:00:00 GMT",
  },
  Link: {
    description:
      "Where the deprecation is documented (`deprecation`), and what replaces the endpoint (`successor-version`).",
    required: true,
    schema: { type: "string" },
    example: '</docs/reference>; rel="deprecation"; type="text/html"',
  },
} as const satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** References to the headers that an answer carries. */
function headerReferences(...names: readonly (HeaderName | false)[]): Record<string, Reference> {
  const carried = names.filter((name) => name !== false);
  return Object.fromEntries(carried.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The header by which a caller names the response that it already has. */
export const ifNoneMatch: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "`ETag` of the response that you have. While that is current, you get 304 without a body.",
  schema: { type: "string" },
};

import { type ErrorCode, errorCatalogue, errorCodes } from "../error-catalogue.ts";
import type { Example, JsonSchema, MediaType, Response } from "./document.ts";
import { type HeaderName, headerReferences } from "./headers.ts";

const JSON_TYPE = "application/json";

/** What the responses of an endpoint depend on. */
export interface EndpointTraits {
  /** From the contract's metadata. */
  readonly scope: string;
  /** Whether the endpoint answers with a list, page by page. */
  readonly isPaged: boolean;
  /** Whether the endpoint reads data, so that its answers carry an ETag. */
  readonly isConditional: boolean;
  /** Whether it takes an `Idempotency-Key`. */
  readonly idempotent: boolean;
  /** The codes of status 409 that it may answer with. */
  readonly conflicts: readonly ErrorCode[];
}

/** The answer when all went well. */
export function success(
  status: number,
  generated: Response,
  traits: EndpointTraits,
  examples: Record<string, Example>,
): Response {
  return {
    description: generated.description,
    headers: headerReferences([
      "Request-Id",
      ...rateHeaders(traits),
      ...(traits.isConditional ? etag : []),
      ...(traits.idempotent ? replayed : []),
      ...(status === 201 ? location : []),
    ]),
    ...content(generated, (media) => (Object.keys(examples).length === 0 ? media : { ...media, examples })),
  };
}

/** The answer when the caller's copy is current. */
export function notModified(traits: EndpointTraits): Response {
  return {
    description: "What you have is current: the `ETag` that you sent in `If-None-Match` still stands. No body.",
    headers: headerReferences(["Request-Id", ...rateHeaders(traits), ...etag]),
  };
}

/** The answer at an error's status: which codes it may carry, and what each means. */
export function failure(status: number, generated: Response, traits: EndpointTraits): Response {
  const codes = codesAt(status, traits);
  return {
    description: codes.map(describeCode).join("\n"),
    headers: headerReferences(["Request-Id", ...headersAt(status, traits)]),
    ...content(generated, (media) => ({ ...media, examples: Object.fromEntries(codes.map(exampleOf)) })),
  };
}

/** The codes that an endpoint may answer with at `status`. */
function codesAt(status: number, { scope, isPaged, conflicts }: EndpointTraits): ErrorCode[] {
  if (status === 409) return [...conflicts];
  const impossible = new Set<ErrorCode>();
  if (!isPaged) impossible.add("invalid_cursor").add("page_out_of_range");
  if (scope === "none") impossible.add("forbidden");
  return errorCodes.filter((code) => errorCatalogue[code].status === status && !impossible.has(code));
}

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

const etag: HeaderName[] = ["ETag"];
const location: HeaderName[] = ["Location"];
const replayed: HeaderName[] = ["Idempotent-Replayed"];

function rateHeaders({ scope }: EndpointTraits): HeaderName[] {
  return scope === "none" ? [] : ["RateLimit-Policy", "RateLimit"];
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

import { z } from "zod";
import type { Deprecation } from "./deprecation.ts";
import type { ErrorCode } from "./error-catalogue.ts";
import { errorBody } from "./errors.ts";
import type { MDS_SCOPE } from "./mds/words.ts";
import type { Scope } from "./scopes.ts";
import { identifierParam } from "./values.ts";

/**
 * An endpoint's requirements on its caller: the metadata of every route in the contract. The server enforces them. The
 * documents, and tests that call every endpoint, read them from here too.
 */
export interface EndpointMetadata {
  /**
   * The key that the caller needs. A scope's name: a partner's key with that scope. `mds:read`: an agency's key. `any`: a
   * partner's key with any scopes. `sandbox`: a sandbox's key with any scopes. `operator`: an operator key. `console`: no
   * key but a session that meets the field `console`. `none`: no key at all.
   */
  readonly scope: Scope | typeof MDS_SCOPE | "any" | "sandbox" | "operator" | "console" | "none";
  /** Scopes that query parameters need in addition to `scope`, by the parameter's name. */
  readonly parameterScopes?: Readonly<Record<string, Scope>>;
  /** For endpoints of the dashboard: the accepted callers. */
  readonly console?: ConsoleNeeds;
  /** The endpoint also answers over plain HTTP, because health probes call it and its data are public. */
  readonly plainHttp?: boolean;
  /** The request's body is bytes, sent as `application/octet-stream`, instead of JSON. */
  readonly takesBytes?: true;
  /** Whether the endpoint takes an `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** A repeated request has its effect again, so clients must not retry it after anything but a 429. */
  readonly repeats?: true;
  /** The error codes with status 409 that the endpoint may return. */
  readonly conflicts?: readonly ErrorCode[];
  /** For a batch: the error codes that a single item may fail with. */
  readonly itemErrors?: readonly ErrorCode[];
  /** The endpoint's planned retirement. */
  readonly deprecated?: Deprecation;
}

/** The callers that an endpoint of the console accepts. */
export interface ConsoleNeeds {
  /**
   * `public`: anybody; `person`: anybody who is signed in, for their own account; `partner`: members of the partner in the
   * path, and read-only the operator's people of its system; `operator`: the operator's people of the system in the path.
   */
  readonly audience: "public" | "person" | "partner" | "operator";
  /** The role that the membership must have. */
  readonly role: "viewer" | "admin";
  /** The caller must have signed in, or confirmed who they are, within the last minutes. */
  readonly confirmed?: true;
  /** How many requests of the session's rate limit one call costs. Absent: 1 for a read, more for a change. */
  readonly cost?: number;
  /** Whether a frame of the operator's portal may call it. Nothing proves the identity of a person in such a frame. */
  readonly embedded: boolean;
}

/** Returns the metadata of an endpoint: the scope that it requires, and more. */
export function needs(scope: Scope | "any" | "none", more: Omit<EndpointMetadata, "scope"> = {}): EndpointMetadata {
  return { scope, ...more };
}

/** No query parameters are allowed; an unknown one is rejected by name. */
export const noQuery = z.object({}).strict();

/** The errors of every endpoint that requires a key. */
export const errors = {
  400: errorBody,
  401: errorBody,
  403: errorBody,
  405: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

/** The further errors of a list that can be followed from a checkpoint: a mark of how far a client has read the changes. */
export const followingErrors = { 410: errorBody };

/** The further errors of an endpoint that takes a body or an `Idempotency-Key`. */
export const bodyErrors = { 409: errorBody, 413: errorBody, 415: errorBody, 422: errorBody };

/** Returns the endpoint of a list that is read page by page. */
export function listEndpoint<
  const Path extends `/v1/${string}`,
  Query extends z.AnyZodObject,
  List extends z.ZodTypeAny,
  Errors extends Readonly<Record<number, typeof errorBody>> = Record<never, never>,
>(
  path: Path,
  list: {
    readonly scope: Scope;
    readonly summary: string;
    readonly description: string;
    readonly query: Query;
    readonly answer: List;
    /** The list's errors in addition to the usual ones. */
    readonly errors?: Errors;
    readonly parameterScopes?: EndpointMetadata["parameterScopes"];
  },
) {
  const { scope, summary, description, query, answer, parameterScopes } = list;
  // Without errors of its own, `list.errors` is undefined and adds nothing.
  const responses = { 200: answer, ...errors, ...(list.errors as Errors) };
  const metadata = needs(scope, parameterScopes && { parameterScopes });
  return { method: "GET", path, summary, description, metadata, query, responses } as const;
}

/** Returns the endpoint of one resource, found by the id in the path. */
export function getEndpoint<const Path extends `/v1/${string}/:id`, Resource extends z.ZodTypeAny>(
  path: Path,
  scope: Scope,
  answer: Resource,
  texts: { readonly summary: string; readonly description?: string },
) {
  const responses = { 200: answer, 404: errorBody, ...errors };
  return {
    method: "GET",
    path,
    ...texts,
    metadata: needs(scope),
    pathParams: idParam,
    query: noQuery,
    responses,
  } as const;
}

/** The id in a path. */
export const idParam = z.object({ id: identifierParam });

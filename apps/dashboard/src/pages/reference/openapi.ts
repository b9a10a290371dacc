/** Reads from the service's OpenAPI documents what the reference page shows. */

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  /** The name of a scope, or a word for other requirements: `any`, `sandbox`, `operator` or `none`. */
  readonly "x-required-scope": string;
}

/** The parts of an OpenAPI document that the page reads. */
export interface OpenApiDocument {
  readonly tags: readonly {
    readonly name: string;
    readonly description: string;
    readonly "x-displayName": string;
  }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** An endpoint as the page lists it. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  /** The scope that a key needs. Undefined: the endpoint needs no key, or a key of a certain kind with any scopes. */
  readonly scope: string | undefined;
  /** The anchor of the endpoint's description in the reference. */
  readonly anchor: string;
}

/** Returns the endpoints, in the order of the document. */
export function endpointsOf({ paths }: OpenApiDocument): readonly Endpoint[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => endpointOf(method.toUpperCase(), path, operation)),
  );
}

function endpointOf(
  method: string,
  path: string,
  { summary, tags, "x-required-scope": required }: Operation,
): Endpoint {
  const [tag = ""] = tags;
  return {
    method,
    path,
    summary,
    tag,
    // Names of scopes have a colon, such as `rides:read`. The other words have none.
    scope: required.includes(":") ? required : undefined,
    // The form of the anchors in the reference, which Scalar generates.
    anchor: `tag/${tag.toLowerCase()}/${method}${path}`,
  };
}

/**
 * Tells whether an endpoint contains every typed word in its method, path or summary. A route (`GET /v1/rides`) may be typed
 * too.
 */
export function matchesEndpoint({ method, path, summary }: Endpoint, typed: string): boolean {
  const text = `${method} ${path} ${summary}`.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

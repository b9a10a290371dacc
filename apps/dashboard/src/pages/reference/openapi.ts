/** Reads from the service's OpenAPI documents what the reference page shows. */

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  /** The name of a scope, `operator`, or `none`. */
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
  /** The scope that a key needs. Undefined: any key will do, only the operator's will, or the endpoint needs no key. */
  readonly scope: string | undefined;
  /** The anchor of the endpoint's description in the reference. */
  readonly anchor: string;
}

/** Returns the endpoints, in the order of the document. */
export function endpointsOf({ paths }: OpenApiDocument): readonly Endpoint[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        name,
        {
          summary,
          tags: [tag = ""],
          "x-required-scope": scope,
        },
      ]) => {
        const method = name.toUpperCase();
        const anchor = `tag/${tag.toLowerCase()}/${method}${path}`;
        return { method, path, summary, tag, scope: scope.includes(":") ? scope : undefined, anchor };
      },
    ),
  );
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

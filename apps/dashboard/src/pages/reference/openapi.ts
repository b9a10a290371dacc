/** The parts of the service's OpenAPI document that the page shows. */

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  /** A scope, `operator`, or `none`. */
  readonly "x-required-scope": string;
}

export interface OpenApiDocument {
  readonly tags: readonly {
    readonly name: string;
    readonly description: string;
    readonly "x-displayName": string;
  }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  /** The scope that a key needs; undefined: any key will do, or none is needed. */
  readonly scope: string | undefined;
  /** The anchor of its description in the reference. */
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

/** Tells whether an endpoint has every word that was typed. A typed route (`GET /v1/rides`) is such words too. */
export function matchesEndpoint({ method, path, summary }: Endpoint, typed: string): boolean {
  const text = `${method} ${path} ${summary}`.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

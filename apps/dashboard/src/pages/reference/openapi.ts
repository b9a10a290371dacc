/** What the reference takes from an OpenAPI document of the service. */

export type Schema = Readonly<Record<string, unknown>>;

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

export interface Content {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface Body {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
  /** A scope, `operator`, or `none`. */
  readonly "x-required-scope": string;
}

export interface OpenApiDocument {
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly {
    readonly name: string;
    readonly description: string;
    readonly "x-displayName": string;
  }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, Parameter>>;
  };
}

export interface Endpoint {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  /** What a key must be allowed; undefined where any key, or none, will do. */
  readonly scope: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly request: Content | undefined;
  readonly responses: readonly Response[];
}

interface Response {
  readonly status: string;
  readonly description: string;
  readonly content: Content | undefined;
}

/** The endpoints, in the order of the document. */
export function endpointsOf({ paths, components }: OpenApiDocument): readonly Endpoint[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const scope = operation["x-required-scope"];
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        summary: operation.summary,
        description: operation.description ?? "",
        tag: operation.tags[0] ?? "",
        scope: scope.includes(":") ? scope : undefined,
        parameters: (operation.parameters ?? []).flatMap((parameter) =>
          "$ref" in parameter ? (components.parameters?.[nameIn(parameter.$ref)] ?? []) : parameter,
        ),
        request: jsonOf(operation.requestBody),
        responses: Object.entries(operation.responses).map(([status, response]) => ({
          status,
          description: response.description ?? "",
          content: jsonOf(response),
        })),
      };
    }),
  );
}

function jsonOf(body: Body | undefined): Content | undefined {
  return body?.content?.["application/json"];
}

/** The last part of a reference: `#/components/schemas/Ride`. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** Whether an endpoint has every word that was typed. A typed route (`GET /v1/rides`) is such words too. */
export function matchesEndpoint({ id, method, path, summary }: Endpoint, typed: string): boolean {
  const text = `${id} ${method} ${path} ${summary}`.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export interface ErrorAnswer {
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

/** The errors that an endpoint answers with, by their codes. */
export function errorsOf({ responses }: Endpoint): readonly ErrorAnswer[] {
  return responses
    .filter(({ status }) => Number(status) >= 400)
    .flatMap(({ status, content }) =>
      Object.entries(content?.examples ?? {}).map(([code, { value }]) => ({ status, code, message: messageOf(value) })),
    );
}

function messageOf(value: unknown): string {
  const message: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "message") : undefined;
  return typeof message === "string" ? message : "";
}

/** The answer to a request that succeeds. */
export function successOf({ responses }: Endpoint): Response | undefined {
  return responses.find(({ status }) => status.startsWith("2"));
}

/** An OpenAPI 3.1 document, with the parts that our documents use. */
export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly contact: { readonly name: string; readonly url: string };
    readonly license: { readonly name: string; readonly url: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly {
    readonly name: string;
    readonly description: string;
    /** The name for readers; programs use `name`. */
    readonly "x-displayName": string;
  }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly webhooks: Readonly<Record<string, PathItem>>;
  readonly components: Components;
}

type Method = "get" | "post" | "put" | "patch" | "delete";

export type PathItem = Readonly<Partial<Record<Method, Operation>>>;

/** One endpoint, or one webhook. */
export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Response>>;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** Who may call it, as in `EndpointMetadata.scope`: a scope's name, or a word such as `any`, `operator` or `none`. */
  readonly "x-required-scope"?: string;
  /** The codes that a single item may fail with, for a batch. */
  readonly "x-item-errors"?: readonly string[];
  readonly deprecated?: true;
  /** The first day on which a release may be without it. */
  readonly "x-sunset"?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path" | "header";
  readonly description?: string;
  readonly required?: boolean;
  readonly example?: string;
  readonly schema: JsonSchema;
}

export interface RequestBody {
  readonly description?: string;
  readonly required?: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface MediaType {
  readonly schema: JsonSchema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly example?: string | number;
}

export interface Reference {
  readonly $ref: string;
}

export interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly headers: Readonly<Record<string, Header>>;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A schema of JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

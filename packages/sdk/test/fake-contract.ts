import { type EndpointMetadata, partnerContract } from "@bikeshare/contract";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";

/** Where the tables of the fake stand. */
export const fakeContractFile = new URL("../src/testing/contract.generated.ts", import.meta.url);

const HEAD = `// What the fake of \`@bikeshare/sdk/testing\` must know of the interface.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.
import type { Endpoint } from "./parameters.ts";
`;

/** A JSON schema as the document shows it. */
type Schema = Readonly<Record<string, unknown>>;

interface BodySchema {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  readonly in?: string;
  readonly name: string;
  readonly schema: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, BodySchema>> };
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly metadata: EndpointMetadata;
  readonly body?: unknown;
}

/** The text of src/testing/contract.generated.ts, made from the contract and the document that describes it. */
export function fakeContractText(): string {
  const document = createOpenApiDocument({ baseUrl: "https://fake", version: "0" }) as unknown as Document;
  const routes = Object.values(partnerContract as Readonly<Record<string, Readonly<Record<string, Route>>>>);
  const endpoints = routes.flatMap((verbs) => Object.values(verbs)).map((route) => endpointText(route, document));
  return `${HEAD}
/** By method and path: who may call it, and what it takes. */
export const endpoints: Readonly<Record<string, Endpoint>> = {
${endpoints.join("\n")}
};
`;
}

function endpointText({ method, path, metadata, body }: Route, { paths, components }: Document): string {
  const operation = paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
  const described = operation?.parameters ?? [];
  const rules = (location: string) =>
    Object.fromEntries(
      described.filter((each) => each.in === location).map(({ name, schema }) => [name.toLowerCase(), rule(schema)]),
    );
  const { properties = {}, required = [] } = components.schemas[nameOf(operation)] ?? {};
  const fields = Object.entries(properties).map(([name, schema]) => [
    name,
    { ...rule(schema), ...(required.includes(name) && { required: true }) },
  ]);
  const endpoint = {
    scope: metadata.scope,
    path: rules("path"),
    query: rules("query"),
    headers: rules("header"),
    ...(body !== undefined && { body: Object.fromEntries(fields) as unknown }),
  };
  return `  ${JSON.stringify(`${method} ${path}`)}: ${JSON.stringify(endpoint)},`;
}

/** What the schema of an operation's body is called. */
function nameOf(operation: Operation | undefined): string {
  return operation?.requestBody?.content["application/json"]?.schema.$ref.split("/").at(-1) ?? "";
}

/** What of a schema decides whether a value is taken. */
function rule({ description: _description, default: _default, ...schema }: Schema): Schema {
  return schema;
}

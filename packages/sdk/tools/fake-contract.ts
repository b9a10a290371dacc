import { type EndpointMetadata, partnerContract } from "@bikeshare/contract";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";

/** The file of what the fake knows of the interface. */
export const fakeContractFile = new URL("../src/testing/contract.generated.ts", import.meta.url);

const HEAD = `// What the fake of \`@bikeshare/sdk/testing\` must know of the interface.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.
import type { Bike, Reservation, Ride, Station, VehicleType } from "../json-types.generated.ts";
import type { Endpoint } from "./parameters.ts";
`;

/** A JSON schema as the document shows it. */
type Schema = Readonly<Record<string, unknown>>;

interface ObjectSchema {
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
  readonly components: { readonly schemas: Readonly<Record<string, ObjectSchema>> };
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
  const routes = Object.values(partnerContract as Readonly<Record<string, Readonly<Record<string, Route>>>>).flatMap(
    (verbs) => Object.values(verbs),
  );
  const entry = (name: string, value: unknown) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`;
  const resources = ["Station", "Bike", "Ride", "Reservation", "VehicleType"];
  return `${HEAD}
/** Every operation of the interface: its method and path. */
export type Operation =
${routes.map((route) => `  | ${JSON.stringify(nameOf(route))}`).join("\n")};

/** Who may call each operation, and what it takes. */
export const endpoints: Readonly<Record<Operation, Endpoint>> = {
${routes.map((route) => entry(nameOf(route), describe(route, document))).join("\n")}
};

/** Resources of which nothing is known: null where the contract allows it, else empty, 0, false or the first value. */
export const blank: Readonly<{ ${resources.map((name) => `${name}: ${name}`).join("; ")} }> = {
${resources.map((name) => entry(name, blankOf(document.components.schemas[name]))).join("\n")}
};
`;
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** What an endpoint takes, in the words of JSON Schema. */
function describe({ method, path, metadata, body }: Route, { paths, components }: Document) {
  const operation = paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
  const described = operation?.parameters ?? [];
  const parameters = (location: string) =>
    Object.fromEntries(
      described.filter((each) => each.in === location).map(({ name, schema }) => [name.toLowerCase(), rule(schema)]),
    );
  const bodySchema = operation?.requestBody?.content["application/json"]?.schema.$ref.split("/").at(-1) ?? "";
  const { properties = {}, required = [] } = components.schemas[bodySchema] ?? {};
  const fields = Object.entries(properties).map(([name, schema]) => [
    name,
    { ...rule(schema), ...(required.includes(name) && { required: true }) },
  ]);
  return {
    scope: metadata.scope,
    path: parameters("path"),
    query: parameters("query"),
    headers: parameters("header"),
    ...(body !== undefined && { body: Object.fromEntries(fields) as unknown }),
  };
}

/** What of a schema decides whether a value is taken. */
function rule({ description: _description, default: _default, ...schema }: Schema): Schema {
  return schema;
}

/** A resource of which nothing is known. */
function blankOf({ properties }: ObjectSchema = { properties: {} }): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, emptyValue(schema)]));
}

function emptyValue(schema: Schema): unknown {
  const alternatives = alternativesOf(schema);
  const types = alternatives.flatMap(({ type }) => type);
  const [first] = alternatives.flatMap(({ enum: values = [] }) => values);
  const empty: Readonly<Record<string, unknown>> = { string: "", number: 0, integer: 0, boolean: false, array: [] };
  return types.includes("null") ? null : (first ?? empty[String(types[0])]);
}

/** The schemas of which a value must fit one. */
function alternativesOf(schema: Schema): readonly Schema[] {
  const { anyOf } = schema as { readonly anyOf?: readonly Schema[] };
  return anyOf?.flatMap(alternativesOf) ?? [schema];
}

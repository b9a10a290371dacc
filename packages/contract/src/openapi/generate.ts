import type { AppRouter } from "@ts-rest/core";
import { generateOpenApi } from "@ts-rest/open-api";
import { z } from "zod";
import { errorCodes } from "../error-catalogue.ts";
import type { Components, JsonSchema, Operation, Parameter, PathItem, RequestBody, Response } from "./document.ts";
import { type Additions, mapValues, toJsonSchema } from "./json-schema.ts";

/**
 * The generator's output for a contract: its paths, and its schemas in JSON Schema 2020-12. openapi.ts adds the texts that
 * follow from the metadata of an endpoint, such as the key that it needs.
 */
export interface Generated {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly schemas: Components["schemas"];
  /** Each endpoint's metadata, by its operation's identifier. */
  readonly metadata: ReadonlyMap<string, Metadata>;
}

/** An endpoint's metadata in the contract, with defaults for omitted fields. */
const metadataSchema = z.object({
  scope: z.string(),
  parameterScopes: z.record(z.string()).default({}),
  idempotent: z.boolean().default(false),
  conflicts: z.array(z.enum(errorCodes)).default([]),
  itemErrors: z.array(z.enum(errorCodes)).default([]),
  deprecated: z
    .object({ since: z.string().date(), sunset: z.string().date(), successor: z.string().optional() })
    .optional(),
});
export type Metadata = z.infer<typeof metadataSchema>;

type Schemas = Components["schemas"];

/** Who uses a document, and for what: this decides where values may be newer than the document. */
export interface GenerateOptions {
  /** Who sends the request bodies: `clients`, which must not send unknown fields, or `us`, for webhook deliveries. */
  readonly bodies: "clients" | "us";
  /** `clients` are generated from the document; `validators` accept content that is newer than it. */
  readonly readers?: "clients" | "validators";
}

/**
 * Runs ts-rest's generator over a contract and lifts its OpenAPI 3.0 to 3.1.
 *
 * @throws ZodError when an endpoint's metadata is not valid, such as without a scope
 */
export function generate(contract: AppRouter, { bodies, readers = "clients" }: GenerateOptions): Generated {
  const metadata = new Map<string, Metadata>();
  const document = generateOpenApi(
    contract,
    { info: { title: "", version: "" } },
    {
      setOperationId: "concatenated-path",
      operationMapper: (operation, route) => {
        const known = metadataSchema.parse(route.metadata);
        metadata.set(String(operation.operationId), known);
        return { ...operation, "x-required-scope": known.scope };
      },
    },
  );
  // The generator types its paths as `any`; a conversion through JSON also removes undefined values.
  const { paths, components } = JSON.parse(JSON.stringify(document)) as {
    paths: Record<string, PathItem>;
    components: { schemas: Schemas };
  };
  // Whether a schema accepts unknown fields: always (`allowed`), or as the contract says (`as-written`).
  const inBodies: Additions = bodies === "us" ? "allowed" : "as-written";
  // A schema that answers are made of may grow, also where a request's body uses it.
  const sent = sentSchemas(paths, components.schemas);
  const schemas = mapValues(components.schemas, (schema, name) =>
    toJsonSchema(schema, sent.has(name) ? "allowed" : inBodies),
  );
  return {
    paths: mapValues(paths, (item) => mapValues(item, (operation) => lift(operation, inBodies))),
    schemas: readers === "validators" ? withOtherMembers(schemas) : mapValues(schemas, withoutDefaults),
    metadata,
  };
}

/**
 * Adds a member to each union that has a discriminator, such as the union of events by `event`. The new member,
 * `OtherEvent`, accepts every value that is unknown today, so that a validator accepts events that are added later. It has
 * the fields that all members share. Clients get no such member: it would spoil narrowing by `event === "ride.completed"`.
 *
 * The `discriminator` is removed, because by OpenAPI a value that it does not map would be an error. Members can still be
 * told apart: each has its value as the only one of an `enum`.
 */
function withOtherMembers(schemas: Schemas): Schemas {
  const opened: Record<string, JsonSchema> = { ...schemas };
  for (const [name, { discriminator, oneOf, ...schema }] of Object.entries(schemas)) {
    if (discriminator === undefined) continue;
    const { propertyName, mapping } = discriminator as { propertyName: string; mapping: Record<string, string> };
    const members = Object.values(mapping).map((reference) => schemas[nameOf(reference)] ?? {});
    const other = `Other${name}`;
    opened[name] = { ...schema, oneOf: [...(oneOf as JsonSchema[]), { $ref: `#/components/schemas/${other}` }] };
    opened[other] = otherMember(members, { title: other, propertyName, known: Object.keys(mapping) });
  }
  return opened;
}

/** Returns the member `other`. A field that differs between the members may hold any object. */
function otherMember(
  members: readonly JsonSchema[],
  { title, propertyName, known }: { title: string; propertyName: string; known: readonly string[] },
): JsonSchema {
  const [first = {}, ...rest] = members.map((member) => member["properties"] as Record<string, JsonSchema>);
  const shared = mapValues(first, (schema, name) => {
    const isAlike = rest.every((fields) => JSON.stringify(fields[name]) === JSON.stringify(schema));
    return isAlike ? schema : { type: "object" };
  });
  return {
    title,
    description: `One with a \`${propertyName}\` that is newer than this document.`,
    type: "object",
    properties: { ...shared, [propertyName]: { type: "string", not: { enum: known } } },
    required: members[0]?.["required"],
  };
}

/** Removes the defaults of fields, because generators make a field with a default required. Descriptions name defaults. */
function withoutDefaults(schema: JsonSchema): JsonSchema {
  const properties = schema["properties"] as Record<string, JsonSchema> | undefined;
  if (properties === undefined) return schema;
  return { ...schema, properties: mapValues(properties, ({ default: _, ...rest }) => rest) };
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** Lifts an operation from OpenAPI 3.0 to 3.1: its parameters, body and responses. */
function lift(operation: Operation, inBodies: Additions): Operation {
  return {
    ...operation,
    parameters: (operation.parameters ?? []).map((parameter) =>
      "schema" in parameter ? liftParameter(parameter) : parameter,
    ),
    ...(operation.requestBody
      ? { requestBody: { content: liftContent(operation.requestBody, inBodies).content, required: true } }
      : {}),
    responses: mapValues(operation.responses, (response) => liftContent(response, "allowed")),
  };
}

function liftParameter(parameter: Parameter): Parameter {
  const schema = toJsonSchema(parameter.schema, "as-written");
  if (parameter.in !== "header") return { ...parameter, schema };
  // The generator puts a header's description into its schema. The contract has the name in lower case, as Node does.
  const { description, ...rest } = schema;
  const name = headerName(parameter.name);
  return { ...parameter, name, description: String(description), ...exampleOf(name), schema: rest };
}

/**
 * Returns an example for the header `Idempotency-Key` only. The samples on documentation pages send each header that has an
 * example, and they should not send other optional headers.
 */
function exampleOf(header: string): Pick<Parameter, "example"> {
  return header === "Idempotency-Key" ? { example: "8c1f6a52-1d7e-4a53-9f0e-3f2b7f0c9d11" } : {};
}

/** `idempotency-key` → `Idempotency-Key`. */
function headerName(name: string): string {
  return name.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Turns the schemas of a response or of a request's body into JSON Schema 2020-12. */
function liftContent<Holder extends Response | RequestBody>(holder: Holder, additions: Additions): Holder {
  if (holder.content === undefined) return holder;
  const content = mapValues(holder.content, (media) => ({ ...media, schema: toJsonSchema(media.schema, additions) }));
  return { ...holder, content };
}

/** Returns the names of the schemas that answers are made of. */
function sentSchemas(paths: Readonly<Record<string, PathItem>>, schemas: Schemas): ReadonlySet<string> {
  const answers = Object.values(paths).flatMap((item) => Object.values(item).map(({ responses }) => responses));
  const found = new Set<string>();
  const open: unknown[] = [answers];
  while (open.length > 0) {
    for (const name of referencesIn(open.pop())) {
      if (found.has(name)) continue;
      found.add(name);
      open.push(schemas[name]);
    }
  }
  return found;
}

/** Returns the names of the schemas that a part of a document refers to. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value as JsonSchema).flatMap(([key, child]) =>
    key === "$ref" && typeof child === "string" ? [nameOf(child)] : referencesIn(child),
  );
}

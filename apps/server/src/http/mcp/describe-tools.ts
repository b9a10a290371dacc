import { generateSchema } from "@anatine/zod-openapi";
import type { EndpointMetadata } from "@bikeshare/contract";
import type { JsonSchema, OpenApiDocument } from "@bikeshare/contract/openapi";
import { DEFAULT_ITEMS, MAX_ITEMS, type Tool, tools } from "./tools.ts";

/*
 * Describes the tools of agents as `tools/list` returns them, from the partners' OpenAPI document and the list in tools.ts.
 */

/** Where an argument goes in the request of a tool's endpoint. */
interface Placement {
  readonly in: "path" | "query" | "header" | "body";
  readonly name: string;
}

/** A tool, and how `tools/list` describes it. */
export interface DescribedTool extends Tool {
  readonly scope: EndpointMetadata["scope"];
  readonly placements: ReadonlyMap<string, Placement>;
  /** The tool's entry in `tools/list`. */
  readonly listed: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: JsonSchema & { readonly required: readonly string[] };
    readonly outputSchema: JsonSchema;
    readonly annotations: Readonly<Record<string, boolean>>;
  };
}

/**
 * Parameters that no tool has: page numbers, because numbered pages may repeat or skip items, and parameters for programs
 * that keep a copy up to date.
 */
const LEFT_OUT: ReadonlySet<string> = new Set(["page", "updated_since", "changes_since", "If-None-Match"]);

/** Describes every tool from the partners' OpenAPI document, which is made from the contract. */
export function describeTools(document: OpenApiDocument): readonly DescribedTool[] {
  return tools.map((tool) => describe(tool, document));
}

function describe(tool: Tool, document: OpenApiDocument): DescribedTool {
  const { name, title, endpoint, when, view } = tool;
  const { scope } = endpoint.metadata as EndpointMetadata;
  const { description = "", ...operation } = operationOf(tool, document);
  const hidden: readonly string[] = [...LEFT_OUT, ...(view?.hides ?? [])];
  const inputs = inputsOf(operation, document).filter(({ placement }) => !hidden.includes(placement.name));
  const schemaOfView = view === undefined ? {} : (generateSchema(view.arguments) as JsonSchema);
  const required = inputs.filter((input) => input.required).map((input) => input.argument);
  const isRead = endpoint.method === "GET";
  return {
    ...tool,
    scope,
    placements: new Map(inputs.map(({ argument, placement }) => [argument, placement])),
    listed: {
      name,
      title,
      description: `${when} ${withoutUrls(description)}`.trim(),
      inputSchema: {
        type: "object",
        properties: { ...(schemaOfView["properties"] as object | undefined), ...propertiesOf(inputs) },
        required: [...((schemaOfView["required"] as string[] | undefined) ?? []), ...required],
        additionalProperties: false,
      },
      outputSchema: outputSchema(operation, document, view?.added),
      annotations: {
        readOnlyHint: isRead,
        ...(isRead
          ? {}
          : { destructiveHint: endpoint.method === "DELETE", idempotentHint: endpoint.method === "DELETE" }),
        openWorldHint: false,
      },
    },
  };
}

type Operation = NonNullable<OpenApiDocument["paths"][string]["get"]>;

function operationOf({ endpoint: { path, method }, name }: Tool, { paths }: OpenApiDocument): Operation {
  const item = paths[path.replaceAll(/:(\w+)/g, "{$1}")];
  const operation = item?.[method.toLowerCase() as keyof typeof item];
  if (operation === undefined) throw new Error(`the document does not describe ${path}, of the tool ${name}`);
  return operation;
}

/** An argument of a tool that comes from the endpoint, and not from the tool's `view`. */
interface Input {
  readonly argument: string;
  readonly placement: Placement;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** Returns the inputs of an endpoint: parameters of its path and query, an `Idempotency-Key`, and the fields of its body. */
function inputsOf({ parameters = [], requestBody }: Operation, document: OpenApiDocument): Input[] {
  const given = parameters.flatMap((parameter): Input[] => {
    if (!("in" in parameter)) return [];
    const { name, in: place, required = false, description = "", schema } = parameter;
    const argument = name.toLowerCase().replaceAll("-", "_");
    const text = withoutUrls(description) || (place === "path" ? "As answers give it" : "");
    return [
      {
        argument,
        required,
        placement: { in: place, name },
        schema: { ...schema, ...(text && { description: text }), ...(argument === "limit" && LIMIT) },
      },
    ];
  });
  const body = resolved(requestBody?.content["application/json"]?.schema ?? {}, document);
  const fields = Object.entries((body["properties"] ?? {}) as Record<string, JsonSchema>);
  const required = (body["required"] ?? []) as string[];
  return [
    ...given,
    ...fields.map(([name, schema]): Input => {
      return { argument: name, required: required.includes(name), placement: { in: "body", name }, schema };
    }),
  ];
}

const LIMIT = { maximum: MAX_ITEMS, default: DEFAULT_ITEMS, description: "Items at most" };

function propertiesOf(inputs: readonly Input[]): Record<string, JsonSchema> {
  return Object.fromEntries(inputs.map(({ argument, schema }) => [argument, schema]));
}

/** Removes advice on URL encoding, such as "; write the `+` of an offset as `%2B`": arguments of tools are JSON. */
function withoutUrls(text: string): string {
  return text.replaceAll(/[;,] (?:write )?(?:the )?`\+`[^;,.]*`%2B`/g, "");
}

const REFERENCE = "#/components/schemas/";

/** Returns the named schema that a schema refers to, or the schema itself. */
function resolved(schema: JsonSchema, { components }: OpenApiDocument): JsonSchema {
  const { $ref } = schema;
  return typeof $ref === "string" ? (components.schemas[$ref.slice(REFERENCE.length)] ?? {}) : schema;
}

/** Returns the schema of an endpoint's answer, including the schemas that it refers to. */
function outputSchema({ responses }: Operation, document: OpenApiDocument, added: object | undefined): JsonSchema {
  const answer = (responses["200"] ?? responses["201"])?.content?.["application/json"]?.schema ?? {};
  const named = definitionsOf(answer, document);
  const root = resolved(answer, document);
  const whole = added === undefined ? root : withItems(root, added);
  return withLocalReferences({ ...whole, ...(Object.keys(named).length > 0 && { $defs: named }) }) as JsonSchema;
}

/**
 * Adds fields to the items of a list's schema, and drops the list's other fields: `View.choose` returns `data` alone.
 */
function withItems({ properties, ...schema }: JsonSchema, added: object): JsonSchema {
  const { data } = properties as Record<string, JsonSchema>;
  const items = { allOf: [data?.["items"], { type: "object", properties: added, required: Object.keys(added) }] };
  return { ...schema, properties: { data: { ...data, items } } };
}

/** Returns the named schemas to which a schema refers, directly or through others. */
function definitionsOf(schema: JsonSchema, document: OpenApiDocument): Record<string, JsonSchema> {
  const found: Record<string, JsonSchema> = {};
  const open: JsonSchema[] = [resolved(schema, document)];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [, name = ""] of JSON.stringify(next).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const referred = document.components.schemas[name];
      if (found[name] !== undefined || referred === undefined) continue;
      found[name] = referred;
      open.push(referred);
    }
  }
  return found;
}

/** Points references to `$defs`, and removes keywords that only OpenAPI documents use. */
function withLocalReferences(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each: unknown) => {
      if (key === "discriminator" || key === "example" || key === "examples") return undefined;
      return typeof each === "string" && each.startsWith(REFERENCE) ? `#/$defs/${each.slice(REFERENCE.length)}` : each;
    }),
  );
}

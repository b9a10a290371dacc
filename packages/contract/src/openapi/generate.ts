import type { AppRouter } from "@ts-rest/core";
import { generateOpenApi } from "@ts-rest/open-api";
import type { Components, Operation, PathItem, RequestBody, Response } from "./document.ts";
import { type Additions, toJsonSchema } from "./json-schema.ts";

/** What the generator makes of a contract: paths and schemas in JSON Schema 2020-12, without our prose. */
export interface Generated {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly schemas: Components["schemas"];
}

/**
 * Runs ts-rest's generator over a contract and lifts its OpenAPI 3.0 to 3.1.
 *
 * @param bodies who writes the request bodies: `clients`, which may not send unknown fields, or `us`
 * @throws Error when an endpoint's metadata names no scope
 */
export function generate(contract: AppRouter, bodies: "clients" | "us"): Generated {
  const document = generateOpenApi(
    contract,
    { info: { title: "", version: "" } },
    {
      setOperationId: "concatenated-path",
      operationMapper: (operation, route) => ({ ...operation, "x-required-scope": scopeOf(route.metadata) }),
    },
  );
  // The generator types its paths as `any`; going through JSON also drops what it leaves undefined.
  const { paths, components } = JSON.parse(JSON.stringify(document)) as {
    paths: Record<string, PathItem>;
    components: Pick<Components, "schemas">;
  };
  const inBodies: Additions = bodies === "us" ? "allowed" : "as-written";
  return {
    paths: mapValues(paths, (item) => mapValues(item, (operation) => lift(operation, inBodies))),
    schemas: mapValues(components.schemas, (schema) => toJsonSchema(schema, "allowed")),
  };
}

function scopeOf(metadata: unknown): string {
  const scope: unknown = typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "scope") : undefined;
  if (typeof scope !== "string") throw new Error("an endpoint of the contract names no scope");
  return scope;
}

function lift(operation: Operation, inBodies: Additions): Operation {
  return {
    ...operation,
    parameters: (operation.parameters ?? []).map((parameter) =>
      "schema" in parameter ? { ...parameter, schema: toJsonSchema(parameter.schema, "as-written") } : parameter,
    ),
    ...(operation.requestBody
      ? { requestBody: { ...liftContent(operation.requestBody, inBodies), required: true } }
      : {}),
    responses: mapValues(operation.responses, (response) => liftContent(response, "allowed")),
  };
}

function liftContent<Holder extends Response | RequestBody>(holder: Holder, additions: Additions): Holder {
  if (holder.content === undefined) return holder;
  const content = mapValues(holder.content, (media) => ({ ...media, schema: toJsonSchema(media.schema, additions) }));
  return { ...holder, content };
}

function mapValues<Value, Result>(
  source: Readonly<Record<string, Value>>,
  convert: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(source).map(([name, value]) => [name, convert(value)]));
}

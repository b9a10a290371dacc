import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { namedSets, sandboxSets } from "../../contract/tools/json-types-files.ts";
import { bracketed, docstring, isKeyword, pascalCase } from "./python-text.ts";

/* Writes src/bikeshare/types.py: Python types for the schemas of the OpenAPI document, except those in `LEFT_OUT`. */

/** The fields of a JSON schema that are used here. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly (string | number)[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly discriminator?: unknown;
}

const HEAD = `"""The types of the API's JSON.

They are what a type checker knows of dictionaries: nothing is parsed or checked at run time. Fields and values that are
newer than this package are there too.
"""

# Made from the OpenAPI document by \`pnpm --filter @bikeshare/sdk-python run generate\`. Do not edit here.

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired
`;

/** New names for schemas, the same as in the TypeScript client. There `Event` would be the browser's type. */
const RENAMED: Readonly<Record<string, string>> = { Event: "EventRecord", Sandbox: "SandboxStatus" };
/** Schemas that need no Python type: the client itself reads errors, and request bodies are arguments of methods. */
const LEFT_OUT = /^(?:Error|\w+Request|\w+Extension|SandboxReset)$/;

/** The contract's sets of values that have a name, such as `RideStatus`. A schema's enum is recognised by its values. */
const sets = [...namedSets(), ...sandboxSets];
const setNames = new Map(sets.map(({ name, values }) => [JSON.stringify(values), name]));

/** Tells whether a schema is one page of a numbered list, which the client reads itself. */
export function isPage(schema: Schema | undefined): boolean {
  return schema?.properties?.["page"] !== undefined && schema.properties["data"] !== undefined;
}

/** Returns the name of the type that a reference means. */
export function nameOf(reference: string): string {
  const name = reference.slice(reference.lastIndexOf("/") + 1);
  return RENAMED[name] ?? name;
}

/** Returns the text of src/bikeshare/types.py. */
export function typesText({ components, webhooks }: OpenApiDocument): string {
  const schemas = components.schemas as Readonly<Record<string, Schema>>;
  const writer = createTypeWriter();
  const unions: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    if (LEFT_OUT.test(name) || isPage(schema)) continue;
    if (schema.oneOf) unions.push(union(RENAMED[name] ?? name, schema.description ?? "", schema.oneOf));
    else writer.declare(RENAMED[name] ?? name, schema);
  }
  const deliveries = Object.values(webhooks).map(({ post }) => post?.requestBody?.content["application/json"]?.schema);
  const delivery =
    "The body of a delivery. Compare `event` with a name to know what `data` holds; accept unknown names.";
  unions.push(union("Delivery", delivery, deliveries as readonly Schema[]));
  const declaredSets = sets.map(({ name, doc, values }) => {
    const literals = values.map((value) => JSON.stringify(value));
    return `${bracketed(`${name} = Literal[`, literals, "]", "")}\n${docstring(doc, "")}`;
  });
  return [HEAD, ...declaredSets, "", ...writer.declared(), ...unions].join("\n") + "\n";
}

/** Returns the declaration of a union of objects. */
function union(name: string, description: string, members: readonly Schema[]): string {
  const names = members.map(({ $ref = "" }) => nameOf($ref));
  return `${bracketed(`${name} = Union[`, names, "]", "")}\n${docstring(description, "")}`;
}

/** Creates a writer that declares objects, and the objects inside them, each once. */
function createTypeWriter() {
  const texts: string[] = [];
  const inner = new Map<string, string>();

  const fieldsOf = (name: string, { properties = {}, required = [] }: Schema) =>
    Object.entries(properties).map(([field, schema]) => {
      const type = typeOf(schema, (object) => declareInner(`${name}${pascalCase(field)}`, object));
      return { field, doc: schema.description, type: required.includes(field) ? type : `NotRequired[${type}]` };
    });

  /** Declares an object without a name, unless an equal one was declared. @returns the name of the type */
  function declareInner(name: string, schema: Schema): string {
    const { properties, required } = schema;
    const key = JSON.stringify({ properties, required });
    const known = inner.get(key);
    if (known !== undefined) return known;
    inner.set(key, name);
    declare(name, schema);
    return name;
  }

  function declare(name: string, schema: Schema): void {
    const fields = fieldsOf(name, schema);
    const described = schema.description === undefined ? [] : [docstring(schema.description, "    ")];
    if (!fields.some(({ field }) => isKeyword(field))) {
      const lines = fields.flatMap(({ field, doc, type }) => [
        `    ${field}: ${type}`,
        ...(doc === undefined ? [] : [docstring(doc, "    ")]),
      ]);
      texts.push(
        `\nclass ${name}(TypedDict):\n${[...described, ...(described.length ? [""] : []), ...lines].join("\n")}\n`,
      );
      return;
    }
    // A field that is a Python keyword can only be declared in the functional form.
    const lines = fields.map(({ field, type }) => `        ${JSON.stringify(field)}: ${JSON.stringify(type)},`);
    const doc = schema.description === undefined ? "" : `${docstring(schema.description, "")}\n`;
    texts.push(`\n${name} = TypedDict(\n    "${name}",\n    {\n${lines.join("\n")}\n    },\n)\n${doc}`);
  }

  return { declare, declared: () => texts };
}

/**
 * Returns the Python type of a schema's values.
 *
 * @param declareObject declares an object without a name, and returns its new name
 */
export function typeOf(schema: Schema, declareObject: (schema: Schema) => string): string {
  const next = (inner: Schema) => typeOf(inner, declareObject);
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.enum) return setNames.get(JSON.stringify(schema.enum)) ?? literalOf(schema.enum);
  // Each member of an inner `oneOf` is an enum.
  if (schema.oneOf) return literalOf(schema.oneOf.flatMap((each) => each.enum ?? []));
  // Members that are unions themselves, such as `str | None`, are taken apart, so that no type is repeated.
  if (schema.anyOf) return [...new Set(schema.anyOf.map(next).flatMap((type) => type.split(" | ")))].join(" | ");
  const types = [schema.type ?? []].flat();
  return types.map((type) => (type === "null" ? "None" : plainType(type, schema, declareObject))).join(" | ");
}

function plainType(type: string, schema: Schema, declareObject: (schema: Schema) => string): string {
  if (type === "string") return "str";
  if (type === "integer") return "int";
  if (type === "number") return "float";
  if (type === "boolean") return "bool";
  if (type === "array" && schema.items) return `list[${typeOf(schema.items, declareObject)}]`;
  if (type === "object" && schema.properties) return declareObject(schema);
  throw new Error(`there is no Python for ${JSON.stringify(schema)}`);
}

function literalOf(values: readonly (string | number)[]): string {
  return `Literal[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
}

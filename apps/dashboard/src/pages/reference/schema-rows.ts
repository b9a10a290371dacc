/** Schemas in words: one row for each field. */
import { nameIn, type OpenApiDocument, type Schema } from "./openapi.ts";

export interface SchemaRow {
  /** With the fields that it is in: `start.station_id`, `data[].id`. */
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

type Components = OpenApiDocument["components"];

/** Deeper, and rows are read by nobody. It also ends schemas that contain themselves. */
const MAX_DEPTH = 4;

/** The fields of a schema, those of objects and lists within it too. */
export function schemaRows(components: Components, schema: Schema, prefix = "", depth = 0): readonly SchemaRow[] {
  const { properties, required } = resolve(components, schema);
  if (typeof properties !== "object" || properties === null || depth > MAX_DEPTH) return [];
  return Object.entries(properties as Readonly<Record<string, Schema>>).flatMap(([field, inner]) => {
    const name = `${prefix}${field}`;
    const { description } = resolve(components, inner);
    const row = {
      name,
      type: typeText(components, inner),
      isRequired: Array.isArray(required) && required.includes(field),
      description: typeof description === "string" ? description : "",
    };
    return [row, ...innerRows(components, inner, name, depth + 1)];
  });
}

/** The fields of what an object or the items of a list hold. */
function innerRows(components: Components, schema: Schema, name: string, depth: number): readonly SchemaRow[] {
  const [only, ...others] = variants(components, schema);
  if (only === undefined || others.length > 0) return [];
  const { items } = only;
  return isSchema(items)
    ? innerRows(components, items, `${name}[]`, depth)
    : schemaRows(components, only, `${name}.`, depth);
}

/** What a value may be, apart from null. */
function variants(components: Components, schema: Schema): readonly Schema[] {
  const resolved = resolve(components, schema);
  const members = resolved["anyOf"] ?? resolved["oneOf"];
  if (!Array.isArray(members)) return [resolved];
  return members.flatMap((member: Schema) => variants(components, member)).filter(({ type }) => type !== "null");
}

/** `string`, `number or null`, `"active" or "offline"`, `list of string`: what a value may be. */
export function typeText(components: Components, schema: Schema): string {
  const resolved = resolve(components, schema);
  const { type, enum: values, anyOf, oneOf, const: only, format, items } = resolved;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" or ");
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) return joined(members.map((member: Schema) => typeText(components, member)));
  if (isSchema(items)) return `list of ${typeText(components, items)}`;
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  const text = names.filter((name) => typeof name === "string").join(" or ");
  return typeof format === "string" ? text.replace("string", format) : text;
}

/** An enumeration that may grow names its values and `string`: its values say more. */
function joined(types: readonly string[]): string {
  const known = types.filter((text) => text !== "string" || !types.some((other) => other.startsWith('"')));
  return [...new Set(known)].join(" or ");
}

/** A schema itself, where another names it; what stands beside the reference counts too. */
function resolve({ schemas }: Components, schema: Schema): Schema {
  const { $ref: reference, ...own } = schema;
  return typeof reference === "string" ? { ...schemas?.[nameIn(reference)], ...own } : schema;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null;
}

import type { JsonSchema } from "./document.ts";

/** Whether an object may have properties that the schema does not name. */
export type Additions = "as-written" | "allowed";

/**
 * Turns a schema as the generator writes it (OpenAPI 3.0) into JSON Schema 2020-12.
 *
 * @param additions `allowed` for what we send: we add fields and names over time, and a client generated from a closed
 *   schema would fail on the first one. `as-written` for what we receive: the service rejects unknown fields.
 */
export function toJsonSchema(source: JsonSchema, additions: Additions): JsonSchema {
  const { nullable, ...rest } = source;
  const schema = withSubschemas(withNumericBounds(withoutShadowedUnion(withoutLoneAllOf(rest))), additions);
  const open = additions === "allowed" ? withOtherValues(schema) : schema;
  return nullable === true ? orNull(open) : open;
}

/**
 * Accepts any other string beside the values of an `enum`, because we may add values. An `enum` of one value stays closed,
 * because that value tells the members of a union apart.
 */
function withOtherValues(schema: JsonSchema): JsonSchema {
  const { type, enum: values, ...rest } = schema;
  if (type !== "string" || !Array.isArray(values) || values.length < 2) return schema;
  return { ...rest, anyOf: [{ type, enum: values as unknown[] }, { type }] };
}

/**
 * Removes a union when the contract also names a type: callers see the type, and the union only describes how it is parsed.
 * A union without types is kept: it describes which fields belong together.
 */
function withoutShadowedUnion(schema: JsonSchema): JsonSchema {
  const { type, oneOf } = schema;
  const isOfTypes = Array.isArray(oneOf) && oneOf.every((member) => isSchema(member) && member["type"] !== undefined);
  if (type === undefined || !isOfTypes) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== "oneOf"));
}

/** Unwraps an `allOf` of one schema. OpenAPI 3.0 needs it around a nullable reference; JSON Schema does not. */
function withoutLoneAllOf(schema: JsonSchema): JsonSchema {
  const { allOf, ...rest } = schema;
  const [only, ...others] = Array.isArray(allOf) ? (allOf as unknown[]) : [];
  return isSchema(only) && others.length === 0 && Object.keys(rest).length === 0 ? only : schema;
}

/** Converts exclusive bounds: booleans beside `minimum` and `maximum` in OpenAPI 3.0, numbers in JSON Schema 2020-12. */
function withNumericBounds(schema: JsonSchema): JsonSchema {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = schema;
  return {
    ...rest,
    ...bound("minimum", "exclusiveMinimum", minimum, exclusiveMinimum),
    ...bound("maximum", "exclusiveMaximum", maximum, exclusiveMaximum),
  };
}

/** Returns a bound. @param mark whether it is exclusive; if it is converted already, the exclusive bound itself */
function bound(inclusive: string, exclusive: string, value: unknown, mark: unknown): JsonSchema {
  if (mark !== undefined && mark !== false) return { [exclusive]: mark === true ? value : mark };
  return value === undefined ? {} : { [inclusive]: value };
}

/** Converts the schemas inside a schema. */
function withSubschemas(schema: JsonSchema, additions: Additions): JsonSchema {
  const convert = (subschema: unknown) => (isSchema(subschema) ? toJsonSchema(subschema, additions) : subschema);
  const converted: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    switch (keyword) {
      case "properties":
        converted[keyword] = isSchema(value) ? mapValues(value, convert) : value;
        break;
      case "items":
      case "not":
        converted[keyword] = convert(value);
        break;
      case "additionalProperties":
        // A boolean is left out of what we send: `false` would forbid the fields that we add over time.
        if (typeof value !== "boolean" || additions === "as-written") converted[keyword] = convert(value);
        break;
      case "allOf":
      case "anyOf":
      case "oneOf":
        converted[keyword] = Array.isArray(value) ? value.map(convert) : value;
        break;
      default:
        converted[keyword] = value;
    }
  }
  return converted;
}

/** Returns a schema that also accepts null. */
function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values, ...rest } = schema;
  if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return {
    type: [type, "null"],
    ...rest,
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  };
}

/** Returns an object with the same keys and converted values. */
export function mapValues<Value, Result>(
  source: Readonly<Record<string, Value>>,
  convert: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(source).map(([name, value]) => [name, convert(value, name)]));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import type { ResponseShape } from "./response-shape.ts";
import { responseShapes } from "./response-shapes.generated.ts";

/**
 * Compares a response with the contract as this version of the package knows it. Unknown fields and enum values are
 * accepted: they are added within a version of the API.
 *
 * @param operation the operation: `GET /v1/rides/:id`
 * @param body the response's body, parsed
 * @returns what is wrong with the body: the path of the field, but no value; undefined when nothing is wrong
 * @example const client = new BikeShare({ baseUrl, apiKey, validate: validateResponse });
 */
export function validateResponse(operation: string, body: unknown): string | undefined {
  const shape = responseShapes[operation];
  return shape && findIssue(body, shape, "");
}

function findIssue(value: unknown, shape: ResponseShape, path: string): string | undefined {
  if (typeof shape === "string") return isPrimitive(value, shape) ? undefined : `${path} is not a valid ${shape}`;
  if ("nullable" in shape) return value === null ? undefined : findIssue(value, shape.nullable, path);
  if ("optional" in shape) return value === undefined ? undefined : findIssue(value, shape.optional, path);
  if ("items" in shape) {
    if (!Array.isArray(value)) return `${path} is not a valid array`;
    return firstIssue(value.entries(), (index, item) => findIssue(item, shape.items, `${path}[${index}]`));
  }
  if (!isObject(value)) return `${path || "the body"} is not a valid object`;
  if ("properties" in shape) {
    const pathOf = (name: string) => (path ? `${path}.${name}` : name);
    return firstIssue(Object.entries(shape.properties), (name, field) => findIssue(value[name], field, pathOf(name)));
  }
  const name = String(value[shape.discriminator]);
  // `Object.hasOwn`, because the name may be any string, such as `constructor`. An unknown variant is accepted, because
  // variants are added within a version.
  const variant = Object.hasOwn(shape.variants, name) ? shape.variants[name] : undefined;
  return variant && findIssue(value, variant, path);
}

function firstIssue<Name, Part>(
  parts: Iterable<readonly [Name, Part]>,
  check: (name: Name, part: Part) => string | undefined,
): string | undefined {
  for (const [name, part] of parts) {
    const issue = check(name, part);
    if (issue !== undefined) return issue;
  }
  return undefined;
}

function isPrimitive(value: unknown, shape: Extract<ResponseShape, string>): boolean {
  switch (shape) {
    case "string":
      return typeof value === "string";
    case "timestamp":
      return typeof value === "string" && /^\d{4}-.*Z$/.test(value) && !Number.isNaN(Date.parse(value));
    case "number":
      return Number.isFinite(value);
    case "integer":
      return Number.isInteger(value);
    case "boolean":
      return typeof value === "boolean";
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

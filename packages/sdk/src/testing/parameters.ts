import type { Scope } from "../json-types.generated.ts";
import {
  isInstant,
  isPathStep,
  issueText,
  isVisible,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  readBoundingBox,
  serviceError,
  unknownNames,
} from "./rules.ts";

/** What a single value must be, in the words of JSON Schema. */
export interface Schema {
  readonly type: "string" | "integer";
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  /** A regular expression. */
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Whether a body without it is refused. */
  readonly required?: boolean;
}

/** What values must be, by name. */
export type Schemas = Readonly<Record<string, Schema>>;

/** An endpoint as the fake must know it; made from the contract. */
export interface Endpoint {
  /** `any`: every key; `none`: no key. */
  readonly scope: Scope | "any" | "none";
  readonly path: Schemas;
  readonly query: Schemas;
  /** Names in lower case. */
  readonly headers: Schemas;
  readonly body?: Schemas;
}

/** Parameters that were read: numbers are numbers. */
export type Values = Readonly<Record<string, string | number>>;

/** Reads a query string. @throws ServiceError `invalid_parameter` that names each wrong, unknown and repeated parameter */
export function readQuery(search: URLSearchParams, schemas: Schemas): Values {
  const values: Record<string, string | number> = {};
  const issues = Object.entries(schemas).flatMap(([name, schema]) => {
    const [text, ...more] = search.getAll(name);
    if (text === undefined) return [];
    const isInteger = schema.type === "integer" && /^\d+$/.test(text);
    values[name] = isInteger ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : text;
    return named(name, more.length > 0 ? [issueText("repeated")] : parameterIssues(name, values[name], schema));
  });
  const unknown = [...new Set(search.keys())].filter((name) => !Object.hasOwn(schemas, name));
  throwIssues([...issues, ...(unknown.length === 0 ? [] : [unknownNames(unknown, "parameter")])]);
  return values;
}

/** Checks headers. @throws ServiceError `invalid_parameter` */
export function checkHeaders(headers: Headers, schemas: Schemas): void {
  const given = Object.entries(schemas).filter(([name]) => headers.has(name));
  throwIssues(given.flatMap(([name, schema]) => named(name, parameterIssues(name, headers.get(name), schema))));
}

/**
 * Reads a body.
 *
 * @param fieldsTogether what is wrong with fields that each have the right type
 * @throws ServiceError `invalid_parameter` that names each wrong and each unknown field
 */
export function readBody(
  body: unknown,
  schemas: Schemas,
  fieldsTogether: (values: Values) => string[] = () => [],
): Values {
  const wrongType = body === undefined ? issueText("missing") : typeIssue("an object", body);
  if (wrongType !== undefined) throwIssues([`the body ${wrongType}`]);
  const values = body as Values; // each is checked below
  const wrongTypes: string[] = [];
  const issues = Object.entries(schemas).flatMap(([name, schema]) => {
    const value: unknown = values[name];
    if (value === undefined && schema.required !== true) return [];
    const type = value === undefined ? issueText("missing") : typeIssue(jsonTypes[schema.type], value);
    if (type !== undefined) wrongTypes.push(name);
    return named(name, type === undefined ? [...issuesOf(name, value, schema), ...bodyIssues(value, schema)] : [type]);
  });
  const unknown = Object.keys(values).filter((name) => !Object.hasOwn(schemas, name));
  if (unknown.length > 0) issues.push(unknownNames(unknown, "field", " of the body"));
  throwIssues(wrongTypes.length === 0 ? [...issues, ...fieldsTogether(values)] : issues);
  return values;
}

function throwIssues(issues: readonly string[]): void {
  if (issues.length > 0) throw serviceError("invalid_parameter", "issues", { issues: issues.join("; ") });
}

function named(name: string, issues: readonly string[]): string[] {
  return issues.map((issue) => `${name} ${issue}`);
}

/** What is wrong with a value of a query string, a path or a header, as ends of sentences that its name begins. */
export function parameterIssues(name: string, value: unknown, schema: Schema): string[] {
  const issues = issuesOf(name, value, schema);
  if (isIdentifier(schema) && String(value).includes("\0")) issues.push(issueText("nul"));
  const box = name === "bbox" ? readBoundingBox(String(value)) : undefined;
  return typeof box === "string" ? [...issues, box] : issues;
}

/** What is wrong with an identifier of a body beside its length. */
function bodyIssues(value: unknown, schema: Schema): string[] {
  if (!isIdentifier(schema)) return [];
  const issues = isVisible(String(value)) ? [] : [issueText("visible")];
  return isPathStep(String(value)) ? [...issues, issueText("pathStep")] : issues;
}

/** Whether values are names that the operator gave, rather than texts of a form of their own. */
function isIdentifier({ maxLength, pattern }: Schema): boolean {
  return maxLength !== undefined && pattern === undefined;
}

/** What is wrong with a value by its schema, whose keywords stand in the order in which the service checks them. */
function issuesOf(name: string, value: unknown, schema: Schema): string[] {
  if (schema.type === "integer") return integerIssues(value, schema);
  const text = String(value);
  return Object.keys(schema).flatMap((keyword) => {
    const { enum: values = [], pattern = "", minLength = 0, maxLength = Infinity } = schema;
    if (keyword === "enum" && !values.includes(text)) return issueText("enum", { values: values.join(", ") });
    if (keyword === "format" && !isInstant(text)) return issueText("instantParameter");
    if (keyword === "pattern" && !new RegExp(pattern).test(text)) return patternIssues[name] ?? [];
    if (keyword === "minLength" && text.length < minLength) return issueText("empty");
    return keyword === "maxLength" && text.length > maxLength ? issueText("tooLong", { limit: maxLength }) : [];
  });
}

/** What is wrong with a text that has not the form of its parameter's pattern. */
const patternIssues: Readonly<Record<string, string>> = {
  after: issueText("eventId"),
  "idempotency-key": issueText("visibleAsciiUpTo", { limit: MAX_IDEMPOTENCY_KEY_LENGTH }),
  rider_ref: issueText("visibleAscii"),
};

function integerIssues(value: unknown, { minimum = -Infinity, maximum = Infinity }: Schema): string[] {
  // Of a query string, digits were made a number; what is still a text is no integer.
  const number = typeof value === "number" ? value : Number.NaN;
  const isInteger = Number.isInteger(number);
  if (maximum === Infinity) return isInteger && number >= minimum ? [] : [issueText("positiveInteger")];
  const isInRange = number >= minimum && number <= maximum;
  return [
    ...(isInteger ? [] : [issueText("integer")]),
    ...(isInRange ? [] : [issueText("range", { minimum, maximum })]),
  ];
}

/** What JSON calls the types of schemas. */
const jsonTypes = { integer: "a number", string: "a string" } as const;

/** What is wrong with a JSON value that is not of a type; undefined when it is. */
function typeIssue(expected: "an object" | "a string" | "a number", value: unknown): string | undefined {
  if (value === null) return issueText("null", { expected });
  const article = typeof value === "object" ? "an" : "a";
  const received = Array.isArray(value) ? "an array" : `${article} ${typeof value}`;
  return received === expected ? undefined : issueText("type", { expected, received });
}

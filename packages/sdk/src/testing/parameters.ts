import type { Scope } from "../wire.generated.ts";
import { type ServiceError, serviceError } from "./errors.ts";
import { isInstant, issueText, MAX_IDEMPOTENCY_KEY_LENGTH, readBoundingBox, unknownNames } from "./rules.ts";

/** What a single value must be, in the words of JSON Schema. */
interface Schema {
  readonly type: "string" | "integer";
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  /** A regular expression. */
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
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
    const value = schema.type === "integer" && /^\d+$/.test(text) ? Number(text) : text;
    values[name] = value;
    if (more.length > 0) return describe(name, issueText("repeated"));
    return describe(name, issueOf(name, value, schema) ?? boundingBoxIssue(name, text));
  });
  const unknown = [...new Set(search.keys())].filter((name) => !Object.hasOwn(schemas, name));
  throwIssues(issues, unknown, "parameter");
  return values;
}

/** Checks headers. @throws ServiceError `invalid_parameter` */
export function checkHeaders(headers: Headers, schemas: Schemas): void {
  const issues = Object.entries(schemas).flatMap(([name, schema]) => {
    const value = headers.get(name);
    return value === null ? [] : describe(name, issueOf(name, value, schema));
  });
  if (issues.length > 0) throw invalid(issues);
}

/** Reads a body. @throws ServiceError `invalid_parameter` that names each wrong and each unknown field */
export function readBody(body: unknown, schemas: Schemas): Values {
  if (body === undefined) throw invalid([`the body ${issueText("missing")}`]);
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw invalid([`the body ${typeIssue("an object", body)}`]);
  }
  const fields = Object.entries(body);
  const known = fields.filter(([name]) => Object.hasOwn(schemas, name));
  const issues = known.flatMap(([name, value]) => describe(name, schemas[name] && issueOf(name, value, schemas[name])));
  const unknown = fields.map(([name]) => name).filter((name) => !Object.hasOwn(schemas, name));
  throwIssues(issues, unknown, "field");
  return Object.fromEntries(known) as Values; // each has passed its schema
}

/** The error that names everything that is wrong with a request's values. */
export function invalid(issues: readonly string[]): ServiceError {
  return serviceError("invalid_parameter", "issues", { issues: issues.join("; ") });
}

function throwIssues(issues: readonly string[], unknown: readonly string[], what: "parameter" | "field"): void {
  const all = unknown.length === 0 ? issues : [...issues, unknownNames(unknown, what)];
  if (all.length > 0) throw invalid(all);
}

function describe(name: string, issue: string | undefined): string[] {
  return issue === undefined ? [] : [`${name} ${issue}`];
}

/** What is wrong with a value, as the end of a sentence that its name begins; undefined when nothing is. */
function issueOf(name: string, value: unknown, schema: Schema): string | undefined {
  if (schema.type === "integer") return integerIssue(value, schema);
  if (typeof value !== "string") return typeIssue("a string", value);
  const { enum: values, format, pattern, minLength = 0, maxLength = Infinity } = schema;
  if (values !== undefined && !values.includes(value)) return issueText("enum", { values: values.join(", ") });
  if (format !== undefined && !isInstant(value)) return issueText("instantParameter");
  if (pattern !== undefined && !new RegExp(pattern).test(value)) return patternIssues[name];
  if (value.length < minLength) return issueText("empty");
  if (value.length > maxLength) return issueText("tooLong", { limit: maxLength });
  return value.includes("\0") ? issueText("nul") : undefined;
}

/** What is wrong with a value that has not the form of its pattern. */
const patternIssues: Readonly<Record<string, string>> = {
  after: issueText("eventId"),
  "idempotency-key": issueText("visibleAsciiUpTo", { limit: MAX_IDEMPOTENCY_KEY_LENGTH }),
  rider_ref: issueText("visibleAscii"),
};

function integerIssue(value: unknown, { minimum = -Infinity, maximum = Infinity }: Schema): string | undefined {
  // Of a query, digits were made a number; whatever else stands there is none.
  const isInteger = typeof value === "number" && Number.isInteger(value);
  if (isInteger && value >= minimum && value <= maximum) return undefined;
  if (maximum === Infinity) return issueText("positiveInteger");
  if (isInteger) return issueText("range", { minimum, maximum });
  return typeof value === "number" ? issueText("integer") : typeIssue("a number", value);
}

function typeIssue(expected: string, value: unknown): string {
  if (value === null) return issueText("null", { expected });
  const isArray = Array.isArray(value) || typeof value === "object";
  const received = isArray ? `an ${Array.isArray(value) ? "array" : "object"}` : `a ${typeof value}`;
  return issueText("type", { expected, received });
}

function boundingBoxIssue(name: string, text: string): string | undefined {
  const box = name === "bbox" ? readBoundingBox(text) : undefined;
  return typeof box === "string" ? box : undefined;
}

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
  /** Whether a body without it is refused. */
  readonly required?: boolean;
}

/** What values must be, by name. */
type Schemas = Readonly<Record<string, Schema>>;

/** What an operation takes, and from whom; made from the contract. */
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
  const issues = issuesByName(schemas, (name, schema) => {
    const [text, ...more] = search.getAll(name);
    if (text === undefined) return [];
    const isInteger = schema.type === "integer" && /^\d+$/.test(text);
    values[name] = isInteger ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : text;
    return more.length > 0 ? [issueText("repeated")] : parameterIssues(name, values[name], schema);
  });
  const unknown = unknownTo(schemas, new Set(search.keys()));
  refuse([...issues, ...(unknown.length > 0 ? [unknownNames(unknown, "parameter")] : [])]);
  return values;
}

/** Checks headers. @throws ServiceError `invalid_parameter` */
export function checkHeaders(headers: Headers, schemas: Schemas): void {
  refuse(
    issuesByName(schemas, (name, schema) =>
      headers.has(name) ? parameterIssues(name, headers.get(name), schema) : [],
    ),
  );
}

/** Reads the id in a path. @throws ServiceError `not_found` for what cannot be an id */
export function readId(segment: string, { id: schema }: Schemas): string {
  const id = decodeURIComponent(segment);
  const issue = schema && parameterIssues("id", id, schema).join("; ");
  if (issue) throw serviceError("not_found", "pathId", { issue });
  return id;
}

/**
 * Reads a body.
 *
 * @throws ServiceError `invalid_parameter` that names each wrong and each unknown field
 */
export function readBody(body: unknown, schemas: Schemas): Values {
  const wrongType = body === undefined ? issueText("missing") : typeIssue("an object", body);
  if (wrongType !== undefined) refuse([`the body ${wrongType}`]);
  const values = body as Values; // each is checked below
  let areOfRightType = true;
  const issues = issuesByName(schemas, (name, schema) => {
    const value: unknown = values[name];
    if (value === undefined && schema.required !== true) return [];
    const type = value === undefined ? issueText("missing") : typeIssue(jsonTypes[schema.type], value);
    if (type === undefined) return fieldIssues(name, value, schema);
    areOfRightType = false;
    return [type];
  });
  const unknown = unknownTo(schemas, Object.keys(values));
  refuse([
    ...issues,
    ...(unknown.length > 0 ? [unknownNames(unknown, "field", " of the body")] : []),
    ...(areOfRightType && "station_id" in schemas ? stationOrBikeIssues(values) : []),
  ]);
  return values;
}

/** What is wrong with a request for a bike that names neither a station nor a bike, or both. */
function stationOrBikeIssues({ station_id, bike_id }: Values): string[] {
  if ((station_id === undefined) !== (bike_id === undefined)) return [];
  return [`station_id ${issueText(station_id === undefined ? "stationOrBike" : "stationAndBike")}`];
}

function refuse(issues: readonly string[]): void {
  if (issues.length > 0) throw serviceError("invalid_parameter", "issues", { issues: issues.join("; ") });
}

function issuesByName(schemas: Schemas, issuesOf: (name: string, schema: Schema) => readonly string[]): string[] {
  return Object.entries(schemas).flatMap(([name, schema]) => issuesOf(name, schema).map((issue) => `${name} ${issue}`));
}

function unknownTo(schemas: Schemas, names: Iterable<string>): string[] {
  return [...names].filter((name) => !Object.hasOwn(schemas, name));
}

/** What is wrong with a value of a query string, a path or a header, as ends of sentences that its name begins. */
function parameterIssues(name: string, value: unknown, schema: Schema): string[] {
  const issues = schemaIssues(name, value, schema);
  if (isIdentifier(schema) && String(value).includes("\0")) issues.push(issueText("nul"));
  const box = name === "bbox" ? readBoundingBox(String(value)) : undefined;
  return typeof box === "string" ? [...issues, box] : issues;
}

/** What is wrong with a value of a body. */
function fieldIssues(name: string, value: unknown, schema: Schema): string[] {
  const issues = schemaIssues(name, value, schema);
  if (isIdentifier(schema) && !isVisible(String(value))) issues.push(issueText("visible"));
  if (isIdentifier(schema) && isPathStep(String(value))) issues.push(issueText("pathStep"));
  return issues;
}

/** Whether values are names that the operator gave, rather than texts of a form of their own. */
function isIdentifier({ maxLength, pattern }: Schema): boolean {
  return maxLength !== undefined && pattern === undefined;
}

/** What is wrong with a value by its schema, whose keywords stand in the order in which the service checks them. */
function schemaIssues(name: string, value: unknown, schema: Schema): string[] {
  if (schema.type === "integer") return integerIssues(value, schema);
  const text = String(value);
  const { enum: values = [], pattern = "", minLength = 0, maxLength = Infinity } = schema;
  return Object.keys(schema).flatMap((keyword) => {
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
  const isInteger = Number.isInteger(value);
  const isInRange = Number(value) >= minimum && Number(value) <= maximum;
  if (maximum === Infinity) return isInteger && isInRange ? [] : [issueText("positiveInteger")];
  const issues = isInteger ? [] : [issueText("integer")];
  return isInRange ? issues : [...issues, issueText("range", { minimum, maximum })];
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

import type { Scope } from "../json-types.generated.ts";
import { issueText, serviceError, type TextKind, textIssues, unknownNames } from "./rules.ts";

/* Parses and checks requests to a fake as the service does, by rules that are generated from the contract. */

/** The rule for a value: a kind of text, one of some values, or an integer within bounds. */
type Kind = TextKind | readonly string[] | { readonly minimum: number; readonly maximum: number };

/** The rules for parameters, by name. */
type Kinds = Readonly<Record<string, Kind>>;

/** The rules for the fields of a body, by name. */
type Fields = Readonly<Record<string, { readonly kind: Kind; readonly isRequired: boolean }>>;

/** The parameters of an operation, and the scope that it needs. It is generated from the contract. */
export interface Endpoint {
  /** `any`: every key; `none`: no key. */
  readonly scope: Scope | "any" | "none";
  /** Scopes that query parameters need in addition to `scope`. */
  readonly parameterScopes?: Readonly<Record<string, Scope>>;
  readonly path: Kinds;
  readonly query: Kinds;
  /** Names in lower case. */
  readonly headers: Kinds;
  readonly body?: Fields;
}

/** Parsed parameters. */
export type Values = Readonly<Record<string, string | number>>;

/** Parses a query string. @throws ServiceError `invalid_parameter` with each wrong, unknown and repeated parameter */
export function readQuery(search: URLSearchParams, kinds: Kinds): Values {
  const values: Record<string, string | number> = {};
  const issues = issuesByName(kinds, (name, kind) => {
    const [text, ...more] = search.getAll(name);
    if (text === undefined) return [];
    // A wrong number is stored too, perhaps as NaN; `refuse` rejects the request below.
    values[name] = kind === "positiveInteger" ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : text;
    return more.length > 0 ? [issueText("repeated")] : issuesOf(kind, text);
  });
  const unknown = unknownTo(kinds, new Set(search.keys()));
  refuse([...issues, ...(unknown.length > 0 ? [unknownNames(unknown, "parameter")] : [])]);
  return values;
}

/** Checks headers. @throws ServiceError `invalid_parameter` */
export function checkHeaders(headers: Headers, kinds: Kinds): void {
  refuse(
    issuesByName(kinds, (name, kind) => {
      const text = headers.get(name);
      return text === null ? [] : issuesOf(kind, text);
    }),
  );
}

/** Parses the id in a path. @throws ServiceError `not_found` for a text that cannot be an id */
export function readId(segment: string, { id: kind }: Kinds): string {
  const id = decodeURIComponent(segment);
  const issue = kind && issuesOf(kind, id).join("; ");
  if (issue) throw serviceError("not_found", "pathId", { issue });
  return id;
}

/** Parses a body. @throws ServiceError `invalid_parameter` with each wrong and each unknown field */
export function readBody(body: unknown, fields: Fields): Values {
  const wrongType = body === undefined ? issueText("missing") : typeIssue("an object", body);
  if (wrongType !== undefined) refuse([`the body ${wrongType}`]);
  const values = body as Values; // each field is checked below
  // False once a field is missing or of a wrong type. The rule that exactly one of station_id and bike_id is given is then
  // not checked, as in the service.
  let areOfRightType = true;
  const issues = issuesByName(fields, (name, { kind, isRequired }) => {
    const value: unknown = values[name];
    if (value === undefined && !isRequired) return [];
    // A list of possible values has only texts.
    const isText = typeof kind === "string" || "length" in kind;
    const type = value === undefined ? issueText("missing") : typeIssue(isText ? "a string" : "a number", value);
    if (type === undefined) return issuesOf(kind, values[name] ?? "");
    areOfRightType = false;
    return [type];
  });
  const unknown = unknownTo(fields, Object.keys(values));
  if (unknown.length > 0) issues.push(unknownNames(unknown, "field", " of the body"));
  refuse(areOfRightType && "station_id" in fields ? [...issues, ...stationOrBikeIssues(values)] : issues);
  return values;
}

/** Returns the issue with a reservation's body that names neither a station nor a bike, or both. */
function stationOrBikeIssues({ station_id, bike_id }: Values): string[] {
  if ((station_id === undefined) !== (bike_id === undefined)) return [];
  return [`station_id ${issueText(station_id === undefined ? "stationOrBike" : "stationAndBike")}`];
}

/** @throws ServiceError `invalid_parameter` with all issues, if there are any */
function refuse(issues: readonly string[]): void {
  if (issues.length > 0) throw serviceError("invalid_parameter", "issues", { issues: issues.join("; ") });
}

/** Returns the issues of all parameters or fields, each with its name in front. @param all the rules by name */
function issuesByName<What>(
  all: Readonly<Record<string, What>>,
  issuesFor: (name: string, what: What) => readonly string[],
): string[] {
  return Object.entries(all).flatMap(([name, what]) => issuesFor(name, what).map((issue) => `${name} ${issue}`));
}

/** Returns the names that `known` does not have. */
function unknownTo(known: object, names: Iterable<string>): string[] {
  return [...names].filter((name) => !Object.hasOwn(known, name));
}

/** Returns the issues with a value of the right type, each as the end of a sentence that begins with the value's name. */
function issuesOf(kind: Kind, value: string | number): string[] {
  if (typeof kind === "string") return textIssues(kind, String(value));
  if ("length" in kind) return kind.includes(String(value)) ? [] : [issueText("enum", { values: kind.join(", ") })];
  const { minimum, maximum } = kind;
  const issues = Number.isInteger(value) ? [] : [issueText("integer")];
  const isInRange = Number(value) >= minimum && Number(value) <= maximum;
  return isInRange ? issues : [...issues, issueText("range", { minimum, maximum })];
}

/** Returns the issue with a JSON value of a wrong type; undefined if the type is right. */
function typeIssue(expected: "an object" | "a string" | "a number", value: unknown): string | undefined {
  if (value === null) return issueText("null", { expected });
  const article = typeof value === "object" ? "an" : "a";
  const received = Array.isArray(value) ? "an array" : `${article} ${typeof value}`;
  return received === expected ? undefined : issueText("type", { expected, received });
}

import type { OpenApiDocument, Operation, Parameter, PathItem, Response } from "../src/openapi/document.ts";
import { type Break, compareSchemas, type Schema, type Sender, unchangedSchemas } from "./compare-schemas.ts";

/*
 * Compares an OpenAPI document with that of the last release, so that no release breaks the programs of partners. `old` and
 * `now` are the same part before and after; compare-schemas.ts compares the values.
 */

/** The parts of an OpenAPI document that the comparison reads. */
export type Contract = Pick<OpenApiDocument, "paths" | "webhooks" | "components">;

interface Comparison {
  readonly before: Contract;
  readonly after: Contract;
  /** Today, such as `2027-01-31`. An endpoint may be gone from the day of its sunset on. */
  readonly today: string;
  /** The names of the schemas that need no comparison. */
  readonly unchanged: ReadonlySet<string>;
}

/** Returns the changes of a contract that may break programs written for the earlier one. Additions break nothing. */
export function findBreaks(before: Contract, after: Contract, today: string): Break[] {
  const unchanged = unchangedSchemas(before.components.schemas, after.components.schemas);
  const comparison = { before, after, today, unchanged };
  return [
    ...compareItems(before.paths, after.paths, comparison, compareOperation),
    ...compareItems(before.webhooks, after.webhooks, comparison, compareWebhook),
  ];
}

type Items = Readonly<Record<string, PathItem>>;
/** Compares an endpoint, or a webhook, that both documents have. */
type Compare = (old: Operation, now: Operation, comparison: Comparison, location: string) => Break[];

function compareItems(before: Items, after: Items, comparison: Comparison, compareKept: Compare): Break[] {
  return Object.entries(before).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, old]): Break[] => {
      const location = `${method.toUpperCase()} ${path}`;
      const now = after[path]?.[method as keyof PathItem];
      if (now !== undefined) return compareKept(old, now, comparison, location);
      const sunset = old["x-sunset"];
      if (sunset !== undefined && sunset <= comparison.today) return [];
      const until = sunset === undefined ? "it was not deprecated" : `its sunset is ${sunset}`;
      return [{ location, rule: `the endpoint is gone, and ${until}` }];
    }),
  );
}

function compareOperation(old: Operation, now: Operation, comparison: Comparison, location: string): Break[] {
  const breaks = [
    ...compareParameters(old, now, comparison, location),
    ...compareBodies(old, now, comparison, "client", location),
    ...compareResponses(old, now, comparison, location),
  ];
  if (old.operationId !== now.operationId) breaks.push({ location, rule: `its name was ${old.operationId}` });
  const { "x-required-scope": needed } = old;
  const { "x-required-scope": scope } = now;
  if (!acceptsSameKeys(needed, scope))
    breaks.push({ location, rule: `it needed the scope ${needed} and needs ${scope}` });
  const { "x-item-errors": codes = [] } = now;
  for (const code of old["x-item-errors"] ?? [])
    if (!codes.includes(code)) breaks.push({ location, rule: `the error code ${code} of an item is gone` });
  const [promised, sunset] = [old["x-sunset"], now["x-sunset"]];
  if (promised !== undefined && sunset !== undefined && sunset < promised)
    breaks.push({ location, rule: `its sunset was ${promised} and is ${sunset}` });
  return breaks;
}

/**
 * Tells whether every key that was accepted with the scope `needed` before is accepted with `scope` now. `any`: a partner's
 * key with any scopes; `none`: no key is needed.
 */
function acceptsSameKeys(needed: string | undefined, scope: string | undefined): boolean {
  if (scope === needed || scope === "none") return true;
  return scope === "any" && needed !== "none" && needed !== "operator";
}

/** Compares a webhook: what the service POSTs to receivers. */
function compareWebhook(old: Operation, now: Operation, comparison: Comparison, location: string): Break[] {
  const parameters = parametersOf(now, comparison.after);
  return [
    ...compareBodies(old, now, comparison, "service", location),
    ...parametersOf(old, comparison.before)
      .filter(({ name }) => !parameters.some((parameter) => parameter.name === name))
      .map(({ name }) => ({ location: `${location}, header ${name}`, rule: "the header is gone" })),
  ];
}

function compareParameters(old: Operation, now: Operation, comparison: Comparison, location: string): Break[] {
  const { before, after } = comparison;
  const earlier = parametersOf(old, before);
  const later = parametersOf(now, after);
  const same = (one: Parameter) => (other: Parameter) => one.name === other.name && one.in === other.in;
  const at = ({ in: where, name }: Parameter) => `${location}, ${where} parameter ${name}`;
  const kept = earlier.flatMap((parameter): Break[] => {
    const found = later.find(same(parameter));
    if (found === undefined) return [{ location: at(parameter), rule: "the parameter is gone" }];
    return compare(parameter.schema, found.schema, comparison, "client", at(parameter));
  });
  const required = later
    .filter((parameter) => parameter.required === true && earlier.find(same(parameter))?.required !== true)
    .map((parameter) => ({ location: at(parameter), rule: "the parameter must be sent from now on" }));
  return [...kept, ...required];
}

function parametersOf({ parameters = [] }: Operation, { components }: Contract): Parameter[] {
  return parameters.flatMap((parameter) => {
    if (!("$ref" in parameter)) return [parameter];
    return components.parameters[nameOf(parameter.$ref)] ?? [];
  });
}

function compareBodies(
  { requestBody: old }: Operation,
  { requestBody: now }: Operation,
  comparison: Comparison,
  sender: Sender,
  location: string,
): Break[] {
  const at = `${location}, body`;
  if (old === undefined)
    return now?.required === true ? [{ location: at, rule: "a body must be sent from now on" }] : [];
  if (now === undefined) return [{ location: at, rule: "it takes no body any more" }];
  return [
    ...(now.required === true && old.required !== true
      ? [{ location: at, rule: "a body must be sent from now on" }]
      : []),
    ...compareContent(old.content, now.content, comparison, sender, at),
  ];
}

function compareResponses(old: Operation, now: Operation, comparison: Comparison, location: string): Break[] {
  return Object.entries(old.responses).flatMap(([status, earlier]): Break[] => {
    const at = `${location}, answer ${status}`;
    const later = now.responses[status];
    if (later === undefined) return [{ location: at, rule: "the status is gone" }];
    const missing = (names: readonly string[], kept: readonly string[], what: string) =>
      names
        .filter((name) => !kept.includes(name))
        .map((name) => ({ location: at, rule: `the ${what} ${name} is gone` }));
    return [
      ...missing(Object.keys(earlier.headers ?? {}), Object.keys(later.headers ?? {}), "header"),
      ...missing(codesOf(status, earlier), codesOf(status, later), "error code"),
      ...compareContent(earlier.content ?? {}, later.content ?? {}, comparison, "service", `${at}, body`),
    ];
  });
}

/** Returns the error codes of a response. They are the names of its examples: each code has one. */
function codesOf(status: string, { content = {} }: Response): string[] {
  // Statuses have three digits, so they compare as texts.
  if (status < "400") return [];
  return Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples));
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

function compareContent(old: Content, now: Content, comparison: Comparison, sender: Sender, location: string): Break[] {
  return Object.entries(old).flatMap(([type, { schema }]): Break[] => {
    const later = now[type];
    if (later === undefined) return [{ location, rule: `${type} is gone` }];
    return compare(schema, later.schema, comparison, sender, location);
  });
}

function compare(
  old: Schema,
  now: Schema,
  { before, after, unchanged }: Comparison,
  sender: Sender,
  location: string,
): Break[] {
  return compareSchemas(
    { schema: old, schemas: before.components.schemas },
    { schema: now, schemas: after.components.schemas },
    { sender, unchanged },
    location,
  );
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

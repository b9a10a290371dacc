/*
 * Finds the changes of a JSON schema that break programs: after them, values that one side sends are not accepted by the
 * other side any more. compare-documents.ts uses it to compare the contract with that of the last release.
 */

/** A JSON schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema>>;

/** A change that breaks programs: where it is, and what was changed. */
export interface Break {
  readonly location: string;
  readonly rule: string;
}

/**
 * Who sends the values that a schema describes. Values that clients send must stay valid. Values that the service sends
 * must be valid for clients that know only the earlier schema.
 */
export type Sender = "client" | "service";

/** The same for all schemas within one request or response. */
export interface Context {
  readonly sender: Sender;
  /** The names of the schemas that are the same in both documents, with all that they refer to. */
  readonly unchanged: ReadonlySet<string>;
}

/** A schema, and the named schemas of its document, to which it may refer. */
interface Located {
  readonly schema: Schema;
  readonly schemas: Schemas;
}

/** Returns the changes of a schema that break programs written for the earlier one. */
export function compareSchemas(earlier: Located, later: Located, context: Context, location: string): Break[] {
  return context.sender === "client" ? fit(earlier, later, context, location) : fit(later, earlier, context, location);
}

/** Returns the names of the schemas that are the same in both documents, with all that they refer to. */
export function unchangedSchemas(before: Schemas, after: Schemas): ReadonlySet<string> {
  const equal = Object.keys(before).filter((name) => JSON.stringify(before[name]) === JSON.stringify(after[name]));
  const unchanged = new Set(equal);
  // A schema that refers to a changed one is changed too. Repeats until no more names are removed.
  for (let size = -1; size !== unchanged.size;) {
    size = unchanged.size;
    for (const name of unchanged)
      if (referencesIn(JSON.stringify(before[name])).some((other) => !unchanged.has(other))) unchanged.delete(name);
  }
  return unchanged;
}

/** Tells whether two schemas are the same, with all that they refer to. */
function isUnchanged(one: Schema, other: Schema, unchanged: ReadonlySet<string>): boolean {
  const text = JSON.stringify(one);
  return text === JSON.stringify(other) && referencesIn(text).every((name) => unchanged.has(name));
}

/** Returns the names of the schemas to which a schema, given as JSON, refers. */
function referencesIn(json: string): string[] {
  return [...json.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = ""]) => name);
}

/**
 * Returns why some values that are valid for `given` are not valid for `taken`. Empty: all are valid. `given` is the schema
 * of the sender: the earlier one for what clients send, the later one for what the service sends.
 */
function fit(given: Located, taken: Located, context: Context, location: string): Break[] {
  if (isUnchanged(given.schema, taken.schema, context.unchanged)) return [];
  const takers = membersOf(taken);
  const givers = membersOf(given);
  const gone = context.sender === "service" ? namesGone(takers, givers) : [];
  const breaks = givers.flatMap((member) => {
    const attempts = takers.map((taker) =>
      fitMember({ ...given, schema: member }, { ...taken, schema: taker }, context, location),
    );
    // The most similar member of a union, the one with the fewest breaks, explains best what is wrong.
    return attempts.toSorted((one, other) => one.length - other.length)[0] ?? [];
  });
  return [...gone.map((name) => ({ location, rule: `the value ${show(name)} is gone` })), ...breaks];
}

/** Returns the enum values that responses no longer have. A program that waits for such a value would wait forever. */
function namesGone(before: readonly Schema[], after: readonly Schema[]): unknown[] {
  const namesOf = (members: readonly Schema[]) => members.flatMap((member) => asList(member["enum"]) as unknown[]);
  const kept = namesOf(after);
  return namesOf(before).filter((name) => !kept.includes(name));
}

/** Returns the alternatives of a schema. Each is complete: references, unions and lists of types are resolved. */
function membersOf({ schema, schemas }: Located): Schema[] {
  const { $ref: reference, anyOf, oneOf, allOf, ...rest } = schema;
  if (typeof reference === "string") {
    const named = schemas[reference.slice(reference.lastIndexOf("/") + 1)];
    if (named === undefined) throw new Error(`There is no schema ${reference}.`);
    return membersOf({ schema: merge(named, rest), schemas });
  }
  // One alternative for each combination of the parts: a choice of `anyOf`, a choice of `oneOf`, and all of `allOf`.
  const unions = [anyOf, oneOf, ...asList(allOf).map((part) => [part])].filter((union) => union !== undefined);
  let whole: Schema[] = [rest];
  for (const union of unions) {
    const choices = asList(union).flatMap((part) => membersOf({ schema: part, schemas }));
    whole = whole.flatMap((member) => choices.map((choice) => merge(member, choice)));
  }
  return whole.flatMap((member) =>
    Array.isArray(member["type"]) ? member["type"].map((type: unknown) => ({ ...member, type })) : [member],
  );
}

function asList(value: unknown): Schema[] {
  return Array.isArray(value) ? (value as Schema[]) : [];
}

/** Returns one schema with the fields and the keywords of both. Of a keyword that both have, it has that of `other`. */
function merge(one: Schema, other: Schema): Schema {
  const properties = { ...(one["properties"] as Schema), ...(other["properties"] as Schema) };
  const required = [...new Set([...requiredNames(one), ...requiredNames(other)])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

/** Returns the names of the fields that a schema requires. */
function requiredNames({ required }: Schema): string[] {
  return Array.isArray(required) ? (required as string[]) : [];
}

/** The keywords that the comparison understands. An unknown one is an error, because a change of it would go unnoticed. */
const KNOWN = new Set([
  ...["type", "enum", "not", "format", "pattern", "default", "properties", "required", "items", "additionalProperties"],
  ...["minimum", "minLength", "minItems", "maximum", "maxLength", "maxItems", "exclusiveMinimum", "exclusiveMaximum"],
]);
/** The keywords for human readers only, which the comparison ignores. */
const WORDS = new Set(["title", "description", "example", "examples", "deprecated"]);

/**
 * Like `fit`, for one alternative of each schema.
 * @throws Error for a keyword that the comparison does not know
 */
function fitMember(given: Located, taken: Located, context: Context, location: string): Break[] {
  for (const keyword of [...Object.keys(given.schema), ...Object.keys(taken.schema)])
    if (!KNOWN.has(keyword) && !WORDS.has(keyword))
      throw new Error(
        `${location}: the comparison does not know \`${keyword}\`; teach it in tools/compare-schemas.ts.`,
      );
  return [
    ...valueRules(given.schema, taken.schema, context.sender).map((rule) => ({ location, rule })),
    ...fitProperties(given, taken, context, location),
    ...fitParts(given, taken, context, location),
  ];
}

/** Returns the rules for a single value, such as its type and bounds, that are narrower in `taken` than in `given`. */
function valueRules(given: Schema, taken: Schema, sender: Sender): string[] {
  const rules: string[] = [];
  // The earlier and the later schema, for the text.
  const [was, is] = sender === "client" ? [given, taken] : [taken, given];
  const changed = (keyword: string) => `${keyword} was ${show(was[keyword])} and is ${show(is[keyword])}`;
  const { type: givenType, enum: givenValues } = given;
  const { type: takenType, enum: takenValues } = taken;
  const isIntegerForNumber = givenType === "integer" && takenType === "number";
  if (takenType !== undefined && takenType !== givenType && !isIntegerForNumber) {
    if (givenType === "null" && sender === "service") return ["it may be null from now on"];
    rules.push(changed("type"));
  }
  if (Array.isArray(takenValues) && !isSubset(givenValues, takenValues)) rules.push(changed("enum"));
  if (taken["not"] !== undefined && !isExcluded(given, taken["not"] as Schema)) rules.push(changed("not"));
  for (const keyword of ["format", "pattern"])
    if (taken[keyword] !== undefined && taken[keyword] !== given[keyword]) rules.push(changed(keyword));
  // A request without the field means another value after such a change.
  if (sender === "client" && show(given["default"]) !== show(taken["default"])) rules.push(changed("default"));
  for (const [keyword, side] of bounds) {
    const [limit, bound] = [taken[keyword], given[keyword]];
    if (typeof limit !== "number") continue;
    // Without a bound, or with a wider one, `given` allows values beyond the limit.
    if (typeof bound !== "number" || (bound - limit) * side < 0) rules.push(changed(keyword));
  }
  return rules;
}

/** Tells whether each of the values that `given` allows is one of `taken`. Without an `enum`, `given` allows any value. */
function isSubset(given: unknown, taken: readonly unknown[]): boolean {
  return Array.isArray(given) && given.every((value) => taken.includes(value));
}

/** Each bound with 1 if a larger number is narrower, and -1 if a smaller number is. */
const bounds: readonly (readonly [string, 1 | -1])[] = [
  ["minimum", 1],
  ["exclusiveMinimum", 1],
  ["minLength", 1],
  ["minItems", 1],
  ["maximum", -1],
  ["exclusiveMaximum", -1],
  ["maxLength", -1],
  ["maxItems", -1],
];

/** Tells whether a schema allows none of the values that `not: { enum }` excludes. */
function isExcluded(given: Schema, { enum: names }: Schema): boolean {
  const excluded = (names as unknown[] | undefined) ?? [];
  if (Array.isArray(given["enum"])) return !given["enum"].some((value) => excluded.includes(value));
  const excludedByGiven = ((given["not"] as Schema | undefined)?.["enum"] as unknown[] | undefined) ?? [];
  return excluded.every((value) => excludedByGiven.includes(value));
}

/** Compares the fields of objects: those that are gone, those that must now be there, and the values of the others. */
function fitProperties(given: Located, taken: Located, context: Context, location: string): Break[] {
  const { sender } = context;
  const [old, now] = sender === "client" ? [given.schema, taken.schema] : [taken.schema, given.schema];
  const propertiesOf = ({ properties }: Schema) => (properties ?? {}) as Schemas;
  const gone = Object.keys(propertiesOf(old)).filter((name) => !(name in propertiesOf(now)));
  const promised = requiredNames(given.schema);
  // A field that is gone is reported as gone only.
  const missing = requiredNames(taken.schema).filter((name) => !promised.includes(name) && !gone.includes(name));
  const required = sender === "client" ? "must be sent from now on" : "may be absent from now on";
  const shared = Object.keys(propertiesOf(given.schema)).filter((name) => name in propertiesOf(taken.schema));
  return [
    ...gone.map((name) => ({ location: `${location}.${name}`, rule: "the field is gone" })),
    ...missing.map((name) => ({ location: `${location}.${name}`, rule: `the field ${required}` })),
    ...shared.flatMap((name) =>
      fit(
        { ...given, schema: propertiesOf(given.schema)[name] ?? {} },
        { ...taken, schema: propertiesOf(taken.schema)[name] ?? {} },
        context,
        `${location}.${name}`,
      ),
    ),
  ];
}

/** Compares the items of arrays, and the fields that the schema does not name (`additionalProperties`). */
function fitParts(given: Located, taken: Located, context: Context, location: string): Break[] {
  const breaks: Break[] = [];
  const { items } = taken.schema;
  if (items !== undefined) {
    const givenItems = { ...given, schema: (given.schema["items"] ?? {}) as Schema };
    breaks.push(...fit(givenItems, { ...taken, schema: items as Schema }, context, `${location}[]`));
  }
  const { additionalProperties: takenOthers = true } = taken.schema;
  const { additionalProperties: givenOthers = true } = given.schema;
  if (takenOthers === true || givenOthers === false) return breaks;
  if (takenOthers === false || givenOthers === true)
    return [
      ...breaks,
      { location, rule: "fields that are not named were allowed and are not, or the other way round" },
    ];
  const values = { ...given, schema: givenOthers as Schema };
  return [...breaks, ...fit(values, { ...taken, schema: takenOthers as Schema }, context, `${location}.*`)];
}

function show(value: unknown): string {
  return value === undefined ? "not given" : JSON.stringify(value);
}

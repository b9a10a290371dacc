import { z } from "zod";

/* Writes TypeScript types of the API's JSON from the contract's zod schemas. json-types-files.ts says which. */

/** The direction of a value. A response may contain enum values that a client does not know yet; a request may not. */
export type Side = "answer" | "request";

/** A declaration that is to be written. */
export type Declaration =
  /** A list of names, such as the states of a ride, as a union of literals. */
  | { readonly kind: "names"; readonly name: string; readonly doc: string; readonly values: readonly string[] }
  /** An object as an interface. Other declarations that it holds are referred to by name. */
  | { readonly kind: "object"; readonly name: string; readonly schema: z.ZodTypeAny; readonly side: Side }
  /** A union of objects that differ by the literal in one field, with one more member for literals not known yet. */
  | { readonly kind: "tagged"; readonly name: string; readonly doc: string; readonly tagged: Tagged }
  /** TypeScript as it is. */
  | { readonly kind: "text"; readonly text: string };

/** Declarations of another file. */
export interface Imported {
  readonly from: string;
  readonly declarations: readonly Declaration[];
}

/** The members of a union that one field tells apart. */
export interface Tagged {
  /** The field that tells the members apart. */
  readonly tag: string;
  /** The field whose type is unknown when the tag is unknown. */
  readonly content: string;
  /** The name of the declaration for unknown tags, such as `UnknownEvent`. */
  readonly unknown: string;
  /** Members by name. Their shapes differ in `tag` and `content` alone. */
  readonly members: Readonly<Record<string, z.AnyZodObject>>;
}

/** The names of the declared schemas, found by the schema object. */
interface Names {
  readonly objects: ReadonlyMap<z.ZodTypeAny, string>;
  /** By the array of values, which an enum keeps when it gets another description. */
  readonly enums: ReadonlyMap<readonly string[], string>;
}

/**
 * Returns TypeScript declarations of the API's JSON that need no library, so that the packages that partners install can
 * contain them. Equal input gives equal text.
 *
 * @param heading a comment for the file's head
 * @param substitutes names for schemas that have no declaration of their own, such as a type parameter
 * @param imported declarations that another file makes: they are imported from there, and exported again
 * @throws Error for a kind of schema that it cannot declare
 */
export function jsonTypes(
  heading: string,
  declarations: readonly Declaration[],
  substitutes: ReadonlyMap<z.ZodTypeAny, string> = new Map(),
  imported?: Imported,
): string {
  const objects = new Map(substitutes);
  const enums = new Map<readonly string[], string>();
  for (const declaration of [...(imported?.declarations ?? []), ...declarations]) {
    if (declaration.kind === "object") objects.set(declaration.schema, declaration.name);
    if (declaration.kind === "names") enums.set(declaration.values, declaration.name);
  }
  const texts = declarations.map((declaration) => declare(declaration, { objects, enums }));
  // The other file uses `Open`, and so declares it. It is imported from there.
  if (imported) return [heading, importOf(imported), ...texts].join("\n\n") + "\n";
  const usesOpen = texts.some((text) => text.includes("Open<"));
  return [heading, ...(usesOpen ? [OPEN] : []), ...texts].join("\n\n") + "\n";
}

function importOf({ from, declarations }: Imported): string {
  const names = declarations.flatMap((declaration) => ("name" in declaration ? [declaration.name] : []));
  const list = ["Open", ...names].toSorted().join(", ");
  return `import type { ${list} } from "${from}";\n\nexport type { ${list} };`;
}

/** The declaration of `Open`, the type of an enum value in a response, with its comment. */
const OPEN =
  "/** Values of a set that grows: those known today, and any other. */\n" +
  "export type Open<Known extends string> = Known | (string & {});";

function declare(declaration: Declaration, names: Names): string {
  switch (declaration.kind) {
    case "text":
      return declaration.text;
    case "names":
      return `${doc(declaration.doc)}export type ${declaration.name} = ${literals(declaration.values)};`;
    case "object":
      return declareObject(declaration.name, declaration.schema, declaration.side, names);
    case "tagged":
      return declareTagged(declaration.name, declaration.doc, declaration.tagged, names);
  }
}

function declareObject(name: string, schema: z.ZodTypeAny, side: Side, names: Names): string {
  return `${doc(descriptionOf(schema))}export interface ${name} ${objectType(objectIn(schema), side, names, "")}`;
}

function declareTagged(name: string, description: string, tagged: Tagged, names: Names): string {
  const { tag, content, unknown, members } = tagged;
  const [sample] = Object.values(members);
  if (sample === undefined) throw new Error(`${name} has no members`);
  const known = Object.entries(members).map(([member, schema]) => declareObject(member, schema, "answer", names));
  const shape = Object.entries(sample.shape as z.ZodRawShape).filter(([field]) => field !== tag && field !== content);
  const fields = shape.map(([field, schema]) => property(field, schema, "answer", names, "  "));
  return [
    ...known,
    `${doc(`What ${unknown} is called. At run time any text: the type is a text that no known name equals, because comparing \`${tag}\` with a known name could otherwise not tell what \`${content}\` holds.`)}export type ${unknown}Name = \`(unknown) \${string}\`;`,
    `${doc(`One whose name is newer than this package: pass over it.`)}export interface ${unknown} {\n  ${tag}: ${unknown}Name;\n${fields.join("\n")}\n  ${content}: unknown;\n}`,
    `${doc(`Those known today, distinguished by \`${tag}\`.`)}export type Known${name} =\n  | ${Object.keys(members).join("\n  | ")};`,
    `${doc(description)}export type ${name} = Known${name} | ${unknown};`,
  ].join("\n\n");
}

function objectType(schema: z.AnyZodObject, side: Side, names: Names, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(schema.shape as z.ZodRawShape).map(([field, value]) =>
    property(field, value, side, names, inner),
  );
  return `{\n${fields.join("\n")}\n${indent}}`;
}

function property(field: string, schema: z.ZodTypeAny, side: Side, names: Names, indent: string): string {
  // A field with a default is optional in requests and always present in responses.
  const isOptional = schema instanceof z.ZodOptional || (schema instanceof z.ZodDefault && side === "request");
  const type = typeOf(schema, side, names, indent);
  // A caller may set a field to undefined: JSON leaves such a field out.
  const full = isOptional && side === "request" ? `${type} | undefined` : type;
  return `${doc(descriptionOf(schema), indent)}${indent}${field}${isOptional ? "?" : ""}: ${full};`;
}

function typeOf(schema: z.ZodTypeAny, side: Side, names: Names, indent: string): string {
  const named = names.objects.get(schema);
  if (named !== undefined) return named;
  const documented = documentedType(schema);
  if (documented !== undefined) return documented;
  const next = (inner: z.ZodTypeAny) => typeOf(inner, side, names, indent);
  if (schema instanceof z.ZodOptional) return next(schema.unwrap() as z.ZodTypeAny);
  if (schema instanceof z.ZodDefault) return next(schema.removeDefault() as z.ZodTypeAny);
  if (schema instanceof z.ZodUnion) return (schema.options as readonly z.ZodTypeAny[]).map(next).join(" | ");
  if (schema instanceof z.ZodNullable) return `${next(schema.unwrap() as z.ZodTypeAny)} | null`;
  if (schema instanceof z.ZodEffects) return next(schema.innerType() as z.ZodTypeAny);
  if (schema instanceof z.ZodString) return "string";
  if (schema instanceof z.ZodNumber) return "number";
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodLiteral) return JSON.stringify(schema.value);
  if (schema instanceof z.ZodEnum) return enumType(schema.options as readonly string[], side, names);
  if (schema instanceof z.ZodArray) return arrayOf(next(schema.element as z.ZodTypeAny));
  if (schema instanceof z.ZodObject) return objectType(schema, side, names, indent);
  throw new Error(`no words for ${schema.constructor.name}`);
}

/**
 * Returns `number` if the contract sets a type of number for its documents. The schema only describes how the value is
 * parsed.
 */
function documentedType(schema: z.ZodTypeAny): string | undefined {
  const meta: unknown = Reflect.get(schema, "metaOpenApi");
  const type: unknown = typeof meta === "object" && meta !== null ? Reflect.get(meta, "type") : undefined;
  return type === "integer" || type === "number" ? "number" : undefined;
}

function enumType(values: readonly string[], side: Side, names: Names): string {
  const known = names.enums.get(values) ?? literals(values);
  return side === "answer" ? `Open<${known}>` : known;
}

function arrayOf(element: string): string {
  return /^\w+$/.test(element) ? `${element}[]` : `Array<${element}>`;
}

function literals(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}

/** Returns the schema of an object, without the refinements around it. */
function objectIn(schema: z.ZodTypeAny): z.AnyZodObject {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodEffects) return objectIn(schema.innerType() as z.ZodTypeAny);
  throw new Error(`${schema.constructor.name} is no object`);
}

/** Returns the description of a schema, or of the schema that it wraps. */
function descriptionOf(schema: z.ZodTypeAny): string | undefined {
  const meta: unknown = Reflect.get(schema, "metaOpenApi");
  const inMeta: unknown = typeof meta === "object" && meta !== null ? Reflect.get(meta, "description") : undefined;
  if (typeof inMeta === "string") return inMeta;
  if (schema.description !== undefined) return schema.description;
  if (schema instanceof z.ZodDefault) return descriptionOf(schema.removeDefault() as z.ZodTypeAny);
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapper ? descriptionOf(schema.unwrap() as z.ZodTypeAny) : undefined;
}

/** Returns a description as a comment; empty if there is none. */
function doc(description: string | undefined, indent = ""): string {
  return description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "*\\/")} */\n`;
}

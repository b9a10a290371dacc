import type { EventDescription } from "@bikeshare/contract/console";
import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { z } from "zod";

type Schema = Readonly<Record<string, unknown>>;

/** What each event carries, for the pages: read from the partners' document, which the contract generates. */
export const describeEvents: () => Promise<readonly EventDescription[]> = once(async () => {
  // Loaded when it is asked for: the generator is as large as the rest of the service.
  const { createOpenApiDocument } = await import("@bikeshare/contract/openapi");
  const document = createOpenApiDocument({ baseUrl: "", version: "" });
  return Object.entries(document.webhooks).map(([name, { post }]) => {
    const content = post?.requestBody?.content["application/json"];
    const properties = propertiesOf(document, content?.schema ?? {});
    return {
      name,
      description: post?.description ?? "",
      fields: Object.entries(propertiesOf(document, properties["data"] ?? {})).map(([field, schema]) => ({
        name: field,
        type: typeOf(document, schema),
        description: z.string().nullable().catch(null).parse(resolve(document, schema)["description"]),
      })),
      sample: JSON.stringify(content?.examples?.["delivery"]?.value),
    };
  });
});

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}

const REFERENCE = "#/components/schemas/";

function resolve({ components }: OpenApiDocument, schema: Schema): Schema {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return components.schemas[reference.slice(REFERENCE.length)] ?? {};
}

function propertiesOf(document: OpenApiDocument, schema: Schema): Readonly<Record<string, Schema>> {
  return (resolve(document, schema)["properties"] ?? {}) as Readonly<Record<string, Schema>>;
}

/** `string`, `number or null`, `"active" or "offline"`: what a field may hold, in words. */
function typeOf(document: OpenApiDocument, schema: Schema): string {
  const { type, enum: values, anyOf, oneOf, const: only, format } = resolve(document, schema);
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" or ");
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) {
    const types = members.map((member: Schema) => typeOf(document, member));
    // An enumeration that may grow says its names, and `string` beside them.
    const known = types.filter((text) => text !== "string" || !types.some((other) => other.startsWith('"')));
    return [...new Set(known)].join(" or ");
  }
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  const name = names.filter((each) => typeof each === "string").join(" or ");
  return typeof format === "string" ? name.replace("string", format) : name;
}

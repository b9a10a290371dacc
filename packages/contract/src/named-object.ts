import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";

/** Returns the schema of an object with these fields and no others, with its name and description in the documents. */
export function namedObject<Fields extends z.ZodRawShape>(title: string, description: string, fields: Fields) {
  return extendApi(z.object(fields).strict().describe(description), { title });
}

/** What `withNulls` takes: every field that cannot be null, and any of the fields that can. */
type GivenFields<Item> = {
  readonly [Name in keyof Item as null extends Item[Name] ? never : Name]: Item[Name];
} & { readonly [Name in keyof Item as null extends Item[Name] ? Name : never]?: Item[Name] | undefined };

/** Returns a whole object, in the order of its schema: fields that are not given are null. For examples and tests' rows. */
export function withNulls<Fields extends z.ZodRawShape>(
  object: z.ZodObject<Fields, "strict">,
  given: GivenFields<z.infer<z.ZodObject<Fields, "strict">>>,
) {
  const values: Readonly<Record<string, unknown>> = given;
  const fields = Object.keys(object.shape).map((name) => [name, values[name] ?? null]);
  return Object.fromEntries(fields) as z.infer<typeof object>;
}

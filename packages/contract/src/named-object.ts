import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";

/** Returns an object without other fields than these, under the name and the description that the documents give it. */
export function namedObject<Fields extends z.ZodRawShape>(title: string, description: string, fields: Fields) {
  return extendApi(z.object(fields).strict().describe(description), { title });
}

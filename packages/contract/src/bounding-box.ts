import { z } from "zod";
import { readBoundingBox } from "./query-values.ts";
import { givenOnce } from "./time.ts";

/** A rectangle on the map in a query string. */
export const boundingBoxParam = z.string(givenOnce()).transform((text, context) => {
  const box = readBoundingBox(text);
  if (typeof box !== "string") return box;
  context.addIssue({ code: z.ZodIssueCode.custom, message: box });
  return z.NEVER;
});

import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { givenOnce, textOf } from "./identifier.ts";
import { issueText } from "./messages.ts";
import { isInstant, readBoundingBox } from "./query-values.ts";

/** A timestamp in JSON: RFC 3339 in UTC, to the millisecond, ending in `Z`. */
export const timestamp = z
  .string()
  .datetime({ precision: 3, message: "must be an instant like 2026-01-31T08:00:00.000Z" })
  .describe("RFC 3339 instant in UTC, to the millisecond");

/** An instant in a query string: RFC 3339 with `Z` or an offset. */
export const instantParam = extendApi(textOf("instant", givenOnce()), {
  description: "RFC 3339 instant with `Z` or an offset; write the `+` of an offset as `%2B`",
});

/** An instant in a request's body: RFC 3339 with `Z` or an offset. */
export const givenInstant = extendApi(z.string().refine(isInstant, issueText("instant")), {
  format: "date-time",
  description: "RFC 3339 instant with `Z` or an offset",
});

/** A rectangle on the map in a query string. */
export const boundingBoxParam = z.string(givenOnce()).transform((text, context) => {
  const box = readBoundingBox(text);
  if (typeof box !== "string") return box;
  context.addIssue({ code: z.ZodIssueCode.custom, message: box });
  return z.NEVER;
});

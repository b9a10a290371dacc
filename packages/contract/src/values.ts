import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { MAX_IDENTIFIER_LENGTH } from "./limits.ts";
import { issueText } from "./messages.ts";
import { type TextKind, textIssues, textSchema } from "./text-kinds.ts";
import { readBoundingBox } from "./text-rules.ts";

/**
 * Returns the schema of a text in a request: zod applies the rules of its kind, and the documents show the part that JSON
 * Schema can express.
 * @param params zod's parameters, such as a description
 */
export function textOf(kind: TextKind, params: z.RawCreateParams = {}) {
  const schema = z.string(params).superRefine((text, context) => {
    for (const message of textIssues(kind, text)) context.addIssue({ code: z.ZodIssueCode.custom, message });
  });
  const { description } = params;
  return extendApi(schema, { ...textSchema(kind), ...(description !== undefined && { description }) });
}

/** The error map of a query parameter. Its only wrong type is an array, which means that the parameter was repeated. */
export function givenOnce(): { invalid_type_error: string } {
  return { invalid_type_error: issueText("repeated") };
}

/** An identifier as the service gives it out. */
export const identifier = z.string().min(1).max(MAX_IDENTIFIER_LENGTH);

/** An identifier in a query string or a path. */
export const identifierParam = textOf("identifier", givenOnce());

/** An identifier in a request's body, such as the operator's id of a station. */
export const givenIdentifier = textOf("givenIdentifier");

/** A timestamp in JSON: RFC 3339 in UTC, to the millisecond, ending in `Z`. */
export const timestamp = z
  .string()
  .datetime({ precision: 3, message: "must be an instant like 2026-01-31T08:00:00.000Z" })
  .describe("RFC 3339 instant in UTC, to the millisecond");

/** An instant in a query string: RFC 3339 with `Z` or an offset. */
export const instantParam = textOf("instant", {
  ...givenOnce(),
  description: "RFC 3339 instant with `Z` or an offset; write the `+` of an offset as `%2B`",
});

/** An instant in a request's body: RFC 3339 with `Z` or an offset. */
export const givenInstant = textOf("givenInstant", { description: "RFC 3339 instant with `Z` or an offset" });

/** A rectangle on the map in a query string. */
export const boundingBoxParam = extendApi(
  z.string(givenOnce()).transform((text, context) => {
    const box = readBoundingBox(text);
    if (typeof box !== "string") return box;
    context.addIssue({ code: z.ZodIssueCode.custom, message: box });
    return z.NEVER;
  }),
  textSchema("boundingBox"),
);

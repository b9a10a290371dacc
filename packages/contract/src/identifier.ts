import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { MAX_IDENTIFIER_LENGTH } from "./limits.ts";
import { issueText } from "./messages.ts";
import { type TextKind, textIssues, textSchema } from "./text-kinds.ts";

/** A text of a request. @param params zod's own, such as its description */
export function textOf(kind: TextKind, params: z.RawCreateParams = {}) {
  const schema = z.string(params).superRefine((text, context) => {
    for (const message of textIssues(kind, text)) context.addIssue({ code: z.ZodIssueCode.custom, message });
  });
  const { description } = params;
  return extendApi(schema, { ...textSchema(kind), ...(description !== undefined && { description }) });
}

/** The error map of a query parameter, whose only wrong type is the array a repeated parameter becomes. */
export function givenOnce(): { invalid_type_error: string } {
  return { invalid_type_error: issueText("repeated") };
}

/** An identifier as the service gives it out. */
export const identifier = z.string().min(1).max(MAX_IDENTIFIER_LENGTH);

/** An identifier in a query string or a path. */
export const identifierParam = textOf("identifier", givenOnce());

/** An identifier in a request's body: what the operator may call its stations, bikes and rides. */
export const givenIdentifier = textOf("givenIdentifier");

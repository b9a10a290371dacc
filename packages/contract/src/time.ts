import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { issueText } from "./messages.ts";
import { isInstant } from "./query-values.ts";

/** A timestamp in JSON: RFC 3339 in UTC, to the millisecond, ending in `Z`. */
export const timestamp = z
  .string()
  .datetime({ precision: 3, message: "must be an instant like 2026-01-31T08:00:00.000Z" })
  .describe("RFC 3339 instant in UTC, to the millisecond");

/** An instant in a query string: RFC 3339 with `Z` or an offset. */
export const instantParam = extendApi(z.string(givenOnce()).refine(isInstant, issueText("instantParameter")), {
  format: "date-time",
  description: "RFC 3339 instant with `Z` or an offset; write the `+` of an offset as `%2B`",
});

/** An instant in a request's body: RFC 3339 with `Z` or an offset. */
export const givenInstant = extendApi(z.string().refine(isInstant, issueText("instant")), {
  format: "date-time",
  description: "RFC 3339 instant with `Z` or an offset",
});

/** The error map of a query parameter, whose only wrong type is the array a repeated parameter becomes. */
export function givenOnce(): { invalid_type_error: string } {
  return { invalid_type_error: issueText("repeated") };
}

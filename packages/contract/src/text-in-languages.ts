import { z } from "zod";
import { issueText } from "./messages.ts";

/**
 * Returns the schema of a text for riders: one text in the system's main language, or one in each of several languages.
 * A value of neither form has one issue, which names both forms.
 */
export function textInLanguages<One extends z.ZodTypeAny, Several extends z.ZodTypeAny>(one: One, several: Several) {
  const message = issueText("text");
  return z.union([one, several], {
    errorMap: (issue, { defaultError }) => ({
      message: issue.code === z.ZodIssueCode.invalid_union ? message : defaultError,
    }),
  });
}

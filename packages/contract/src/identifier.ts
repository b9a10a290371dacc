import { z } from "zod";
import { issueText } from "./messages.ts";
import { isPathStep, isVisible } from "./text.ts";
import { givenOnce } from "./time.ts";

/** Most characters in an identifier. Operators' ids seen in the wild have up to 40. */
export const MAX_IDENTIFIER_LENGTH = 255;

const tooLong = issueText("tooLong", { limit: MAX_IDENTIFIER_LENGTH });

/** An identifier as the service gives it out. */
export const identifier = z.string().min(1).max(MAX_IDENTIFIER_LENGTH);

/** An identifier in a query string or a path. */
export const identifierParam = z
  .string(givenOnce())
  .min(1, issueText("empty"))
  .max(MAX_IDENTIFIER_LENGTH, tooLong)
  // No text that PostgreSQL keeps holds one, and it refuses to compare with it.
  .refine((text) => !text.includes("\0"), issueText("nul"));

/** An identifier in a request's body: what the operator may call its stations, bikes and rides. */
export const givenIdentifier = z
  .string()
  .min(1, issueText("empty"))
  .max(MAX_IDENTIFIER_LENGTH, tooLong)
  .refine(isVisible, issueText("visible"))
  .refine((id) => !isPathStep(id), issueText("pathStep"));

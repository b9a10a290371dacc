import { z } from "zod";
import { isVisible } from "./text.ts";
import { givenOnce } from "./time.ts";

/** Most characters in an identifier. Operators' ids seen in the wild have up to 40. */
export const MAX_IDENTIFIER_LENGTH = 255;

const tooLong = `must have at most ${MAX_IDENTIFIER_LENGTH} characters`;

/** An identifier as the service gives it out. */
export const identifier = z.string().min(1).max(MAX_IDENTIFIER_LENGTH);

/** An identifier in a query string or a path. */
export const identifierParam = z
  .string(givenOnce())
  .min(1, "must not be empty")
  .max(MAX_IDENTIFIER_LENGTH, tooLong)
  // No text that PostgreSQL keeps holds one, and it refuses to compare with it.
  .refine((text) => !text.includes("\0"), "must not hold a NUL character");

/** Whether an id cannot stand in a path: what every URL library takes for a step in it, escaped or not. */
export function isPathStep(id: string): boolean {
  return id === "." || id === "..";
}

/** An identifier in a request's body: what the operator may call its stations, bikes and rides. */
export const givenIdentifier = z
  .string()
  .min(1, "must not be empty")
  .max(MAX_IDENTIFIER_LENGTH, tooLong)
  .refine(isVisible, "must be visible characters, without control characters or spaces at the ends")
  .refine((id) => !isPathStep(id), "must not be . or .., which no path can name");

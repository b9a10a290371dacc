import { z } from "zod";
import { errorCodes } from "./error-catalogue.ts";
import { namedObject } from "./named-object.ts";

export const errorBody = namedObject("Error", "The body of every error: exactly these two fields.", {
  error: z.enum(errorCodes).describe("Short machine-readable reason"),
  message: z.string().describe("Plain-words reason: what is wrong and what to do"),
});
export type ErrorBody = z.infer<typeof errorBody>;

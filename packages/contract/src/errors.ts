import { z } from "zod";
import { errorCodes } from "./error-catalogue.ts";
import { namedObject } from "./named-object.ts";

export const errorBody = namedObject("Error", "The body of every error: exactly these two fields.", {
  error: z.enum(errorCodes).describe("Error code, for programs"),
  message: z.string().describe("For people: what is wrong and what to do"),
});
export type ErrorBody = z.infer<typeof errorBody>;

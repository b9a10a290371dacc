import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { errorCodes } from "./error-catalogue.ts";

export const errorBody = extendApi(
  z
    .object({
      error: z.enum(errorCodes).describe("Short machine-readable reason"),
      message: z.string().describe("Plain-words reason: what is wrong and what to do"),
    })
    .strict()
    .describe("The body of every error: exactly these two fields."),
  { title: "Error" },
);
export type ErrorBody = z.infer<typeof errorBody>;

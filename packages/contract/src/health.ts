import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";

/** The answer of /healthz and /readyz of a process that can answer. */
export const health = extendApi(
  z
    .object({
      status: z.literal("ok"),
      concerns: z
        .array(z.string())
        .describe("What an operator should look at although requests are answered; absent when there is nothing.")
        .optional(),
    })
    .strict()
    .describe("Requests are answered."),
  { title: "Health" },
);

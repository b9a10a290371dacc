import { z } from "zod";
import { namedObject } from "./named-object.ts";

/** The response of `/healthz` and `/readyz` with status 200. */
export const health = namedObject("Health", "Requests are answered.", {
  status: z.literal("ok"),
  concerns: z
    .array(z.string())
    .describe("What an operator should look at although requests are answered; absent when there is nothing.")
    .optional(),
});

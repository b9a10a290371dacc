import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";

/** The answer of /healthz and /readyz when all is well. */
export const health = extendApi(
  z
    .object({ status: z.literal("ok") })
    .strict()
    .describe("All is well."),
  { title: "Health" },
);

import { z } from "zod";
import { IDEMPOTENCY_KEY_HOURS } from "./limits.ts";
import { textOf } from "./values.ts";

/** The value of the header `Idempotency-Key`. */
export const idempotencyKey = textOf("idempotencyKey");

/** The headers of every endpoint that takes an `Idempotency-Key`. Names are in lower case, as Node gives them. */
export const idempotencyHeaders = z.object({
  "idempotency-key": idempotencyKey
    .optional()
    .describe(
      "Makes the request safe to repeat: send a new random text with each new request, and the same text with its " +
        `repeats. The first response is kept for ${IDEMPOTENCY_KEY_HOURS} hours and returned again, with ` +
        "`Idempotent-Replayed: true`.",
    ),
});
